"""In a notebook a review shows itself; in code it is a Report; what cannot be had is one sentence."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

import monitor
from monitor.errors import BadCall, NoData
from monitor.export import html as pages
from monitor.model import Report
from monitor.review import ShownReport
from tests.situations import hostile

LOG = Path(__file__).parents[1] / "data" / "formats" / "smp_v1_two_nodes_mpi.log"


@pytest.fixture
def shown() -> ShownReport:
    from monitor import review

    return review(logs=LOG)


def test_the_room_can_be_called_and_is_still_a_package(shown: ShownReport) -> None:
    assert isinstance(shown, Report)
    assert shown.steps is not None
    assert shown.steps.distinct > 0
    assert importlib.import_module("monitor.review.planning").__name__ == "monitor.review.planning"
    assert monitor.review.review(f"logs:{LOG}").job.name == shown.job.name
    assert monitor.review(logs=[str(LOG)]).steps == shown.steps


def test_it_shows_itself_as_a_page_in_a_frame_that_runs_nothing(shown: ShownReport) -> None:
    (page,) = re.findall(r'srcdoc="([^"]*)"', shown._repr_html_())
    assert " sandbox " in shown._repr_html_()
    assert "<h1>smp_v1_two_nodes_mpi</h1>" in unescape(page)
    assert shown._repr_markdown_().startswith("# smp_v1_two_nodes_mpi\n")
    assert repr(shown).startswith("smp_v1_two_nodes_mpi\n")
    assert len(repr(shown)) < 2_000


def test_a_page_that_cannot_be_drawn_is_a_sentence(shown: ShownReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_template", lambda: 1 / 0)
    report = replace(shown, run=hostile().run)
    said = report._repr_html_()
    assert said.startswith(
        "<p>Drawing the page failed because of an error in Trainwatch itself (ZeroDivisionError: division by zero)."
    )
    assert "trainwatch.log" in said
    assert "<b>" not in report._repr_html_()
    assert "<script" not in report._repr_html_()


def test_what_cannot_be_had_is_one_sentence() -> None:
    from monitor import review

    with pytest.raises(BadCall, match="No job was named"):
        review()
    with pytest.raises(BadCall, match="Both a job"):
        review("my-job", logs="algo-1.log")
    with pytest.raises(BadCall, match="needs a path"):
        review("logs:")
    with pytest.raises(NoData) as caught:
        review(logs="no-such-file.log")
    assert caught.value._render_traceback_() == [str(caught.value)]
