"""The tiles above the table of jobs: which jobs are in a sum is said where not all are, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.errors import NoData
from monitor.model import Report
from monitor.review import Snapshot
from monitor.show.job.header import Tile
from monitor.show.jobs.query import figures
from tests import situations
from tests.situations import summary

WAITING, FAILED = Snapshot(working=True, progress="waiting for its turn"), Snapshot(error=NoData("No log."))
NOTHING = {"Running": "of 2 jobs", "Overhead so far": "nothing is running", "Recoverable / h": "nothing is running"}


def _running(name: str, **cost: float | None) -> Report:
    report = situations.running()
    return replace(
        report,
        run=replace(report.run, job=replace(report.job, name=name)),
        cost=replace(report.cost, **cost),  # type: ignore[arg-type]
    )


def _tiles(reports: list[Report], **others: Snapshot) -> dict[str, Tile]:
    """Of these jobs, all running; ``others`` have no report (yet)."""
    jobs = [summary(report) for report in (*reports, *(_running(name) for name in others))]
    reviewed = {report.job.name: Snapshot(report=report) for report in reports} | others
    return {tile.label: tile for tile in figures(jobs, reviewed, {})}


KNOWN = {"overhead_usd": 4.0, "recoverable_usd_per_hour": 2.0}
MONEY = ("Overhead so far", "Recoverable / h")


def test_where_all_are_in_the_sum_it_is_said_in_two_words() -> None:
    tiles = _tiles([_running("a", **KNOWN), _running("b", **KNOWN)])
    assert tiles["Overhead so far"].value == "$8.00"
    for name in MONEY:
        assert tiles[name].context == "all running jobs"
        assert "reviewed;" not in tiles[name].help
        assert "Not known" not in tiles[name].help


@pytest.mark.parametrize("missing", [WAITING, FAILED])
def test_where_some_are_not_reviewed_the_tile_says_how_many_are_in_it_and_why(missing: Snapshot) -> None:
    tiles = _tiles([_running("a", **KNOWN)], b=missing, c=missing)
    for name in MONEY:
        assert tiles[name].context == "for 1 of 3 running"
        assert "1 of 3 running jobs reviewed; these tiles cover at most the 25 most urgent jobs" in tiles[name].help
        assert "Not known" not in tiles[name].help


def test_what_is_not_known_of_a_reviewed_job_is_no_0() -> None:
    tiles = _tiles([_running("a", **KNOWN), _running("b", overhead_usd=None)])
    assert (tiles["Overhead so far"].value, tiles["Overhead so far"].context) == ("$4.00", "for 1 of 2 running")
    assert tiles["Overhead so far"].help.endswith("Not known for 1 of those reviewed.")
    tiles = _tiles([_running("a", overhead_usd=None)])
    assert (tiles["Overhead so far"].value, tiles["Overhead so far"].context) == ("–", "for 0 of 1 running")


def test_where_nothing_runs_nothing_is_counted() -> None:
    reports = [situations.healthy(), situations.failed()]
    tiles = {
        tile.label: tile
        for tile in figures(
            [summary(report) for report in reports],
            {report.job.name: Snapshot(report=report) for report in reports},
            {},
        )
    }
    assert {name: tiles[name].context.partition(";")[0] for name in NOTHING} == NOTHING


@pytest.mark.parametrize("others", [{}, {"b": WAITING}, {"b": FAILED, "c": WAITING}])
def test_every_context_fits_a_tile_of_a_narrow_page(others: dict[str, Snapshot]) -> None:
    """Some 24 letters fit where five tiles share 800 pixels; what is longer is cut."""
    jobs = [_running("a", **KNOWN), _running("d"), situations.failed(), situations.healthy()]
    reviewed = {report.job.name: Snapshot(report=report) for report in jobs} | others
    tiles = figures([summary(report) for report in jobs] + [summary(_running(name)) for name in others], reviewed, {})
    assert [tile.context for tile in tiles if len(tile.context) > 24] == []
