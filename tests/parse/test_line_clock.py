"""Step times by the clock of the lines, and that clock as the witness of printed ones: small logs with one obvious answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.model import LogPage
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows
from tests.parse.read import parse

_BEGAN = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)


def _events(lines: list[tuple[float, str]], stream: str = "job/algo-1-1") -> Parsed:
    """Lines of one stream with the times at which CloudWatch took them in."""
    raw = RawRows()
    began_ms = round(_BEGAN.timestamp() * 1000)
    times = tuple(began_ms + round(1000 * at_s) for at_s, _ in lines)
    raw.add(LogPage.of(stream, "algo-1", 1, [text for _, text in lines], times))
    return assemble(raw.steps, raw.events)


def _stamped(at_s: float, text: str, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return f"{(_BEGAN + timedelta(seconds=at_s)).strftime(form)} {text}"


def _times(parsed: Parsed) -> list[float]:
    return [float(value) for value in parsed.steps["step_time_s"]]


def test_steps_without_a_time_have_that_of_the_lines() -> None:
    parsed = _events([(2.5 * step, f"step {step} loss 2.{step}") for step in range(1, 6)])
    assert np.isnan(_times(parsed)[0])
    assert _times(parsed)[1:] == pytest.approx([2.5] * 4)
    assert set(parsed.steps["kind"]) == {"line-clock"}


def test_the_time_between_two_reports_is_shared_by_the_steps_between_them() -> None:
    parsed = _events([(0.5 * step, f"step {step} loss 2.5") for step in (50, 100, 150, 200)])
    assert _times(parsed)[1:] == pytest.approx([0.5] * 3)


@pytest.mark.parametrize(
    ("first", "each", "total", "step_time_s"),
    [
        pytest.param(64, 6400, 60_000, 0.02, id="samples of batches of 64, each hundredth batch"),
        pytest.param(32, 320, 3_000, 0.2, id="of 32, each tenth"),
        pytest.param(100, 100, 1_000, 0.02, id="batches, each hundredth"),
        pytest.param(0, 100, 1_000, 0.02, id="batches from 0"),
        pytest.param(1, 100, 1_000, 0.02, id="the first batch and each hundredth behind it"),
        pytest.param(0, 6400, 60_000, None, id="samples, of which nothing tells the batch"),
    ],
)
def test_a_fraction_of_samples_that_begins_with_one_batch_tells_it(
    first: int, each: int, total: int, step_time_s: float | None
) -> None:
    counts = range(first, total, each)
    lines = [f"loss: 2.{at % 90:02}  [{at:>5}/{total}]" for _ in range(4) for at in counts]
    parsed = _events([(2.0 * turn, line) for turn, line in enumerate(lines)])
    assert list(parsed.steps["step"]) == list(counts) * 4
    known = parsed.steps["step_time_s"].dropna()
    assert known.empty if step_time_s is None else known.median() == pytest.approx(step_time_s)


def test_a_fraction_of_steps_may_begin_with_an_earlier_report_than_the_others() -> None:
    counts = (10, 50, 100, 150, 200)
    parsed = _events([(0.2 * at, f"loss: 2.{at % 90:02}  [{at:>5}/220]") for at in counts])
    assert _times(parsed)[1:] == pytest.approx([0.2] * 4)


def test_the_time_that_a_line_prints_serves_where_the_source_has_none() -> None:
    parsed = parse([_stamped(30 * step, f"step {step} loss 2.5") for step in range(5)])
    assert _times(parsed)[1:] == pytest.approx([30.0] * 4)
    assert parsed.steps["timestamp"].notna().all()


def test_a_time_of_day_gives_durations_and_no_instants() -> None:
    lines = [_stamped(53_960 + 20 * step, f"step {step} loss 2.5", "%H:%M:%S") for step in range(6)]
    assert any(line.startswith("00:") for line in lines)  # past midnight
    parsed = parse(lines)
    assert _times(parsed)[1:] == pytest.approx([20.0] * 5)
    assert parsed.steps["timestamp"].isna().all()


def test_whole_seconds_are_read_over_ten_of_them() -> None:
    parsed = parse([_stamped(0.7 * step, f"step {step} loss 2.5") for step in range(1, 200)])
    assert float(np.nanmedian(_times(parsed))) == pytest.approx(0.7, rel=0.05)
    timing = parsed.timings[0]
    assert timing.resolution_s == pytest.approx(1.0)


@given(st.integers(2, 40), st.floats(0.05, 30.0), st.integers(0, 2**32 - 1))
def test_bursts_of_buffered_lines_are_read_from_end_to_end(size: int, step_s: float, seed: int) -> None:
    """A buffer is written when it is full: lines have its time, the last of them their own."""
    rng = np.random.default_rng(seed)
    done, lines = 0, []
    while done < 10 * size:
        done += int(rng.integers(max(1, size // 2), size + 1))
        begin = len(lines) + 1
        lines += [(done * step_s, f"step {step} loss 2.5") for step in range(begin, done + 1)]
    found = np.array(_times(_events(lines)))
    assert np.nanmedian(found) == pytest.approx(step_s, rel=0.02, abs=0.002)


def test_where_lines_are_taken_in_together_their_own_time_is_the_truer_one() -> None:
    lines = [
        (10.0 * (step // 10 + 1), _stamped(step, f"step {step} loss 2.5", "%Y-%m-%d %H:%M:%S.%f")) for step in range(60)
    ]
    assert _times(_events(lines))[1:] == pytest.approx([1.0] * 59)


def test_a_log_that_was_written_at_once_has_no_clock() -> None:
    parsed = _events([(0.0001 * step, f"step {step} loss 2.5") for step in range(500)])
    assert np.isnan(_times(parsed)).all()


def test_a_checkpoint_makes_one_step_long_and_no_other() -> None:
    lines = []
    at_s = 0.0
    for step in range(1, 31):
        at_s += 2.0
        lines.append((at_s, f"step {step} loss 2.5"))
        if step == 15:
            lines.append((at_s, "Saving checkpoint to /opt/ml/checkpoints"))
            at_s += 60
    found = _times(_events(lines))
    assert found[15] == pytest.approx(62.0)
    assert sorted(set(np.round(found[1:15] + found[16:], 3))) == [2.0]


def test_a_counter_that_begins_again_has_no_time_there() -> None:
    lines = [(2.0 * place, f"step {step} loss 2.5") for place, step in enumerate([1, 2, 3, 2, 3, 4])]
    found = _times(_events(lines))
    assert [bool(np.isnan(value)) for value in found] == [True, False, False, True, False, False]


def test_a_run_that_begins_again_at_the_step_where_it_stopped_has_no_step_of_that_time() -> None:
    lines = [(2.0 * step, f"step {step} loss 2.5") for step in range(1, 8)]
    lines += [(300 + 2.0 * step, f"step {step} loss 2.5") for step in range(7, 15)]
    assert np.nanmax(_times(_events(lines))) == pytest.approx(2.0)


def test_late_lines_stand_where_they_were_written() -> None:
    order = [1, 2, 4, 3, 5, 6, 7, 9, 8, 10]
    parsed = parse([_stamped(20 * step, f"step {step} loss 2.5") for step in order])
    assert set(parsed.steps["segment"]) == {0}
    assert np.nanmax(_times(parsed)) == pytest.approx(20.0)


def test_ranks_that_write_into_one_stream_are_told_apart_or_share_their_steps_time() -> None:
    lines = []
    for step in range(1, 8):
        lines += [(3.0 * step + 0.1 * rank, f"[rank{rank}] step {step} loss 2.5") for rank in range(3)]
    named = _events(lines)
    assert named.steps.groupby("rank")["step_time_s"].median().tolist() == pytest.approx([3.0] * 3)
    unnamed = _events([(at_s, text[8:]) for at_s, text in lines])
    assert np.nanmedian(_times(unnamed)) == pytest.approx(3.0)


def test_reports_that_stand_at_the_end_of_each_epoch_are_an_epochs_steps_apart() -> None:
    parsed = _events([(50.0 * epoch, f"Epoch {epoch} Step [100/100] Loss: 2.5") for epoch in range(1, 6)])
    assert np.nanmedian(_times(parsed)) == pytest.approx(0.5)


def _printed(pace_s: float, printed: float, steps: range, key: str = "time") -> Parsed:
    """Reports that print a number while each step takes ``pace_s``."""
    return _events([(pace_s * step, f"step {step} loss 2.5 {key} {printed}") for step in steps])


@pytest.mark.parametrize(
    ("parsed", "seconds", "cause"),
    [
        pytest.param(_printed(0.5, 0.5, range(1, 40)), 0.5, "", id="agrees"),
        pytest.param(_printed(0.5, 0.62, range(1, 40)), 0.62, "", id="agrees but for what is not timed"),
        pytest.param(_printed(0.1, 30.0, range(300, 6000, 300)), 0.1, "interval", id="the sum over 300 steps"),
        pytest.param(_printed(0.5, 500.0, range(1, 40)), 0.5, "unit", id="milliseconds without their unit"),
        pytest.param(_printed(0.5, 0.00833333, range(1, 40)), 0.5, "unit", id="minutes without their unit"),
        pytest.param(_printed(0.5, 1.45, range(1, 40)), 0.5, "clock", id="longer than all that passed"),
        pytest.param(_printed(7.0, 1.0, range(1, 40)), 7.0, "clock", id="a seventh of each step"),
    ],
)
def test_a_printed_time_is_held_against_the_clock(parsed: Parsed, seconds: float, cause: str) -> None:
    assert np.nanmedian(_times(parsed)) == pytest.approx(seconds, rel=0.01)
    (timing,) = parsed.timings
    assert timing.verdict.cause == cause
    assert (set(parsed.steps["kind"]) == {"line-clock"}) == (cause == "clock")
    if cause:
        assert timing.clock_s == pytest.approx(seconds, rel=0.05)


def test_the_time_of_a_micro_batch_is_read_as_that_of_its_step() -> None:
    lines = [(0.0, "Gradient Accumulation steps = 8")]
    lines += [(4.0 * step, f"step {step} loss 2.5 time 0.5") for step in range(1, 30)]
    parsed = _events(lines)
    assert parsed.timings[0].verdict.cause == "accumulation"
    assert np.nanmedian(_times(parsed)) == pytest.approx(4.0)


@pytest.mark.parametrize("micro_batches", [1, 8, 40])
def test_the_loaders_counter_counts_micro_batches_where_the_log_says_how_many_make_a_step(micro_batches: int) -> None:
    lines = [
        f"Epoch: [0]  [{at:4d}/1000]  eta: 0:03:00  loss: 0.50 (0.52)  time: 0.2500  data: 0.0010  max mem: 10412"
        for at in range(0, 1000, 20)
    ]
    parsed = parse([f"accumulate grad iterations: {micro_batches}", *lines])
    done = [at if micro_batches == 1 else (at + 1) // micro_batches for at in range(0, 1000, 20)]
    assert parsed.steps["step"].tolist() == sorted(set(done))
    assert parsed.steps["step_time_s"].to_numpy() == pytest.approx(0.25 * micro_batches)
    (timing,) = parsed.timings
    assert timing.verdict.cause == ("" if micro_batches == 1 else "accumulation")


def test_evaluations_between_all_reports_do_not_refute_a_printed_time() -> None:
    lines = []
    for epoch in range(1, 12):
        lines.append((110.0 * epoch, f"step {100 * epoch} loss 2.5 step_time 0.1"))
        lines.append((110.0 * epoch + 90, "Running evaluation"))
    parsed = _events(lines)
    assert np.nanmedian(_times(parsed)) == pytest.approx(0.1)


def test_pauses_now_and_then_do_not_refute_a_printed_time() -> None:
    rng = np.random.default_rng(1)
    at_s = np.cumsum(np.where(rng.random(100) < 0.3, 300.0, 1.0))
    parsed = _events([(at, f"step {step} loss 2.5 step_time 1.0") for step, at in enumerate(at_s.tolist())])
    assert _times(parsed) == pytest.approx([1.0] * 100)


def test_without_any_clock_a_time_between_many_steps_is_not_said_to_be_one_steps() -> None:
    assert set(parse([f"step {step} loss 2.5 time 30.1" for step in range(0, 900, 100)]).steps["kind"]) == {"interval"}


def test_a_counter_of_tokens_does_not_make_a_steps_time_a_tokens() -> None:
    parsed = _printed(11 / 4_194_304, 11.0, range(4_194_304, 40 * 4_194_304, 4_194_304), "step_time")
    assert np.nanmedian(_times(parsed)) == pytest.approx(11.0)


@given(st.data())
def test_the_order_of_pages_does_not_matter(data: st.DataObject) -> None:
    lines = [(1.5 * step + (40 if step > 20 else 0), f"step {step} loss 2.5") for step in range(1, 40)]
    began_ms = round(_BEGAN.timestamp() * 1000)
    cuts = sorted({0, 39, *data.draw(st.sets(st.integers(1, 38), max_size=5))})
    pages = [
        LogPage.of(
            "job/algo-1-1",
            "algo-1",
            begin + 1,
            [text for _, text in lines[begin:end]],
            tuple(began_ms + round(1000 * at_s) for at_s, _ in lines[begin:end]),
        )
        for begin, end in pairwise(cuts)
    ]
    raw = RawRows()
    for page in data.draw(st.permutations(pages)):
        raw.add(page)
    found = assemble(raw.steps, raw.events)
    pd.testing.assert_frame_equal(found.steps, _events(lines).steps)


def test_an_elapsed_total_beats_a_mean_beside_it() -> None:
    """The mean since the start still holds the first step, which took a minute."""
    elapsed = [60.0 + 2.0 * step for step in range(1, 40)]
    lines = [f"step {n} loss 2.5 avg_step_time {at / n:.3f} elapsed {at:.1f}" for n, at in enumerate(elapsed, 1)]
    parsed = parse(lines)
    assert _times(parsed)[1:] == pytest.approx([2.0] * 38)
    assert set(parsed.steps["kind"][1:]) == {"cumulative"}


def test_a_time_that_is_nearly_always_many_times_too_short_is_refuted_though_some_gaps_hold_more() -> None:
    at_s = np.cumsum([0.4 if step % 2 else 3.0 for step in range(40)]).tolist()
    parsed = _events([(at, f"step {step} loss 2.5 step_time 0.02") for step, at in enumerate(at_s)])
    assert set(parsed.steps["kind"]) == {"line-clock"}
    assert parsed.timings[0].printed_s == pytest.approx(0.02)


def test_a_clock_may_stand_in_front_of_a_lines_echo_alone() -> None:
    lines = [
        line
        for step in range(0, 200, 50)
        for line in (
            f"WARNING:root:step {step}, loss 2.5",
            _stamped(step * 0.8, f"WARNING [train.py:546] step {step}, loss 2.5"),
        )
    ]
    steps = parse(lines).steps
    assert len(steps) == 4
    assert steps["step_time_s"].iloc[1:].tolist() == pytest.approx([0.8] * 3)


def test_a_table_may_have_the_time_in_its_last_column() -> None:
    rows = [
        f"0.5,{step}.0,0,2026-03-04 08:{step * 3 // 60:02d}:{step * 3 % 60:02d}.250000" for step in range(9, 60, 10)
    ]
    steps = parse(["train_loss,global_step,epoch,created_at", *rows]).steps
    assert steps["step_time_s"].iloc[1:].tolist() == pytest.approx([3.0] * 5)


def test_what_is_called_elapsed_and_falls_again_and_again_is_each_reports_own() -> None:
    times = [106.1, 98.7, 100.1, 97.0, 99.5, 98.1]
    lines = [
        line
        for step, each in enumerate(times)
        for line in ("-----", f"Iteration: {step}", "Loss: 0.5", f"Elapsed time: {each} seconds")
    ]
    assert parse(lines).steps["step_time_s"].tolist() == pytest.approx(times)


def test_so_is_a_duration_that_is_written_as_a_clock() -> None:
    lines = [f"[step {step}] loss: 2.5 duration: 0:00:0{3 + step % 2}.250" for step in range(12)]
    assert parse(lines).steps["step_time_s"].tolist() == pytest.approx([3.25, 4.25] * 6)


@pytest.mark.parametrize(
    ("begun_s", "first_s"),
    [pytest.param(0, 3.0, id="since the epoch began"), pytest.param(36_000, float("nan"), id="the time of day")],
)
def test_a_time_in_three_parts_is_a_clock(begun_s: int, first_s: float) -> None:
    def clock(seconds: int) -> str:
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    lines = [
        f"train | epoch = {epoch}, iter = [{step}|100], loss = 0.5, time = {clock(begun_s + 3 * step + 3)}"
        for epoch in (1, 2)
        for step in range(100)
    ]
    times = parse(lines).steps["step_time_s"]
    assert times.iloc[0] == pytest.approx(first_s, nan_ok=True)
    assert times.iloc[4:100].tolist() == pytest.approx([3.0] * 96)


def test_a_time_of_day_gives_way_to_the_lines_clock() -> None:
    lines = [
        (2.5 * step, f"step {step} loss = 0.5 time = 10:0{2.5 * step // 60:.0f}:{2.5 * step % 60:02.0f}")
        for step in range(40)
    ]
    assert _times(_events(lines))[1:] == pytest.approx([2.5] * 39)


def _evaluating(told: list[tuple[float, str]], *, every: int = 1, stream: str = "job/algo-1-1") -> Parsed:
    """Reports after each 100 steps of 0.5 s; an evaluation of 25 s behind every so many says ``told`` at its parts of that."""
    lines, now = [], 0.0
    for step in range(100, 1100, 100):
        now += 50
        lines.append((now, f"step {step} loss 2.5"))
        if step % (100 * every) == 0:
            lines += [(now + 25 * part, text.format(step=step)) for part, text in told]
            now += 25
    return _events(lines, stream)


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize(
    "told",
    [
        [(1.0, "step {step} val loss 2.61, val acc 0.3")],
        [(1.0, "Validation - iter: {step}, loss: 2.61")],
        [(1.0, "{{'eval_loss': 2.61, 'eval_runtime': 25.0, 'eval_samples_per_second': 9.1, 'epoch': 0.5}}")],
        [(0.0, "***** Running Evaluation *****"), (1.0, "{{'eval_loss': 2.61, 'epoch': 0.5}}")],
    ],
)
def test_what_an_evaluation_takes_between_two_reports_is_no_time_of_a_step(
    told: list[tuple[float, str]], every: int
) -> None:
    parsed = _evaluating(told, every=every)
    assert _times(parsed)[1:] == pytest.approx([0.5] * 9)
    assert not set(parsed.events["kind"]) & {"evaluated-at", "evaluation-took"}
    spans = parsed.events[parsed.events["kind"].isin(["evaluation-begin", "evaluation-end"])].sort_values("timestamp")
    lasted = spans["timestamp"].diff().dt.total_seconds().iloc[1::2]
    assert spans["kind"].iloc[0] == "evaluation-begin"
    assert lasted.to_numpy() == pytest.approx(25.0)


def test_processes_that_wait_for_an_evaluation_hear_of_it_in_another_stream() -> None:
    raw, began_ms = RawRows(), round(_BEGAN.timestamp() * 1000)
    now, lines = 0.0, {"algo-1": list[tuple[float, str]](), "algo-2": list[tuple[float, str]]()}
    for step in range(100, 800, 100):
        now += 50
        for told in lines.values():
            told.append((now, f"step {step} loss 2.5"))
        now += 25
        lines["algo-1"].append((now, f"step {step} val loss 2.6"))
    for node, told in lines.items():
        times = tuple(began_ms + round(1000 * at_s) for at_s, _ in told)
        raw.add(LogPage.of(f"job/{node}-1", node, 1, [text for _, text in told], times))
    steps = assemble(raw.steps, raw.events).steps
    assert steps.groupby("node", observed=True)["step_time_s"].median().tolist() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    "told",
    [
        # Of another step than the one that was reported: when it began is not known.
        [(1.0, "step 7 val loss 2.61")],
        [(1.0, "{{'eval_loss': 2.61, 'epoch': 0.5}}")],
    ],
)
def test_of_an_evaluation_whose_begin_nobody_tells_the_clock_counts_all(told: list[tuple[float, str]]) -> None:
    assert _times(_evaluating(told))[1:] == pytest.approx([0.75] * 9)


def test_reports_that_come_before_their_work_are_followed_by_no_evaluation() -> None:
    lines = [
        (50.0 * step + late, text)
        for step in range(1, 10)
        for late, text in ((0, f"step {step} loss 2.5"), (49.5, f"step {step} val loss 2.6"))
    ]
    assert _times(_events(lines))[1:] == pytest.approx([50.0] * 8)


@given(st.floats(3.0, 11.0), st.sampled_from([15.625, 16.0]))
def test_a_clock_whose_ticks_several_steps_share_is_read_over_many_of_them(step_ms: float, tick_ms: float) -> None:
    lines = [(np.floor(step * step_ms / tick_ms) * tick_ms / 1000, f"step {step} loss 2.5") for step in range(400)]
    found = np.array(_times(_events(lines)))
    assert float(np.nanmedian(found)) == pytest.approx(step_ms / 1000, rel=0.1)
