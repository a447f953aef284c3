"""One text of a job's state for all screens: what a page says of a job, every other place says in the same words."""

from __future__ import annotations

import re
from dataclasses import fields
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from monitor.agents.listing import _row as told_in_a_list
from monitor.agents.quoting import quotes_of
from monitor.agents.reviewing import _head as told_to_agents
from monitor.archive.cache import Verdicts
from monitor.archive.document import report_document
from monitor.archive.writing import job_row
from monitor.cli.report import print_report
from monitor.cli.top import row_of
from monitor.diagnose.headline import status_word
from monitor.diagnose.verdict import judge
from monitor.export.layout import html, markdown
from monitor.model import Report
from monitor.review import Snapshot
from monitor.review.notebook import ShownReport
from monitor.show.jobs.table import row_review
from tests import situations
from tests.demo_jobs import DEMO_JOBS
from tests.drawn import drawn
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

pytestmark = pytest.mark.xdist_group("figures")

OTHERS = ("healthy", "failed", "gappy", "no_gpu", "no_steps", "never_started")
_WORDS_OF_HEALTH = re.compile(r"\bhealthy\b", re.IGNORECASE)


def _printed(report: Report) -> str:
    paper = Console(width=400, force_terminal=False)
    with paper.capture() as out:
        print_report(report, paper)
    return out.get()


def _kept(report: Report, folder: Path) -> str | None:
    verdicts = Verdicts(folder)
    verdicts.keep("endpoint", report)
    kept = verdicts.of("endpoint", report.job.name, report.job.created)
    return None if kept is None else kept.headline


def _in_a_notebook(report: Report) -> ShownReport:
    return ShownReport(**{field.name: getattr(report, field.name) for field in fields(report)})


def _words(page: str) -> str:
    """Of a page, or of one in a frame, what is read."""
    framed = re.search(r'srcdoc="([^"]*)"', page)
    whole = unescape(framed[1]) if framed else page
    return re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(style|svg)\b.*?</\1>", " ", whole))


def _plain(text: str) -> str:
    """Without what the form of a place needs: escapes, quotation signs, the case of a sentence's beginning."""
    return " ".join(re.sub(r"[\\*`⟦⟧]", "", unescape(text)).split()).casefold()


def _everywhere(report: Report, open_page: Open, folder: Path) -> dict[str, str | None]:
    job: Any = report.job
    return {
        "job page": texts(open_page(FakeAccount([report]), "job", job=job.name)),
        "list of jobs": row_review(Snapshot(report)).standing.words,
        "top": row_of(job, Snapshot(report)).words,
        "terminal": _printed(report),
        "markdown": markdown(report),
        "html": _words(html(report, report.reviewed_at)),
        "notebook": repr(_in_a_notebook(report)),
        "notebook, drawn": _words(_in_a_notebook(report)._repr_html_()),
        "archive": job_row(report, report_document(report), True)["verdict"],
        "list of a terminal": _kept(report, folder),
        "agents": "\n".join(told_to_agents(report, quotes_of(report))),
        "agents, a list": told_in_a_list(job, report, None)["verdict"],  # type: ignore[arg-type]
    }


def _report(name: str, demo: dict[str, Report]) -> Report:
    return demo[name] if name in demo else getattr(situations, name)()


@pytest.mark.parametrize("name", drawn([*DEMO_JOBS, *OTHERS], 7))
def test_state_and_status_of_a_job_are_said_in_the_same_words_everywhere(
    name: str, demo_reports: dict[str, Report], open_page: Open, tmp_path: Path
) -> None:
    report = _report(name, demo_reports)
    state, status = judge(report), status_word(report.job.status)
    found = _everywhere(report, open_page, tmp_path)
    for place, said in found.items():
        if said is None:  # not kept, since older lines are still being read
            assert not report.run.logs.complete
            continue
        assert _plain(state.headline) in _plain(said), place
        if state.level != "healthy":
            assert not _WORDS_OF_HEALTH.search(said.replace(report.job.name, "")), place
    for place in ("job page", "terminal", "markdown", "html", "notebook", "agents"):
        assert status.casefold() in _plain(found[place] or ""), place
    assert row_of(report.job, Snapshot(report)).status == status  # type: ignore[arg-type]
