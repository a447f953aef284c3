"""Every figure that is shown of a job is one figure: what has the same name has the same value, wherever it stands."""

from __future__ import annotations

import re
from datetime import UTC
from html.parser import HTMLParser

import pytest
from rich.console import Console

from monitor.cli.report import print_report
from monitor.export.layout import html, markdown
from monitor.model import Report
from monitor.review import Snapshot
from monitor.show.jobs.table import cells, label_of, row_review, rows
from tests.demo_jobs import DEMO_JOBS
from tests.drawn import drawn
from tests.figures_read import Figures, disagreements, of_text, of_tiles, together
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts
from tests.situations import summary

pytestmark = pytest.mark.xdist_group("figures")


class _Words(HTMLParser):
    """The words of a page, a line a block, cells two blanks apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._silent = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in {"style", "svg"}
        self.parts.append(" | " if tag in {"td", "th"} else "\n" if tag in {"p", "tr", "li", "h1", "h2", "h3"} else "")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in {"style", "svg"}

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"(?m)^ \| ", "| ", "".join(self.parts))


def _printed(report: Report) -> str:
    paper = Console(width=400, record=True, file=None, force_terminal=False, quiet=False)
    with paper.capture() as out:
        print_report(report, paper)
    return out.get()


def _shown(report: Report, open_page: Open) -> Figures:
    """All figures of the Job page, the row of the list, and the report in its three forms."""
    page = open_page(FakeAccount([report]), "job", job=report.job.name)
    tiles = [(metric.label, str(metric.value), metric.proto.delta_description) for metric in page.metric]
    frame = rows([summary(report)], {report.job.name: row_review(Snapshot(report))}, report.reviewed_at)
    (row,) = cells(frame, UTC)
    words = [cell[0] if isinstance(cell, tuple) else cell for cell in row.cells]
    listed = [(label_of(name), str(word or ""), "") for name, word in zip(_names(), words, strict=True)]
    return together(
        {
            "tiles": of_tiles(tiles),
            "page": of_text(texts(page)),
            "row": of_tiles([cell for cell in listed if cell[0] not in _NO_FIGURE]),
            "text": of_text(_printed(report)),
            "markdown": of_text(markdown(report)),
            "html": of_text(_Words(html(report, report.reviewed_at)).text),
        }
    )


_NO_FIGURE = {"Job", "Verdict", "What stands out", "Status", "Started", "Nodes"}


def _names() -> list[str]:
    from monitor.show.jobs.table import _COLUMNS

    return [column.name for column in _COLUMNS]


@pytest.mark.parametrize("base", drawn(DEMO_JOBS, 5))
def test_what_has_the_same_name_has_the_same_value(base: str, demo_reports: dict[str, Report], open_page: Open) -> None:
    report = demo_reports[base]
    found = _shown(report, open_page)
    if sum(finding.prediction is not None for finding in report.findings) > 1:
        found.pop("predicted step time")  # each is of another change
    assert not disagreements(found), "\n".join(disagreements(found))
    if report.job.started is None:
        return
    # What is read is what there is: a reader that sees nothing agrees with everything.
    everywhere = {"goodput": 4, "cost": 5, "overhead": 4, "duration": 5, "training, cost": 4}
    if report.devices:
        everywhere |= {"GPU": 4} if "gpu_utilization" in report.devices else {"CPU": 2}
    if report.steps is not None and report.steps.median_s is not None:
        everywhere |= {"step time": 4}
    if report.cost.recoverable_usd:
        everywhere |= {"recoverable": 4}
    for name, places in everywhere.items():
        read_in = {place for each in found.get(name, {}).values() for place in each}
        assert len(read_in) >= places, (name, read_in)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPU 47 % (p5 43, p95 50) on all 4 nodes", "GPU 46 % on all 4 nodes since 15:32 UTC."),
        ("algo-3 is slow: 1.30 x its peers' step time", "algo-3 takes 2.97 s, 1.29 x the median of its peers."),
        ("Goodput 87 %: of 1 h billed, 52 min was training", "Goodput 83 %."),
        (
            "completed · started 17 Nov 2026, 15:24 UTC · 9 min · $8.35",
            "x · started 17 Nov 2026, 15:24 UTC · 10 min · $8.35",
        ),
        ("Cost $118.53, overhead $14.19, recoverable $37.08 (31 % of the cost).", "Cost $118.53, overhead $14.20."),
        (
            "| training | 1 h 4 min | 81 % | yes | $109.38 |",
            "Starting 3 min (not billed) · training 1 h 3 min ($109.38).",
        ),
        ("Step time about -35 %, by model.", "Predicted: Step time -36 % (-38 to -32)"),
    ],
)
def test_the_reader_sees_where_two_figures_differ(one: str, other: str) -> None:
    assert not disagreements(together({"one": of_text(one), "again": of_text(one)}))
    assert len(disagreements(together({"one": of_text(one), "other": of_text(other)}))) == 1
