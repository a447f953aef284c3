"""``alert --watch`` from the first look to the summary, over a job whose minutes come one by one."""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.alert.delivery import RuleSinks
from monitor.alert.rules import rules_of
from monitor.cli.alert_watch import JobCheck, run_watch
from monitor.cli.options import seconds_of
from monitor.errors import BadCall, NoSuchJob, Unreachable
from monitor.model import Report
from tests.alert.jobs import at, job, minutes

FOR_5 = "gpu_utilization < 40 for 5m"
LEVELS = {"algo-1": [90.0] * 5 + [30.0] * 10 + [90.0] * 15}


class _Clock:
    """Time passes while the watch sleeps."""

    def __init__(self) -> None:
        self.now = at(2)

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def _looks(levels: dict[str, list[float | None]], length: int) -> Callable[[datetime, Any], Report]:
    def look(now: datetime, say: Callable[[str], None]) -> Report:
        minute = (now - at(0)).total_seconds() / 60
        running = minute < length
        found = job(minutes(levels), running=running, length=min(minute, length))
        rows = found.run.metrics
        return replace(found, run=replace(found.run, metrics=rows[rows["timestamp"] < now - timedelta(minutes=1)]))

    return look


def _watch(
    tmp_path: Path,
    look: Callable[..., Report],
    sinks: tuple[str, ...] = (),
    form: str = "text",
    output: str | None = None,
) -> tuple[datetime, Any, bool]:
    """(when it ended, the last verdicts, whether anything was said)."""
    arguments = argparse.Namespace(interval="2m", cool_down="10m", format=form, quiet=True, output=output)
    rules = rules_of([FOR_5, "gpu_utilization > 99"])
    clock = _Clock()
    telling = RuleSinks(rules, sinks, tmp_path / "ledger")
    verdicts, said = run_watch(arguments, rules, telling, JobCheck(look), clock.sleep, clock)
    return clock.now, verdicts, said


def test_a_watch_says_what_happens_and_ends_with_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    as_of, verdicts, said = _watch(tmp_path, _looks(LEVELS, 30))
    out = capsys.readouterr().out
    # The last look is three minutes or more after the end: its last figures come late.
    assert (as_of, said) == (at(34), True)
    assert [verdict.state for verdict in verdicts] == ["firing", "ok"]
    lines = out.splitlines()
    assert lines[0] == "12:14 UTC  WARNING: gpu_utilization-below-40-for-5m on algo-1, job case"
    assert lines[2] == "12:24 UTC  RESOLVED: gpu_utilization-below-40-for-5m on algo-1, job case"
    assert "The job has ended: completed after 30 min." in out
    assert "1 alert." in out
    assert "job case, resolved 12:24 UTC" in out
    assert not (tmp_path / "ledger").exists()


def test_as_json_every_line_is_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _watch(tmp_path, _looks(LEVELS, 30), form="json")
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["type"] for each in documents] == ["firing", "resolved", "summary"]
    assert documents[-1]["schema"] == 1
    assert len(documents[-1]["rules"]) == 2
    assert [each["kind"] for each in documents[-1]["alerts"]] == ["firing", "resolved"]


def test_the_summary_can_go_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _watch(tmp_path, _looks(LEVELS, 30), form="json", output=str(tmp_path / "summary.json"))
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["job"] == "case"


def test_sinks_get_what_the_terminal_then_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken, script = tmp_path / "taken", tmp_path / "take"
    script.write_text(f"#!/bin/sh\ncat >> {taken}; echo >> {taken}\n", encoding="utf-8")
    script.chmod(0o755)
    _watch(tmp_path, _looks(LEVELS, 30), (f"exec:{script}",))
    assert "No alert." in capsys.readouterr().out
    told = [json.loads(line) for line in taken.read_text(encoding="utf-8").splitlines()]
    assert [each["kind"] for each in told] == ["firing", "resolved"]
    # Another watch over the same time has nothing new for them, but shows its own terminal everything.
    _watch(tmp_path, _looks(LEVELS, 30), (f"exec:{script}", "stdout"))
    assert "1 alert." in capsys.readouterr().out
    assert len(taken.read_text(encoding="utf-8").splitlines()) == 2


def test_what_a_sink_did_not_take_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from monitor.alert import delivery

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery.deliver, "__defaults__", (lambda seconds: None, delivery.time.time, ()))
        _watch(tmp_path, _looks(LEVELS, 30), ("exec:false",))
    printed = capsys.readouterr()
    assert "2 messages not sent yet" in printed.out
    assert "exec:false did not accept an alert (the program exited with 1); 1 message waits" in printed.err


def test_what_a_sink_refuses_for_good_is_told_once_and_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, taken = tmp_path / "take", tmp_path / "taken"
    script.write_text(f"#!/bin/sh\ngrep -q firing && exit 65\necho >> {taken}\n", encoding="utf-8")
    script.chmod(0o755)
    _watch(tmp_path, _looks(LEVELS, 30), (f"exec:{script}",), form="json", output=str(tmp_path / "out.json"))
    printed = capsys.readouterr()
    assert printed.err.count("did not accept an alert and will not (the program exited with 65): WARNING: ") == 1
    assert printed.err.count("\n") == 1
    summary = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert summary["not_sent"] == 0
    assert [each["sink"] for each in summary["set_aside"]] == [f"exec:{script}"]
    # The end of the alert still went.
    assert len(taken.read_text(encoding="utf-8").splitlines()) == 1
    _watch(tmp_path, _looks(LEVELS, 30), (f"exec:{script}",))
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "1 alert that was refused is set aside in " in printed.out


def test_a_ledger_that_is_locked_for_a_while_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import closing

    from monitor.alert import ledger

    monkeypatch.setattr(ledger, "_WAIT_S", 0.01)
    good, taken, script = _looks(LEVELS, 30), tmp_path / "taken", tmp_path / "take"
    script.write_text(f"#!/bin/sh\ncat >> {taken}; echo >> {taken}\n", encoding="utf-8")
    script.chmod(0o755)
    with closing(sqlite3.connect(tmp_path / "ledger", isolation_level=None)) as other:

        def look(now: datetime, say: Callable[[str], None]) -> Report:
            if at(12) < now < at(18) and not other.in_transaction:
                other.execute("begin immediate")
            if now >= at(18) and other.in_transaction:
                other.execute("rollback")
            return good(now, say)

        _watch(tmp_path, look, (f"exec:{script}", "stdout"))
    printed = capsys.readouterr()
    assert printed.err.count("is locked by ") == printed.err.count("\n") == 1
    assert "1 alert." in printed.out
    told = [json.loads(line)["kind"] for line in taken.read_text(encoding="utf-8").splitlines()]
    assert told == ["firing", "resolved"]


def test_trouble_that_goes_on_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from monitor.alert import delivery

    later = iter(range(0, 10**9, 10**4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery.deliver, "__defaults__", (lambda seconds: None, lambda: next(later), ()))
        deliver = delivery.deliver
        patch.setattr(delivery, "deliver", lambda ledger, sink, *_, **__: deliver(ledger, sink))
        _watch(tmp_path, _looks(LEVELS, 30), ("exec:false",))
    assert capsys.readouterr().err.count("did not accept an alert (the program exited with 1)") == 1


def test_trouble_in_between_is_got_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = _looks(LEVELS, 30)

    def look(now: datetime, say: Callable[[str], None]) -> Report:
        if at(8) < now < at(12):
            raise Unreachable("AWS does not answer.", "Check the network.")
        return good(now, say)

    _watch(tmp_path, look)
    printed = capsys.readouterr()
    assert printed.err.count("AWS does not answer.") == 1
    assert "1 alert." in printed.out


def test_trouble_at_the_first_look_ends_it(tmp_path: Path) -> None:
    def look(now: datetime, say: Callable[[str], None]) -> Report:
        raise NoSuchJob("There is no such job.")

    with pytest.raises(NoSuchJob):
        _watch(tmp_path, look)


def test_a_watch_that_is_stopped_sums_up_what_it_saw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = _looks(LEVELS, 30)

    def look(now: datetime, say: Callable[[str], None]) -> Report:
        if now > at(20):
            raise KeyboardInterrupt
        return good(now, say)

    with pytest.raises(KeyboardInterrupt):
        _watch(tmp_path, look)
    out = capsys.readouterr().out
    assert "Watch stopped; the job is still running (20 min so far)." in out
    assert "1 alert." in out


def test_intervals() -> None:
    assert [seconds_of("--interval", text) for text in ("30s", "5m", "0.5h", "5 min")] == [30, 300, 1800, 300]
    for text in ("30", "5 parsecs", "-5m", "", "5ms"):
        with pytest.raises(BadCall, match="--interval"):
            seconds_of("--interval", text)
