"""What a viewer saves is the report that is shown, and nothing is built before it is asked for."""

from __future__ import annotations

import csv
import io
import json

import pytest

from monitor.export import figures
from monitor.show import data
from monitor.show.job import header
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount


def test_four_ways_are_offered_and_nothing_is_built(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        figures.vl_convert, "vegalite_to_svg", lambda *_, **__: pytest.fail("built before it was asked for")
    )
    page = open_page(FakeAccount((situations.healthy(),)), "job", job="vit-mics-4")
    # Those of the charts lie on the page itself.
    labels = [label for each in page.get("download_button") if (label := each.proto.label) != "CSV"]
    assert labels == [
        "Page with charts (HTML)", "Text for a ticket (Markdown)", "Data (JSON)",
        "Steps", "Metrics", "Findings", "Phases", "Nodes", "Configuration",
    ]  # fmt: skip


def test_there_is_nothing_to_save_before_the_first_review(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.healthy(),), under_way={"vit-mics-4"}), "job", job="vit-mics-4")
    (popover,) = (each for each in page.get("popover") if each.proto.popover.label == "Save report")
    assert popover.proto.popover.disabled


def test_what_is_made_is_of_the_newest_report(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    account = FakeAccount((situations.healthy(),))
    open_page(account, "job", job="vit-mics-4")
    made = header._newest(data.AccountChoice(), "vit-mics-4", header.document)
    assert json.loads(made())["job"]["name"] == "vit-mics-4"
    monkeypatch.setenv("TRAINWATCH_DEMO", "1")
    assert header.SAMPLE in header.page(account.reports[0])
    rows = list(csv.reader(io.StringIO(header.TABLES["steps"](account.reports[0]))))
    assert len(rows) == 1 + len(account.reports[0].run.steps)
