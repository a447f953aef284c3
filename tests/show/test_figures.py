"""The tiles of a job and its table of nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.model import Cost, Report
from monitor.show.job.header import figures
from monitor.show.job.tables import node_rows
from monitor.words import DASH
from tests import situations
from tests.builders import report


def _tiles(built: object) -> dict[str, tuple[str, str]]:
    return {tile.label: (tile.value, tile.context) for tile in figures(built)}  # type: ignore[arg-type]


def test_a_job_in_five_figures() -> None:
    tiles = _tiles(situations.low_utilization())
    assert tiles["GPU"][0] == "46 %"
    assert tiles["Step time, median"][0] == "4.10 s"
    assert tiles["Duration"] == ("1 h 30 min", "1,200 of 2,400 steps")
    assert tiles["Nodes"] == ("4", "all report steps")


def test_what_was_not_seen_is_a_dash() -> None:
    tiles = _tiles(situations.gappy())
    assert tiles["GPU"] == (DASH, "no data")
    assert tiles["GPU memory"] == (DASH, "no data")
    started = _tiles(situations.never_started())
    assert started["Duration"] == (DASH, "not started")
    assert started["Step time, median"] == (DASH, "no logs read")


def test_without_gpus_the_processors_are_shown() -> None:
    assert {"CPU", "Memory"} <= set(_tiles(situations.no_gpu()))


def test_goodput_is_shown_where_it_is_known() -> None:
    assert "Goodput" not in _tiles(situations.healthy())
    assert _tiles(replace(situations.healthy(), goodput=0.912))["Goodput"] == ("91 %", "of the billed time")


def test_cost_takes_the_place_of_nodes_where_it_is_known() -> None:
    assert "Nodes" not in _tiles(situations.healthy())
    assert _tiles(situations.healthy())["Cost"] == ("$196.62", "overhead $9.80")


@pytest.mark.parametrize(
    ("built", "cost", "expected"),
    [
        (situations.healthy(), Cost(100.0, recoverable_usd=25.0), ("$25.00", "25 % of the cost")),
        (situations.healthy(), Cost(100.0, recoverable_usd=0.0), ("$0", "nothing found to save")),
        (situations.healthy(), Cost(100.0), (DASH, "not known")),
        (
            situations.running(),
            Cost(100.0, recoverable_usd=25.0, recoverable_usd_per_hour=9.5, at_most=True),
            ("≤ $9.50/h", "$25.00 so far"),
        ),
        (
            situations.running(),
            Cost(100.0, recoverable_usd=25.0, recoverable_usd_per_hour=0.0),
            ("$0/h", "$25.00 so far"),
        ),
    ],
)
def test_what_could_be_saved_is_an_hour_while_a_job_runs(built: Report, cost: Cost, expected: tuple[str, str]) -> None:
    assert _tiles(replace(built, cost=cost))["Recoverable"] == expected


@pytest.mark.parametrize(("built", "observed"), [(situations.healthy(), 1), (situations.low_utilization(), 4)])
def test_nodes_have_a_row_each_and_only_columns_somebody_fills(built: object, observed: int) -> None:
    frame = node_rows(built)  # type: ignore[arg-type]
    assert len(frame) == 4
    assert frame["step_median_s"].notna().sum() == observed
    assert frame["gpu_utilization"].between(0, 100).all()


def test_unknown_nodes_leave_nothing_to_show() -> None:
    assert node_rows(situations.never_started()).columns.tolist() == ["node"]
    assert node_rows(report(nodes=())).columns.tolist() == ["node"]
    assert "gpu_utilization" not in node_rows(situations.no_gpu())
