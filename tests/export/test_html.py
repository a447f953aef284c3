"""A saved report is one page that says all that matters, asks for nothing, and takes no text for markup."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from monitor import __version__
from monitor.charts import colors, utilization
from monitor.export.figures import svg
from monitor.export.layout import html
from monitor.model import Parameter, Report
from tests import situations
from tests.builders import START, metrics, nodes_of

ROOT = Path(__file__).parents[2]
MADE = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
SITUATIONS = (
    situations.low_utilization(),
    situations.failed(),
    situations.gappy(),
    situations.no_steps(),
    situations.no_gpu(),
    situations.single_node(),
    situations.never_started(),
    situations.hostile(),
    situations.running(),
)


class _Page(HTMLParser):
    """Its tags, its attributes, and what is written between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.mark.parametrize("report", SITUATIONS, ids=lambda report: report.job.name)
def test_every_situation_is_a_page_that_asks_for_nothing_and_runs_nothing(report: Report) -> None:
    page = _Page(html(report, MADE))
    assert not page.tags & {"script", "img", "image", "link", "iframe", "object", "a", "use", "base"}
    for name, value in page.attributes:
        assert name not in {"src", "href", "xlink:href", "style"}, (name, value)
        assert not name.startswith("on"), (name, value)
        assert "://" not in (value or "") or name == "aria-label", (name, value)
        assert "url(" not in (value or "") or (value or "").startswith("url(#"), (name, value)
    for finding in report.findings:
        assert " ".join(finding.summary.split()) in page.text
    assert report.job.name in page.text


def test_it_says_the_verdict_first_then_evidence_charts_configuration_and_what_was_not_checked() -> None:
    text = _Page(html(situations.low_utilization(), MADE)).text
    order = [
        "GPUs wait half of the time: the pipeline window is too small.",
        "Findings",
        "Next: Raise active_microbatches from 2 to 4.",
        "Step time -35 % (-35 to -31)",
        "[1,0]<stdout>: smp config active_microbatches=2 microbatches=8",
        "Not checked: stage imbalance",
        "Where the time went, minutes",
        "What happened when, by node",
        "GPU utilization by node, % of one GPU",
        "GPU 46 % on all 4 nodes since 12:08 UTC",
        "Step time, seconds",
        "A step takes 4.10 s",
        "Nodes",
        "Configuration",
        "What was read, and what was not",
        f"Made by Trainwatch {__version__}, 22 Nov 2026, 10:00 UTC. All times are UTC.",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_a_gap_is_said_and_its_chart_is_not_drawn() -> None:
    page = html(situations.gappy(), MADE)
    assert page.index("Missing right: cloudwatch:GetMetricData") < page.index('<p class="said">Nothing stands out')
    assert "cloudwatch:GetMetricData was refused." in page
    assert "GPU utilization by node" not in page


def test_what_is_masked_is_said() -> None:
    report = situations.low_utilization()
    hidden = {**report.job.configuration, "hf_token": Parameter("***", "hyperparameters")}
    job = replace(report.job, configuration=hidden)
    assert "***" not in html(report, MADE)
    assert "1 value looks secret and is shown as ***: hf_token." in html(
        replace(report, run=replace(report.run, job=job)), MADE
    )


def test_no_two_things_on_a_page_have_one_name() -> None:
    names = re.findall(r' id="([^"]+)"', html(situations.low_utilization(), MADE))
    assert names
    assert len(names) == len(set(names))


def test_sixty_four_nodes_for_a_day_stay_below_two_megabytes() -> None:
    report = situations.sixty_four()
    names = tuple(node.name for node in nodes_of(64))
    frame = metrics(names, 24 * 60, {"gpu_utilization": 88.0, "gpu_memory_utilization": 60.0})
    job = replace(report.job, ended=START + timedelta(days=1))
    whole = replace(report, run=replace(report.run, job=job, metrics=frame))
    assert len(html(whole, MADE)) < 2_000_000


def test_axes_are_in_utc_wherever_it_is_made() -> None:
    report = situations.low_utilization()
    span = (START, START + timedelta(hours=2))
    drawn = svg(utilization.heatmap(report.run.metrics, "gpu_utilization", report.job.node_names, span), "a")
    assert ">12:30<" in drawn
    assert 'id="a-' in drawn


def test_its_colours_and_version_are_the_program_s_own() -> None:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    assert list(colors.BUSY) == theme["chartSequentialColors"]
    assert list(colors.SERIES) == theme["light"]["chartCategoricalColors"]
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == __version__
