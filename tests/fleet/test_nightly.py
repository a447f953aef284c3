"""Nights: what is done once and once only, through kills at any point, days off, failures, and two at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from monitor.alert.ledger import Ledger
from monitor.alert.rules import rules_in
from monitor.alert.sinks.names import sink_of
from monitor.archive.layout import RUNS
from monitor.archive.store import FolderStore
from monitor.archive.writing import write
from monitor.errors import CannotDo, Unreachable
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import Price
from monitor.review import nightly as nights
from monitor.review import report
from monitor.review.archived import ArchiveSource, Source
from monitor.review.nightly import Night, NightlyFolder, NightlyPlan, night, trouble_of
from monitor.settings import Settings
from tests import builders
from tests.drawn import drawn

NAMES = ("algo-1", "algo-2")
# A Monday: the jobs ran in the week before it.
MONDAY = datetime(2026, 9, 28, 2, 15, tzinfo=UTC)
RULES = rules_in('[[rule]]\nname = "dear"\nwhen = "cost_usd > 0.01"\n', "rules.toml")


class Killed(BaseException):
    """As a kill: nothing in the program catches it."""


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> ArchiveSource:
    """An account of three jobs that are over; an archive is a source like any other."""
    store = FolderStore(tmp_path_factory.mktemp("account"))
    for number in range(3):
        built = builders.report(
            f"bert-{number}",
            status="Completed",
            nodes=builders.nodes_of(2),
            metric_frame=builders.metrics(NAMES, 85, {"gpu_utilization": 90.0}),
            step_frame=builders.steps(NAMES, 300, 5.0),
        )
        write(store, report(built.run, builders.START + timedelta(minutes=200), Price(36.0, "settings file")))
    return ArchiveSource(store)


@pytest.fixture
def planned(account: ArchiveSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NightlyPlan:
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    program = tmp_path / "receiver"
    program.write_text(f"#!/bin/sh\ncat >> {tmp_path}/inbox\necho >> {tmp_path}/inbox\n", encoding="utf-8")
    program.chmod(0o700)
    store = FolderStore(tmp_path / "archive")
    return NightlyPlan(
        open=lambda where: account,
        store=store,
        settings=Settings(prices={"ml.p4d.24xlarge": 36.0}),
        folder=NightlyFolder(tmp_path / "state", store.label),
        ledger=tmp_path / "alerts.sqlite",
        rules=RULES,
        notify=(sink_of(f"exec:{program}"),),
    )


def passed(plan: NightlyPlan, at: datetime = MONDAY) -> Night:
    return night(plan, lambda: at, lambda text: None, lambda seconds: None)


def inbox(tmp_path: Path) -> list[dict[str, object]]:
    path = tmp_path / "inbox"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line]


def test_a_first_night_on_a_monday_does_all_of_it_and_a_second_one_nothing(
    planned: NightlyPlan, tmp_path: Path
) -> None:
    first = passed(planned)
    assert first.troubles == []
    assert (first.archived, first.judged, first.reports) == (3, 3, ["2026-W39"])
    kinds = [message["kind"] for message in inbox(tmp_path)]
    assert sorted(kinds) == ["firing"] * first.alerts + ["report"]
    second = passed(planned, MONDAY + timedelta(minutes=30))
    assert (second.archived, second.unchanged, second.judged, second.reports) == (0, 0, 0, [])
    assert len(inbox(tmp_path)) == len(kinds)
    assert second.killed_before is None


def test_the_first_night_of_a_week_that_has_begun_reports_nothing_and_the_next_monday_does(
    planned: NightlyPlan,
) -> None:
    assert passed(planned, MONDAY - timedelta(days=3)).reports == []
    assert passed(planned, MONDAY + timedelta(days=1)).reports == ["2026-W39"]


def test_days_off_are_caught_up(planned: NightlyPlan, tmp_path: Path) -> None:
    empty: Source = Without()  # type: ignore[assignment]
    passed(replace(planned, open=lambda where: empty), builders.START - timedelta(days=1))
    after = passed(planned, MONDAY + timedelta(days=17))
    assert (after.archived, after.judged) == (3, 3)
    assert after.reports == ["2026-W39", "2026-W40", "2026-W41"]
    assert sum(message["kind"] == "report" for message in inbox(tmp_path)) == 3


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[Callable[[], int]]:
    """Everything that leaves a trace dies at its n-th call, before or after it was done."""
    calls = 0

    def deadly(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def wrapped(*given: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            if calls == after:
                raise Killed
            found = real(*given, **named)
            calls += 1
            if calls == after:
                raise Killed
            return found

        patch.setattr(owner, name, wrapped)

    with monkeypatch.context() as patch:
        for owner, name in (
            (FolderStore, "write"), (NightlyFolder, "keep"), (NightlyFolder, "write"), (Ledger, "add"),
            (Ledger, "set_mark"), (Ledger, "sent"), (nights, "deliver"), (nights, "made"),
        ):  # fmt: skip
            deadly(owner, name)
        # Threads would take a kill to themselves.
        patch.setattr("monitor.review.archiving.begin", _at_once)
        yield lambda: calls


class _Done:
    def result(self) -> None:
        return None


def _at_once(function: Callable[..., object], *given: object) -> _Done:
    function(*given)
    return _Done()


@pytest.mark.parametrize("after", drawn([1, 2, 20, 57, 62, 68, 74, 80, 86, 92], 4))
def test_a_night_that_is_killed_anywhere_is_taken_up_by_the_next(
    planned: NightlyPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    killed = False
    with dying(monkeypatch, after):
        try:
            passed(planned)
        except Killed:
            killed = True
    again = passed(planned, MONDAY + timedelta(hours=24))
    assert again.troubles == []
    assert len(planned.store.listed(RUNS)) == 3
    messages = inbox(tmp_path)
    ids = {str(message["id"]) for message in messages}
    kinds = {str(message["id"]): message["kind"] for message in messages}
    # Killed before it wrote anything it never was: the first night is then the next one, which is no Monday.
    assert list(kinds.values()).count("report") == (after > 1)
    assert {str(message["job"]) for message in messages if message["kind"] == "firing"} == {
        "bert-0",
        "bert-1",
        "bert-2",
    }
    # A kill between sending and its note sends again, under the same id; nothing else is ever sent twice.
    assert len(messages) - len(ids) <= 1
    if not killed:
        assert again.killed_before is None
    third = passed(planned, MONDAY + timedelta(hours=48))
    assert (third.archived, third.judged, third.reports, third.troubles) == (0, 0, [], [])
    assert len(inbox(tmp_path)) == len(messages)


class Without:
    """An account without a job."""

    clients = None

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult()


class Down:
    """An account that does not answer."""

    clients = None

    def find(self, query: JobQuery) -> JobQueryResult:
        raise Unreachable("AWS does not answer.")


def test_a_step_that_fails_is_told_and_keeps_no_other_from_being_done(planned: NightlyPlan, tmp_path: Path) -> None:
    passed(planned, builders.START + timedelta(hours=30))
    source: Source = Down()  # type: ignore[assignment]
    found = passed(replace(planned, open=lambda where: source))
    assert found.troubles == ["archiving: AWS does not answer."]
    assert found.reports == ["2026-W39"]
    titles = [str(message["title"]) for message in inbox(tmp_path)]
    assert any(title.startswith("nightly of 2026-09-28 did not do everything: archiving") for title in titles)
    # What was not archived is looked for again.
    state = planned.folder.state()
    assert state.archived_until[""] == builders.START + timedelta(hours=30)


def test_only_one_at_a_time(planned: NightlyPlan) -> None:
    with planned.folder.alone(), pytest.raises(CannotDo, match="Another nightly of this archive is at work"):
        passed(planned)


def test_the_log_has_a_beginning_and_an_end_of_each_night(planned: NightlyPlan) -> None:
    passed(planned)
    told = [json.loads(line) for line in planned.folder.log.read_text(encoding="utf-8").splitlines() if line]
    assert [line["event"] for line in told] == ["begun", "ended"]
    assert {"calls", "usd", "seconds", "troubles", "archived"} <= set(told[1])


def test_troubles_are_told_of_an_archive_whose_name_is_no_text() -> None:
    at = datetime(2026, 11, 24, tzinfo=UTC)
    assert trouble_of("/kept/\udce9", at.date(), ("archiving: no region",), at).id
