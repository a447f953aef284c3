"""The function behind a button or an input fails: the page is drawn as it was, with the error on top, once."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException
from streamlit.testing.v1 import AppTest

from monitor.errors import BadCall, NotAllowed
from monitor.show.trouble import calm, failed_callbacks
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts
from tests.pages.test_logs import account as with_log
from tests.pages.test_mute import NAME

Press = Callable[[AppTest], AppTest]
CLEARS = "thresholds", {"when": "gpu_utilization < 40 for 10m"}


def _account() -> FakeAccount:
    low, healthy, log = situations.low_utilization(), situations.healthy(), with_log(situations.healthy())
    named = [
        replace(report, run=replace(report.run, job=replace(report.job, name=name)))
        for report, name in ((low, NAME), (healthy, "bert-1"))
    ]
    return FakeAccount((low, healthy, *named), logs=log.logs)


def _click(key: str) -> Press:
    return lambda page: page.button(key=key).click().run()


def _other_baseline(page: AppTest) -> AppTest:
    return page.selectbox(key="compare-against").select("bert-1").run()


def _find(page: AppTest) -> AppTest:
    return page.text_input(key="logs-find").input("step").run()


def _mute(page: AppTest) -> AppTest:
    page.text_input(key="mute-reason-raise-active-microbatches").input("it is planned")
    return _click("mute-save-raise-active-microbatches")(page)


CASES = (
    ("jobs", {"status": "Completed"}, "jobs.query.clear", _click("clear-filters"), "Clearing the filters"),
    ("job", {"job": NAME}, "job.findings.mute", _mute, "Muting the finding"),
    ("logs", {"job": "vit-mics-4"}, "logs.address.move", _find, "Filtering the log"),
    ("compare", {"jobs": f"{NAME},bert-1"}, "compare.choice.choose", _other_baseline, "Choosing the baseline"),
    ("plan", {"job": "gpt-60b-run-7"}, "plan.board._take", _click("plan-advice"), "Applying the advice"),
    (*CLEARS, "thresholds.board.save", _click("threshold-save"), "Saving the threshold"),
)


def _fail(monkeypatch: pytest.MonkeyPatch, place: str, error: Exception) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    room, _, name = place.rpartition(".")
    monkeypatch.setattr(importlib.import_module(f"monitor.show.{room}"), name, fails)


def _titles(page: AppTest) -> list[str]:
    return [box.proto.title for box in page.error]


@pytest.mark.parametrize(("name", "asked", "place", "press", "doing"), CASES, ids=[case[0] for case in CASES])
def test_a_callback_that_fails_is_told_on_top_and_costs_nothing_else(
    open_page: Open,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    asked: dict[str, str],
    place: str,
    press: Press,
    doing: str,
) -> None:
    page = open_page(_account(), name, **asked)
    before = [(kind, [element.label for element in page.get(kind)]) for kind in ("button", "metric", "selectbox")]
    assert any(labels for _, labels in before)
    _fail(monkeypatch, place, KeyError("oops"))
    page = press(page.run())
    assert not page.exception
    (box,) = page.error
    assert box.proto.title == "An error in Trainwatch"
    said = texts(page)
    assert said.count(f"{doing} failed because of an error in Trainwatch itself (KeyError: 'oops')") == 1
    log = tmp_path_factory.getbasetemp() / "state" / "trainwatch.log"
    assert str(log) in said
    assert f"Failed: {doing}" in log.read_text(encoding="utf-8")
    assert f"Failed: {doing}" in next(code.value for code in page.code if "Failed: " in code.value)
    # It stands above all of the page, which is as it was.
    body = [getattr(element, "type", "") for element in page.main]
    assert not {"button", "metric", "selectbox", "text_input"} & set(body[: body.index("error")])
    assert [(kind, [each.label for each in page.get(kind)]) for kind in ("button", "metric", "selectbox")] == before
    # A page that is drawn again by a timer keeps it.
    assert _titles(page.run()) == ["An error in Trainwatch"]


def test_what_failed_is_gone_with_the_next_use_of_a_widget(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(_account(), CLEARS[0], **CLEARS[1])
    with monkeypatch.context() as patch:
        _fail(patch, "thresholds.board.save", KeyError("oops"))
        page = _click("threshold-save")(page.run())
        assert _titles(page) == ["An error in Trainwatch"]
        # Twice is not told twice.
        assert _titles(_click("threshold-save")(page)) == ["An error in Trainwatch"]
    page = _click("threshold-save")(page.run())
    assert _titles(page) == []
    assert "Saved as" in texts(page)


def test_what_failed_stays_on_its_page(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(_account(), CLEARS[0], **CLEARS[1])
    _fail(monkeypatch, "thresholds.board.save", KeyError("oops"))
    page = _click("threshold-save")(page.run())
    assert _titles(page) == ["An error in Trainwatch"]
    page = page.switch_page("pages/plan.py").run()
    assert not page.exception
    assert _titles(page) == []


def test_an_error_with_a_remedy_is_told_in_its_sentence(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(_account(), CLEARS[0], **CLEARS[1])
    _fail(monkeypatch, "thresholds.board.save", BadCall("There are too many thresholds.", "Remove one."))
    page = _click("threshold-save")(page.run())
    assert _titles(page) == ["Invalid request"]
    assert "There are too many thresholds. Remove one." in texts(page)
    assert not [each for each in page.expander if each.label == "Report to copy"]
    _fail(monkeypatch, "thresholds.board.save", NotAllowed("No.", "", "sagemaker:ListTrainingJobs"))
    page = _click("threshold-save")(page.run())
    assert "Missing right: sagemaker:ListTrainingJobs" in texts(page)


@pytest.mark.parametrize("way_out", [StopException(), RerunException(RerunData())], ids=["stop", "rerun"])
def test_streamlit_s_own_ways_out_pass(way_out: BaseException) -> None:
    def leaves() -> None:
        raise way_out

    with pytest.raises(type(way_out)) as raised:
        calm("Leaving", leaves)()
    assert raised.value is way_out
    assert failed_callbacks("jobs") == ()


def test_what_is_given_arrives() -> None:
    got: list[object] = []
    calm("Giving", lambda *given, **named: got.extend((given, named)))(1, two=2)
    assert got == [(1,), {"two": 2}]
