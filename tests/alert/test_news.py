"""What is said as a job goes on: once for each rule and node, and once more when it is over, whoever looks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from monitor.alert.evaluate import evaluate
from monitor.alert.ledger import Ledger
from monitor.alert.message import Message, message_from
from monitor.alert.news import AlertContext, news
from monitor.alert.rules import rules_of
from monitor.errors import CannotDo
from monitor.model import Finding, Gap, LogCoverage, Report, StepReading, metrics_frame
from tests.alert.jobs import START, at, job, minutes, reported

FOR_5 = "gpu_utilization < 40 for 5m"
STALL = Finding("stall", "critical", "high", "No step", "No step for 24 min.")


def _as_of(found: Report, minute: float) -> Report:
    """The running job as it was known then."""
    metrics = found.run.metrics
    return replace(found, run=replace(found.run, metrics=metrics[metrics["timestamp"] < at(minute)]))


def hear(ledger: Ledger, found: Report, minute: float, *expressions: str, cool_down_s: float = 600) -> list[Message]:
    look = AlertContext(found, at(minute), "https://watch.example.com", cool_down_s)
    return list(news(ledger, look, evaluate(found, rules_of(expressions), at(minute)), {}))


def spoken(
    ledger: Ledger, found: Report, *expressions: str, until: int, every: int = 1
) -> list[tuple[int, str, str | None]]:
    """(minute, what, node) of all that is said while somebody looks every so often."""
    out: list[tuple[int, str, str | None]] = []
    for minute in range(2, until, every):
        out += [(minute, each.kind, each.node) for each in hear(ledger, _as_of(found, minute), minute, *expressions)]
    return out


def test_an_alert_is_said_once_and_then_that_it_is_over() -> None:
    found = job(minutes({"algo-1": [90.0] * 10 + [30.0] * 20 + [90.0] * 30}), running=True)
    # Fires after five minutes, is over after five, and each is judged three minutes late.
    assert spoken(Ledger(), found, FOR_5, until=60) == [(18, "firing", "algo-1"), (38, "resolved", "algo-1")]


def test_an_alert_and_its_end_say_how_the_step_time_was_come_by() -> None:
    times = reported({"algo-1": [2.0] * 100 + [9.0] * 10})
    found = job(steps=times, running=True)
    logs = replace(found.run.logs, readings=(StepReading("key-value", 110, "line-clock", clock_s=2.0),))
    clocked = replace(found, run=replace(found.run, logs=logs))
    ledger = Ledger()
    (said,) = hear(ledger, clocked, 5, "step_time > 5")
    assert said.text.endswith(": 9.00 s, by the lines' clock.")
    over = replace(clocked, run=replace(clocked.run, job=replace(found.job, status="Stopped", ended=at(5))))
    (ended,) = hear(ledger, over, 6, "step_time > 5")
    assert ended.text.endswith(": 9.00 s, by the lines' clock.")


def test_a_wavering_value_is_one_alert() -> None:
    found = job(minutes({"algo-1": [90.0] * 5 + ([30.0] * 5 + [90.0] * 4) * 6}), running=True)
    assert spoken(Ledger(), found, FOR_5, until=60) == [(13, "firing", "algo-1")]


def test_every_node_and_every_rule_has_an_alert_of_its_own() -> None:
    found = job(minutes({"algo-1": [30.0] * 60, "algo-2": [90.0] * 20 + [30.0] * 40}), running=True)
    said = spoken(Ledger(), found, FOR_5, "gpu_utilization < 50", until=32)
    assert sorted(said) == [
        (4, "firing", "algo-1"), (8, "firing", "algo-1"), (24, "firing", "algo-2"), (28, "firing", "algo-2"),
    ]  # fmt: skip


def test_a_gap_says_nothing() -> None:
    levels = [90.0] * 10 + [30.0] * 10 + [None] * 30 + [30.0] * 10
    found = job(minutes({"algo-1": levels}), running=True)
    assert spoken(Ledger(), found, FOR_5, until=60, every=4) == [(18, "firing", "algo-1")]
    # Nor does it when all metrics, or those of the node, cannot be read for a while.
    ledger = Ledger()
    assert len(hear(ledger, _as_of(found, 18), 18, FOR_5)) == 1
    denied = replace(found, run=replace(found.run, metrics=metrics_frame(), gaps=(Gap("metrics", "Denied."),)))
    assert hear(ledger, denied, 19, FOR_5) == []
    assert hear(ledger, job(minutes({"algo-2": [90.0] * 60}), running=True), 20, FOR_5) == []
    assert hear(ledger, _as_of(found, 21), 21, FOR_5) == []


def test_what_was_over_before_anybody_looked_is_not_said() -> None:
    found = job(minutes({"algo-1": [30.0] * 10 + [90.0] * 50}), running=True)
    ledger = Ledger()
    assert hear(ledger, found, 40, FOR_5) == []
    still = job(minutes({"algo-1": [90.0] * 10 + [30.0] * 50}), running=True)
    assert [each.kind for each in hear(Ledger(), still, 40, FOR_5)] == ["firing"]


def test_what_came_and_went_between_two_looks_is_said() -> None:
    found = job(minutes({"algo-1": [90.0] * 20 + [30.0] * 10 + [90.0] * 30}), running=True)
    assert spoken(Ledger(), found, FOR_5, until=60, every=50) == [(52, "firing", "algo-1"), (52, "resolved", "algo-1")]


def test_after_an_alert_comes_a_time_of_silence() -> None:
    found = job(minutes({"algo-1": [90.0] * 5 + [30.0] * 10 + [90.0] * 6 + [30.0] * 30 + [90.0] * 9}), running=True)
    ledger = Ledger()
    said = spoken(ledger, found, FOR_5, until=60)
    assert [(minute, kind) for minute, kind, _ in said] == [
        (13, "firing"),
        (23, "resolved"),
        (33, "firing"),
        (59, "resolved"),
    ]


def test_two_that_look_say_it_once(tmp_path: Path) -> None:
    found = job(minutes({"algo-1": [30.0] * 60}), running=True)
    first, second = Ledger(tmp_path / "ledger"), Ledger(tmp_path / "ledger")
    said = [*hear(first, found, 20, FOR_5), *hear(second, found, 20, FOR_5), *hear(first, found, 21, FOR_5)]
    assert len(said) == 1


def test_other_jobs_rules_and_ledgers_know_nothing_of_it() -> None:
    found = job(minutes({"algo-1": [30.0] * 60}), running=True)
    other = replace(found, run=replace(found.run, job=replace(found.job, arn=f"{found.job.arn}-2")))
    ledger = Ledger()
    ids = {message.id for report in (found, other) for message in hear(ledger, report, 20, FOR_5)}
    ids |= {message.id for message in hear(ledger, found, 20, "gpu_utilization < 41 for 5m")}
    assert len(ids) == 3
    assert {message.id for message in hear(Ledger(), found, 22, FOR_5)} <= ids


def test_the_end_of_the_job_ends_what_is_open() -> None:
    levels = {"algo-1": [90.0] * 20 + [30.0] * 40}
    ledger = Ledger()
    assert len(hear(ledger, job(minutes(levels), running=True), 40, FOR_5)) == 1
    over = job(minutes(levels))
    (ended,) = hear(ledger, over, 64, FOR_5)
    assert (ended.kind, ended.node) == ("ended", "algo-1")
    assert "The job has ended (completed)" in ended.text
    assert hear(ledger, over, 65, FOR_5) == []
    assert hear(ledger, over, 9999, FOR_5) == []


def test_a_job_that_is_over_is_told_of_once() -> None:
    over = job(minutes({"algo-1": [30.0] * 20 + [90.0] * 40, "algo-2": [30.0] * 60}), findings=(STALL,))
    over = replace(over, run=replace(over.run, logs=LogCoverage(1, 100)))
    ledger = Ledger()
    said = hear(ledger, over, 100, FOR_5, "finding critical", "loss > 3")
    assert [(each.kind, each.node, each.finding) for each in said] == [
        ("firing", "algo-1", None), ("firing", "algo-2", None), ("firing", None, "stall"),
    ]  # fmt: skip
    assert hear(ledger, over, 200, FOR_5, "finding critical") == []


def test_what_shows_only_at_the_end_is_said() -> None:
    levels = {"algo-1": [90.0] * 53 + [30.0] * 7}
    ledger = Ledger()
    assert hear(ledger, _as_of(job(minutes(levels), running=True), 60), 60, FOR_5) == []
    assert [each.kind for each in hear(ledger, job(minutes(levels)), 64, FOR_5)] == ["firing"]


def test_findings_come_go_and_return() -> None:
    calm = job(steps=reported({"algo-1": [2.0] * 30}), running=True)
    loud = replace(calm, findings=(STALL,))
    ledger, rule = Ledger(), "finding critical"
    course = [
        (1, calm),
        (2, loud),
        (3, loud),
        (4, calm),
        (5, loud),
        (6, calm),
        (8, calm),
        (10, calm),
        (12, loud),
        (17, loud),
    ]
    said = [(minute, each.kind) for minute, report in course for each in hear(ledger, report, minute, rule)]
    # One look without it is not the end of it; it is over since it was first missed, and silent for ten minutes after.
    assert said == [(2, "firing"), (10, "resolved"), (17, "firing")]


def test_a_finding_that_cannot_be_seen_is_not_over() -> None:
    loud = job(steps=reported({"algo-1": [2.0] * 30}), running=True, findings=(STALL,))
    ledger = Ledger()
    assert len(hear(ledger, loud, 2, "finding stall")) == 1
    blind = job(running=True)
    assert [hear(ledger, blind, minute, "finding stall") for minute in (5, 10, 20)] == [[], [], []]


def test_a_message_says_what_where_since_when_how_much_and_where_to_look() -> None:
    found = job(minutes({"algo-1": [90.0] * 10 + [30.0] * 50}), running=True)
    (message,) = hear(Ledger(), found, 40, FOR_5)
    assert message.title == "WARNING: gpu_utilization-below-40-for-5m on algo-1, job case"
    assert message.text == "gpu_utilization < 40 for 5m since 12:10 UTC: 30 %."
    assert message.link == "https://watch.example.com/job?job=case&region=us-east-1&account=123456789012"
    assert (message.since, message.value, message.limit, message.unit) == ("2026-09-25T12:10:00Z", 30.0, 40.0, "%")
    assert message_from(message.document()) == message
    assert message.lines.count("\n") == 2
    quiet = AlertContext(found, at(40))
    (without,) = news(Ledger(), quiet, evaluate(found, rules_of([FOR_5]), at(40)), {})
    assert without.link is None


def test_who_is_told_late_is_told_how_it_is_now() -> None:
    found = job(steps=reported({"algo-1": [2.0] * 30}), running=True)
    (message,) = hear(Ledger(), found, 31, "seconds_since_last_step > 300")
    assert (message.value, message.since) == (1800.0, "2026-09-25T12:06:00Z")
    assert message.text == "seconds_since_last_step > 300 since 12:06 UTC: 30 min."


def test_what_is_said_of_an_end() -> None:
    found = job(minutes({"algo-1": [90.0] * 10 + [30.0] * 20 + [90.0] * 30}), running=True)
    ledger = Ledger()
    hear(ledger, _as_of(found, 20), 20, FOR_5)
    (over,) = hear(ledger, found, 45, FOR_5)
    assert over.title.startswith("RESOLVED: ")
    assert over.text == "No longer true after 25 min: gpu_utilization < 40 for 5m from 12:10 UTC to 12:35 UTC: 30 %."


def test_a_ledger_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text(
        "this is no database, and it is long enough to be seen as none" * 20, encoding="utf-8"
    )
    with pytest.raises(CannotDo, match="cannot be used"):
        Ledger(tmp_path / "ledger")
    with pytest.raises(CannotDo, match="cannot be used"):
        Ledger(tmp_path / "ledger" / "below")


def test_a_ledger_forgets_after_a_year(tmp_path: Path) -> None:
    found = job(minutes({"algo-1": [30.0] * 60}), running=True)
    ledger = Ledger(tmp_path / "ledger")
    assert len(hear(ledger, found, 20, FOR_5)) == 1
    ledger.forget(START.timestamp() + 399 * 86400)
    assert hear(ledger, found, 21, FOR_5) == []
    ledger.forget(START.timestamp() + 402 * 86400)
    assert len(hear(ledger, found, 22, FOR_5)) == 1


SPELL = {"algo-1": [90.0] * 10 + [30.0] * 20 + [90.0] * 20}


def test_a_clock_that_is_set_back_ends_nothing() -> None:
    ledger, found = Ledger(), job(minutes(SPELL), running=True, length=60)
    assert [each.kind for each in hear(ledger, _as_of(found, 19), 19, FOR_5)] == ["firing"]
    # The machine's clock is set back: of the same figures the newest are not judged any more.
    assert hear(ledger, _as_of(found, 19), 14, FOR_5) == []
    assert spoken(ledger, found, FOR_5, until=50) == [(38, "resolved", "algo-1")]


def test_a_look_that_knows_less_than_an_earlier_one_ends_nothing() -> None:
    ledger, found = Ledger(), job(minutes(SPELL), running=True, length=60)
    assert [each.kind for each in hear(ledger, _as_of(found, 19), 19, FOR_5)] == ["firing"]
    # Another watch, whose metrics are of a minute ago, or came in parts.
    assert hear(ledger, _as_of(found, 14), 20, FOR_5) == []
    gaps = SPELL["algo-1"].copy()
    in_parts = [None if place in {12, 16} else value for place, value in enumerate(gaps)]
    assert hear(ledger, _as_of(job(minutes({"algo-1": in_parts}), running=True), 20), 20, FOR_5) == []


def test_late_figures_may_show_that_there_was_nothing() -> None:
    ledger = Ledger()
    seen = [90.0] * 10 + [30.0] * 10
    assert [e.kind for e in hear(ledger, job(minutes({"algo-1": seen}), running=True), 20, FOR_5)] == ["firing"]
    corrected = [*seen[:12], 90.0, *seen[13:15], 90.0, *seen[16:]]
    found = job(minutes({"algo-1": corrected}), running=True)
    assert [each.kind for each in hear(ledger, found, 20, FOR_5)] == ["resolved"]
