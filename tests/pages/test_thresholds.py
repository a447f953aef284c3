"""The Thresholds page: what is kept, which jobs cross it, and what a new one would have said of past jobs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from monitor.alert import locks
from monitor.alert.delivery import key_of
from monitor.alert.ledger import Ledger, ledger_file
from monitor.alert.rules import add, saved, saved_file
from monitor.alert.sinks.names import sink_of
from monitor.errors import NoCredentials
from monitor.settings import READ_ONLY
from monitor.show import visitor
from monitor.show.thresholds import crossings as threshold_crossings
from monitor.show.thresholds import crossings as threshold_drawn
from tests import situations
from tests.alert.test_delivery import message
from tests.pages import fake
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount

REPORTS = (situations.running(), situations.low_utilization(), situations.healthy(), situations.gappy())


def _thresholds(open_page: Open, *reports: object, **parameters: str) -> AppTest:
    return open_page(FakeAccount(reports or REPORTS), "thresholds", **parameters)  # type: ignore[arg-type]


def texts(page: AppTest) -> str:
    return fake.texts(page).replace("**", "")


def _links(page: AppTest) -> list[str]:
    return [link.proto.label.replace("\\", "") for link in page.get("page_link")]


def test_each_says_which_jobs_cross_it_and_why_nobody_knows_of_others(open_page: Open) -> None:
    add("busy", "gpu_utilization > 40 for 10m", "critical")
    add("cold", "gpu_utilization < 1 for 10m")
    page = _thresholds(open_page)
    said = texts(page)
    assert "busy" in said
    assert "`gpu_utilization > 40 for 10m`" in said
    assert "Crossed now by 1 of 1 running job]; 2 of 2 finished jobs crossed it" in said
    assert re.search(r"running · algo-\d and \d other nodes · 4\d % · since", said)
    assert "No data for denied-metrics-1: cloudwatch:GetMetricData was refused" in said
    assert "Not crossed; checked on 1 running job and 2 finished jobs" in said
    assert _links(page)[:3] == ["gpt-60b-run-8", "gpt-60b-run-7", "vit-mics-4"]
    assert 'python -m monitor alert gpt-60b-run-8 --when "gpu_utilization > 40 for 10m"' in said
    assert "Checked on 4 jobs" in said


def test_alerts_that_were_refused_stand_on_top_with_the_command_that_sends_them_again(open_page: Open) -> None:
    assert "set aside" not in texts(_thresholds(open_page))
    ledger = Ledger(ledger_file())
    with ledger.change():
        for name in ("one", "*two* <b>"):
            ledger.add(message(name), key_of(sink_of("slack:env:HOOK")), 1.0)
        ledger.add(message("broken"), "no sink", 1.0)
    for pending in ledger.pending(key_of(sink_of("slack:env:HOOK")), 1.0):
        ledger.refuse(pending, 1.7e9, "HTTP 404")
    page = _thresholds(open_page)
    said = texts(page)
    assert "2 alerts were refused and set aside" in said
    assert "14 Nov 2023, 22:13 UTC · CRITICAL: *two* <b> · slack:env:HOOK · HTTP 404" in said
    assert f"Kept for 90 days in {ledger_file()}" in said
    assert "python -m monitor alert --resend --notify slack:env:HOOK" in [code.value for code in page.code]
    Ledger(ledger_file())
    assert "1 damaged row of" in texts(_thresholds(open_page))
    ledger_file().write_bytes(b"noise" * 999)
    assert "Can't see which alerts were delivered" in texts(_thresholds(open_page))


def test_without_any_it_explains_and_an_example_is_saved_with_a_click(open_page: Open) -> None:
    page = _thresholds(open_page)
    assert "No threshold is saved" in texts(page)
    page.button(key="save-idle GPUs").click().run()
    assert [rule.text for rule in saved()] == ["gpu_utilization < 40% for 10 min"]
    assert "No threshold is saved" not in texts(page)


def test_what_is_removed_can_be_got_back_as_it_was(open_page: Open) -> None:
    before = add("no progress", "seconds_since_last_step > 900", "critical", ("slack:env:HOOK",))
    page = _thresholds(open_page)
    assert "slack:env:HOOK" in texts(page)
    page.button(key="remove-no progress").click().run()
    assert saved() == ()
    assert "Removed no progress `seconds_since_last_step > 900`" in texts(page)
    page.button(key="threshold-undo").click().run()
    assert saved() == (before,)
    assert "Removed" not in texts(page)


@pytest.mark.parametrize(
    ("typed", "sentence", "caret"),
    [
        (
            "gpu_utilisation < 40",
            'There is no metric "gpu_utilisation"; the nearest is gpu_utilization.',
            "gpu_utilisation < 40\n^^^^^^^^^^^^^^^",
        ),
        (
            "step_time > 10 fro 5m",
            '"fro" is not understood; the nearest is for.',
            "step_time > 10 fro 5m\n               ^^^",
        ),
        (":red[x] <b>", "There is no metric", ":red[x] <b>\n^^^^^^^"),
    ],
)
def test_what_cannot_be_read_gets_its_caret_and_cannot_be_saved(
    open_page: Open, typed: str, sentence: str, caret: str
) -> None:
    page = _thresholds(open_page, when=typed)
    assert sentence in texts(page)
    assert page.code[-1].value == caret
    assert not [button for button in page.button if button.key == "threshold-save"]
    assert saved() == ()


def test_the_address_brings_back_what_was_typed_and_past_jobs_are_walked_through(open_page: Open) -> None:
    page = _thresholds(open_page, when="gpu_utilization > 40 for 10m")
    assert page.text_input(key="when").value == "gpu_utilization > 40 for 10m"
    said = texts(page)
    assert "Would have fired in 2 of 2 past jobs" in said
    assert "No data for 1 more." in said
    table = page.dataframe[0].value
    assert table["name"].tolist() == ["gpt-60b-run-7", "vit-mics-4", "denied-metrics-1"]
    assert table["outcome"].str[0].tolist() == ["fires", "fires", "no data"]
    assert table["at"].notna().tolist() == [True, True, False]
    assert table["before_end"].notna().tolist() == [True, True, False]
    assert "was refused" in table["what"].iloc[2]


def test_a_finding_is_told_as_of_the_end_and_the_slow_walk_is_left_to_the_terminal(open_page: Open) -> None:
    page = _thresholds(open_page, when="finding warning")
    said = texts(page)
    assert "True at the end of 1 of 3 past jobs." in said
    assert 'alert gpt-60b-run-7 --when "finding warning" --backtest' in said
    assert page.dataframe[0].value["what"].iloc[0].startswith("GPU 46 %")


def test_a_good_one_is_saved_under_its_name_and_loudness(open_page: Open) -> None:
    page = _thresholds(open_page, when="step_time > 100")
    page.text_input(key="threshold-name").set_value("very slow").run()
    page.button(key="threshold-save").click().run()
    assert [(rule.name, rule.text, rule.severity) for rule in saved()] == [("very slow", "step_time > 100", "warning")]
    assert "Saved as very slow." in texts(page)
    page.text_input(key="when").set_value("step_time > 20").run()
    page.text_input(key="threshold-name").set_value("very slow").run()
    page.button(key="threshold-save").click().run()
    assert 'A threshold "very slow" is already saved' in texts(page)
    assert len(saved()) == 1


def test_a_saved_one_is_tried_from_its_card(open_page: Open) -> None:
    add("slow", "step_time > 100")
    page = _thresholds(open_page)
    page.button(key="try-slow").click().run()
    assert page.text_input(key="when").value == "step_time > 100"
    assert "Silent in 3 past jobs." in texts(page)


def test_an_unusable_file_is_said_and_the_rest_works(open_page: Open) -> None:
    path = saved_file()
    path.parent.mkdir(parents=True)
    path.write_text('[[rule]]\nname = "x"\nwhen = "step_tme > 1"\n', encoding="utf-8")
    page = _thresholds(open_page, when="step_time > 100")
    said = texts(page)
    assert "Can't use the saved thresholds" in said
    assert "line 3, when" in said
    assert "step_tme > 1\n^^^^^^^^" in said
    assert "Silent in 3 past jobs." in said
    assert not [button for button in page.button if button.key == "threshold-save"]


def test_a_folder_that_cannot_be_written_is_said(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, lasting: bool) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(locks, "replacing", refuse)
    page = _thresholds(open_page)
    page.button(key="save-slow steps").click().run()
    assert "cannot be written: Permission denied. Check the permissions of its folder." in texts(page)
    assert not page.exception


def test_without_jobs_or_rights_thresholds_still_stand(open_page: Open) -> None:
    add("slow", "step_time > 100")
    page = open_page(FakeAccount(), "thresholds", when="step_time > 1")
    assert "There is no training job yet" in texts(page)
    assert "No finished job has been reviewed yet" in texts(page)
    page = open_page(FakeAccount(error=NoCredentials("None were found.", "Set AWS_PROFILE.")), "thresholds")
    assert "No valid AWS credentials" in texts(page)
    assert "`step_time > 100`" in texts(page)


def test_what_takes_long_is_judged_bit_by_bit(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    add("slow", "step_time > 100")
    monkeypatch.setattr(threshold_crossings, "PATIENCE_S", -1.0)
    page = _thresholds(open_page)
    assert "3 jobs still to be checked" in texts(page)


def test_text_of_others_is_no_markup(open_page: Open) -> None:
    evil = "**x** :red[y] ![i](https://evil.example/a.png)"
    add(evil, "finding script-error")
    hostile = situations.hostile()
    page = _thresholds(open_page, hostile, replace(hostile, run=replace(hostile.run, job=hostile.job)))
    assert any("\\!\\[i\\]" in each.value for each in page.markdown)
    assert not any("![i](" in each.value for kind in ("markdown", "caption") for each in page.get(kind))


def test_a_job_draws_those_that_fit_and_names_those_above(open_page: Open) -> None:
    single = situations.single_node()
    add("idle", "gpu_utilization < 40 for 10m")
    add("twice", "gpu_utilization < 0.5x")
    add("slow", f"step_time > {1.5 * single.steps.median_s:.3f}")  # type: ignore[union-attr]
    add("hour", "step_time > 3600")
    page = open_page(FakeAccount((single,)), "job", job=single.job.name)

    assert len(page.get("vega_lite_chart")) >= 3
    assert "Above the drawn range: hour (step_time > 3600)." in texts(page)
    rules = threshold_drawn.saved_rules()
    assert threshold_drawn.lines_of(rules, "gpu_utilization", 100) == {"idle: < 40 for 10m": 40}
    assert list(threshold_drawn.lines_of(rules, "step_time", 100)) == [f"slow: > {rules[2].when.value:g}"]  # type: ignore[union-attr]


def test_a_visitor_saves_and_removes_nothing(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _thresholds(open_page)
    monkeypatch.setenv(READ_ONLY, "1")
    # The page that was open before offers it, and is refused.
    refused = before.button(key="save-idle GPUs").click().run()
    assert saved() == ()
    assert "Not saved" in texts(refused)
    assert "This dashboard is read-only" in texts(refused)
    monkeypatch.delenv(READ_ONLY)
    add("busy", "gpu_utilization > 40 for 10m")
    monkeypatch.setenv(READ_ONLY, "1")
    page = _thresholds(open_page, when="gpu_utilization < 40% for 10 min")
    assert [each.key for each in page.button if str(each.key).startswith(("save", "remove", "threshold-save"))] == []
    assert "This dashboard is read-only" in texts(page)
    assert str(saved_file()) not in texts(page)


@pytest.mark.parametrize(
    ("address", "said", "read_only"),
    [
        ("127.0.0.1", None, False),
        ("0.0.0.0", None, True),
        ("", None, True),
        ("0.0.0.0", "0", False),
        ("127.0.0.1", "1", True),
    ],
)
def test_who_may_write_is_as_said_else_as_the_address(
    address: str, said: str | None, read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(READ_ONLY, raising=False)
    if said is not None:
        monkeypatch.setenv(READ_ONLY, said)
    monkeypatch.setattr(visitor.st, "get_option", lambda name: address)
    assert visitor.is_read_only() is read_only
