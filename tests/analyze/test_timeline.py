"""The timeline: every lane says what its node's lines say, as many marks as can be seen, and what sets a node apart first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.analyze.cascade import cascade
from monitor.analyze.timeline import JOB, MARKS, MOST_LANES, NOWHERE, Timeline, timeline
from monitor.model import Activity, Phase, Run, events_frame, steps_frame
from tests.builders import START, nodes_of, report, steps

Row = tuple[str, str, float, str]  # kind, node, minute, text


def _at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def _run(rows: Sequence[Row], nodes: int = 2, minutes: int = 60, step_frame: pd.DataFrame | None = None) -> Run:
    events = [
        {
            "timestamp": _at(minute),
            "node": node,
            "rank": None,
            "kind": kind,
            "text": text,
            "stream": f"j/{node}",
            "line": n,
        }
        for n, (kind, node, minute, text) in enumerate(rows, 1)
    ]
    hosts = nodes_of(nodes)
    frame = steps([hosts[0].name], minutes * 30 - 200, 2.0, _at(3)) if step_frame is None else step_frame
    built = report(nodes=hosts, minutes=minutes, step_frame=frame)
    return replace(built.run, events=events_frame(events))


def _of(run: Run, *, activities: Sequence[Activity] = (), flagged: bool = False, minutes: int = 60) -> Timeline:
    parts = (Phase("initialization", START, _at(3), True), Phase("productive", _at(3), _at(minutes), True))
    first = cascade(run.events, run.steps) if flagged else None
    return timeline(run, parts, activities, first, _at(minutes))


def _marks(found: Timeline, lane: str) -> list[tuple[str, float]]:
    rows = found.marks[found.marks["lane"] == lane]
    minutes = (rows["start"] - pd.Timestamp(START)).dt.total_seconds() / 60
    return list(zip(rows["kind"], minutes.round(1), strict=True))


def test_a_lane_holds_what_its_node_says_in_time() -> None:
    run = _run([
        ("first-line", "algo-1", 1, ""), ("first-line", "algo-2", 1.5, ""), ("checkpoint-begin", "algo-1", 20, ""),
        ("checkpoint-end", "algo-1", 21, ""), ("evaluation-end", "algo-1", 40, ""), ("outcome", "algo-2", 59, "success"),
    ])  # fmt: skip
    found = _of(run)
    assert found.lanes == (JOB, "algo-1", "algo-2")
    assert [kind for kind, _ in _marks(found, "algo-1")] == ["first line", "first step", "checkpoint", "evaluation"]
    assert _marks(found, "algo-2") == [("first line", 1.5), ("end", 59.0)]
    row = found.marks[found.marks["kind"] == "checkpoint"].iloc[0]
    assert (row["end"] - row["start"]) == pd.Timedelta(minutes=1)


def test_what_held_the_job_up_is_in_its_lane() -> None:
    found = _of(_run([]), activities=(Activity("checkpoint", _at(20), _at(21)),))
    assert _marks(found, JOB) == [("checkpoint", 20.0)]
    assert found.parts["name"].tolist() == ["initialization", "productive"]


@pytest.mark.parametrize("hours", [1, 24 * 14])
def test_the_course_of_the_job_is_whole_and_slow_moments_do_not_cut_it_up(hours: int) -> None:
    minutes = hours * 60.0
    edges = [3.0 + (minutes - 3.0) * n / 4000 for n in range(4001)]
    work = [
        Phase("slow-excess" if n % 2 else "productive", _at(a), _at(b), True)
        for n, (a, b) in enumerate(pairwise(edges))
    ]
    phases = (Phase("initialization", START, _at(3), True), *work)
    parts = timeline(_run([]), phases, (), None, _at(minutes)).parts
    assert parts["name"].tolist() == ["initialization", "productive"]
    assert (parts["start"].iloc[0], parts["end"].iloc[-1]) == (START, phases[-1].end)
    restarts = tuple(replace(phase, name="initialization" if n % 2 else "lost-work") for n, phase in enumerate(work))
    assert len(timeline(_run([]), (phases[0], *restarts), (), None, _at(minutes)).parts) <= MARKS * 2


def test_the_first_error_is_flagged_once_and_what_follows_is_an_error() -> None:
    run = _run([
        ("error", "algo-2", 57.0, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB"),
        ("nccl-error", "algo-1", 58.0, "NCCL WARN Connection closed by remote peer"),
    ])  # fmt: skip
    found = _of(run, flagged=True)
    assert ("first error", 57.0) in _marks(found, "algo-2")
    assert "error" not in [kind for kind, _ in _marks(found, "algo-2")]
    assert ("error", 58.0) in _marks(found, "algo-1")
    assert "first error" not in set(_of(run).marks["kind"]), "where the job ended well there is none"


def test_a_silence_is_one_only_where_nothing_explains_it() -> None:
    rows = steps(["algo-1"], 1000, 2.0, _at(3))
    rows["timestamp"] = rows["timestamp"].where(rows["step"] <= 500, rows["timestamp"] + pd.Timedelta(minutes=12))
    run = _run([], step_frame=steps_frame(rows))
    found = _of(run, minutes=50)
    silent = found.marks[found.marks["kind"] == "no step"]
    assert len(silent) == 1
    assert (silent["end"] - silent["start"]).iloc[0] > pd.Timedelta(minutes=12)
    start = silent["start"].iloc[0].to_pydatetime()
    evaluated = Activity("evaluation", start, start + timedelta(minutes=12))
    assert "no step" not in set(_of(run, activities=(evaluated,), minutes=50).marks["kind"])


def test_the_silence_at_the_end_counts() -> None:
    run = _run([], step_frame=steps(["algo-1"], 300, 2.0, _at(3)))
    kinds = [kind for kind, _ in _marks(_of(run), "algo-1")]
    assert kinds == ["first step", "no step"]


def test_lines_without_a_node_have_a_lane_of_their_own_and_lines_without_a_time_none() -> None:
    run = _run([("error", "", 30, "RuntimeError: x")])
    assert _marks(_of(run), NOWHERE) == [("error", 30.0)]
    timeless = replace(
        run,
        events=events_frame(run.events.assign(timestamp=pd.Series([pd.NaT], dtype="datetime64[ms, UTC]"))),
        steps=steps_frame(),
    )
    assert _of(timeless).lanes == (JOB,)
    assert timeline(timeless, (), (), None, _at(60)).start is None


def test_a_further_stream_of_a_node_is_a_restart_in_an_account_only() -> None:
    run = _run([("first-line", "algo-1", 1, "")])
    second = run.events.assign(timestamp=run.events["timestamp"] + pd.Timedelta(minutes=30), stream="j/algo-1-2")
    run = replace(run, events=events_frame(pd.concat([run.events, second])))
    assert ("restart", 31.0) in _marks(_of(run), "algo-1")
    of_files = replace(run, job=replace(run.job, source="logs"))
    assert "restart" not in [kind for kind, _ in _marks(_of(of_files), "algo-1")]


@pytest.mark.parametrize("nodes", [1, 12, 13, 64, 256])
def test_lanes_are_few_and_the_node_of_the_first_error_is_among_them(nodes: int) -> None:
    rows: list[Row] = [("first-line", f"algo-{n}", 1, "") for n in range(1, nodes + 1)]
    run = _run([*rows, ("error", f"algo-{nodes}", 58, "RuntimeError: CUDA error")], nodes=nodes)
    found = _of(run, flagged=True)
    shown = len(found.lanes) - 1
    assert shown + found.left_out == nodes
    assert shown <= MOST_LANES
    assert f"algo-{nodes}" in found.lanes
    if nodes > 12:
        assert found.lanes[1] == f"algo-{nodes}"


def test_what_all_nodes_have_in_common_sets_none_apart() -> None:
    names = [node.name for node in nodes_of(64)]
    run = _run([], nodes=64, step_frame=steps(names, 300, 2.0, _at(3)))
    found = _of(run)
    assert found.lanes == (JOB, "algo-1", "algo-2", "algo-3", "algo-4")
    assert (found.left_out, found.left_out_troubled) == (60, 0)
    assert found.nodes_with["no step"] == 64


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(1, 59, allow_nan=False), min_size=1, max_size=3000))
def test_marks_are_few_and_none_is_lost(minutes: list[float]) -> None:
    run = _run([("checkpoint-end", "algo-1", minute, "") for minute in minutes], step_frame=steps_frame())
    found = _of(run).marks
    assert found["count"].sum() == len(minutes)
    assert len(found) <= MARKS + 1
    assert (found["end"] >= found["start"]).all()
