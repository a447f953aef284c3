"""The tiles of a job and its table of nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.show.figures import figures
from monitor.show.job_tables import node_rows
from monitor.words import DASH
from tests import situations
from tests.builders import START, report

NOW = START + timedelta(hours=2)


def _tiles(built: object) -> dict[str, tuple[str, str]]:
    return {tile.label: (tile.value, tile.context) for tile in figures(built, NOW)}  # type: ignore[arg-type]


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
    assert started["Step time, median"] == (DASH, "no step lines")


def test_without_gpus_the_processors_are_shown() -> None:
    assert {"CPU", "Memory"} <= set(_tiles(situations.no_gpu()))


def test_goodput_is_shown_where_it_is_known() -> None:
    assert "Goodput" not in _tiles(situations.healthy())
    assert _tiles(replace(situations.healthy(), goodput=0.912))["Goodput"] == ("91 %", "of the billed time")


def test_cost_takes_the_place_of_nodes_where_it_is_known() -> None:
    assert _tiles(situations.healthy())["Cost"] == ("$196.62", "$9.80 of it wasted")


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
