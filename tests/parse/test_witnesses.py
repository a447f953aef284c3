"""What else a log says of its step times: longer gaps, a clock beside times of single steps, digits that are too few."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from monitor.model import LogPage
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows
from tests.parse.read import parse

_BEGIN = datetime(2024, 3, 5, 9, 0, 0, tzinfo=UTC)


def _at(seconds: float) -> str:
    return (_BEGIN + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]


def _read(lines: Iterable[str]) -> pd.DataFrame:
    return parse(list(lines)).steps


def test_a_time_that_grows_with_the_steps_since_the_last_report_is_of_them_all() -> None:
    done = [200 * number for number in range(1, 40) if number % 7]
    since = [step - before for before, step in zip([0, *done], done, strict=False)]
    lines = [
        f"[update {step}] cls_loss=2.5 box_loss=0.5 time={0.31 * gap + step % 3:.2f}"
        for step, gap in zip(done, since, strict=True)
    ]
    steps = _read(lines)
    assert steps["step_time_s"].median() == pytest.approx(0.31, rel=0.05)


_S, _MANY = 0.3, 30.0  # of one step, of a hundred


@pytest.mark.parametrize(
    ("line", "first", "expected"),
    [
        # A first report is behind one step alone: its sum is short.
        ("Iter {step} loss 2.5 time {time:.2f}s", 0, _S),
        # What is left of the run comes down by so much a step.
        ("step {step}/9000 | loss 2.5 | {time:.1f}s | eta {left:.0f}s", 100, _S),
        # A batch of 32 or of 3,200 in each step?
        ("[{step}/9000] loss 2.5, {rate:.2f} samples/s, time: {time:.4f}", 100, _S),
        # A clock beside it tells all.
        ("step {step} loss 2.5 time {time:.1f} elapsed {done:.1f}", 100, _S),
        # Nobody reports once an hour.
        ("step {step} loss 2.5 time {time:.1f}", 100, _S),
    ],
)
def test_what_tells_whether_a_time_is_of_one_step_or_of_all_since_the_last_report(
    line: str, first: int, expected: float
) -> None:
    steps = range(first, first + 1500, 100)
    done = {step: _S * step for step in steps}
    times = {step: _MANY + step % 7 / 100 if step else 0.9 for step in steps}
    lines = [
        line.format(step=step, time=times[step], left=_S * (9000 - step), rate=3200 / times[step], done=done[step])
        for step in steps
    ]
    assert _read(lines)["step_time_s"].median() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("line", "each"), [("step {} loss 2.5 time {:.3f}", 5.0), ("[{}/900] loss 2.5 ({:.1f} sec)", 4.0)]
)
def test_where_nothing_tells_what_a_time_is_of_none_is_shown_and_it_is_said(line: str, each: float) -> None:
    parsed = parse([line.format(20 * number, each + number % 3 / 10) for number in range(1, 30)])
    assert len(parsed.steps) == 29
    assert parsed.steps["step_time_s"].isna().all()
    assert [timing.verdict.cause for timing in parsed.timings] == ["untold"]


def test_a_report_alone_behind_a_new_epoch_is_as_unknown_as_the_others() -> None:
    lines = [f"epoch 1 step {20 * place} loss 2.5 time 5.{place % 9}" for place in range(1, 8)]
    parsed = parse([*lines, "epoch 2 step 3 loss 2.5 time 6.2"])
    assert len(parsed.steps) == 8
    assert parsed.steps["step_time_s"].isna().all()


@pytest.mark.parametrize(
    "line",
    [
        "(ep: 3, step: {step}, time: {time:.3f}, data: 0.0{digit}) loss_G: 2.5 loss_D: 0.5",
        "iter {step} | loss 2.5 | time (data): {time:.3f} (0.00{digit})",
        "step={step} loss=2.5 data_time=0.0{digit} time={time:.3f}",
        "Timer: {time:.4f}\niter {step} || loss 2.5",
        "it {step} loss: 2.5 time: {time:.3f} data loading: 0.0{digit}",
        "train: {step}/90000, loss: 2.{digit} time: {time:.3f} data: 0.0{digit}",
    ],
)
@pytest.mark.parametrize(("every", "each", "expected"), [(50, 0.9, 0.9), (50, 75.0, 1.5), (50, 2.0, None)])
def test_a_time_that_its_share_of_data_stands_beside_is_likelier_one_steps(
    line: str, every: int, each: float, expected: float | None
) -> None:
    reports = (line.format(step=every * n, time=each * (1 + n * 7 % 5 / 50), digit=n % 10) for n in range(3, 30))
    time_s = _read("\n".join(reports).split("\n"))["step_time_s"]
    assert time_s.isna().all() if expected is None else time_s.median() == pytest.approx(expected, rel=0.1)


def test_a_time_at_the_end_of_each_epoch_is_the_epochs() -> None:
    lines = [f"Epoch {epoch}/20 batch 400/400 loss 2.{epoch} time {120 + epoch % 3}.5s" for epoch in range(1, 15)]
    assert _read(lines)["step_time_s"].median() == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize(
    "line",
    [
        "Epoch and iter {e} {n} loss 2.5",
        "(epoch, batch): ({e}, {n}) loss 2.5",
        "epoch/step: {e}/{n} loss 2.5",
        "[Epoch-Iter] {e}-{n} loss: 2.5",
        "epoch & iteration = {e}, {n}, loss = 2.5",
    ],
)
def test_an_epoch_and_a_step_of_one_name_are_both(line: str) -> None:
    steps = _read(line.format(e=epoch, n=step) for epoch in range(1, 4) for step in range(0, 40, 10))
    assert list(steps["step"]) == [0, 10, 20, 30] * 3


@pytest.mark.parametrize(
    ("line", "episodes"),
    [
        ("episode {e} steps {n} reward 2.5 loss 0.{e}", True),
        ("Ep: {e} | Steps: {n} | Loss: 0.{e} | time 1.5s", False),
        ("trajectory {e} step={n} loss=0.{e}", False),
    ],
)
def test_the_length_of_an_episode_is_no_step(line: str, episodes: bool) -> None:
    steps = _read(line.format(e=number, n=(number * 7919) % 181 + 20) for number in range(1, 30))
    assert list(steps["step"]) == (list(range(1, 30)) if episodes else [])


@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        pytest.param([(7919 * n) % 997 for n in range(6000)], False, id="numbers that come again by and by"),
        pytest.param([batch for _ in range(2000) for batch in (100, 200, 300)], True, id="three reports of each epoch"),
        pytest.param([(7 * n) % 20 for n in range(6000)], True, id="reports of each seventh of twenty"),
        pytest.param([5 * (n // 16) + n % 2 for n in range(6000)], True, id="processes that are a step apart"),
    ],
)
def test_a_counter_comes_to_the_same_numbers_soon(steps: list[int], counts: bool) -> None:
    found = _read(f"worker: step {step}, loss 2.5, queue 3" for step in steps)
    assert (len(found) > 0) == counts


def test_what_is_told_of_the_same_step_behind_its_loss_is_no_second_report() -> None:
    lines = []
    for number in range(1, 8):
        at, head = 110.0 * number, f"[Round 3][Iteration {400 * number}][Wall Clock {80.0 * number}s]"
        lines += [
            f"{_at(at)} INFO fit - {head} loss is 0.5{number}, cost 80.{number}s",
            f"{_at(at + 20)} INFO fit - {head} hit rate is 0.61",
            f"{_at(at + 29)} INFO fit - {head} throughput is 900 samples/sec",
        ]
    steps = _read(lines)
    assert list(steps["step"]) == [400 * number for number in range(1, 8)]
    # 30 s of each 110 are not the training's: of all the steps in between is what fits, with a pause.
    assert steps["step_time_s"].median() == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize("timed", [[0.21, 0.45, 0.3, 0.62, 0.24, 0.5], [0.55, 0.52, 0.61, 0.57, 0.5, 0.6]])
def test_a_steady_clock_tells_more_than_the_time_of_one_step_in_many(timed: list[float]) -> None:
    lines = [
        f"{_at(40.0 * number + number % 3)} it {100 * number} | loss 2.{number} | batch_time {timed[number % 6]} s"
        for number in range(1, 25)
    ]
    steps = _read(lines)
    assert set(steps["kind"]) == {"line-clock"}
    assert steps["step_time_s"].median() == pytest.approx(0.4, rel=0.05)


def test_the_sum_of_a_cut_off_interval_over_the_steps_of_a_whole_one_is_no_steps_time() -> None:
    steps, lines, seconds, before = [step for step in range(1, 71) if step % 10 == 0 or step % 7 == 0], [], 0.0, 0
    for step in steps:
        seconds += 2.0 * (step - before) + 0.1 * (step % 3)
        lines.append(
            f"[2026/03/04 10:{int(seconds) // 60:02}:{int(seconds) % 60:02}] ppocr INFO: epoch: [{(step + 6) // 7}/50], "
            f"global_step: {step}, lr: 0.0003, loss: {200 / step:.6f}, avg_reader_cost: 0.06 s, "
            f"avg_batch_cost: {2.0 * (step - before) / 10:.5f} s, ips: 32.0 samples/s"
        )
        before = step
    parsed = parse(lines)
    assert list(parsed.steps["step"]) == steps
    assert parsed.steps["step_time_s"].median() == pytest.approx(2.0, rel=0.1)
    assert parsed.timings[0].verdict.cause == "clock"


def test_of_a_rounded_rate_the_clock_tells_more() -> None:
    lines = [f"{_at(70.0 * number)} step {10 * number} loss 2.{number} 0.1 steps/sec" for number in range(1, 9)]
    steps = _read(lines)
    assert steps["step_time_s"].median() == pytest.approx(7.0)
    without = _read(line.partition(" step")[2].join(["step", ""]) for line in lines)
    assert len(without) == 8
    assert without["step_time_s"].isna().all()
    assert (without["throughput"] == 0.1).all()


def test_samples_are_steps_where_the_log_says_how_many_make_one() -> None:
    def line(number: int, key: str, value: float, more: str = "") -> str:
        at = 1_700_000_000_000 + 3_000 * number
        head = f':::MLLOG {{"namespace": "", "time_ms": {at}, "event_type": "POINT_IN_TIME"'
        return f'{head}, "key": "{key}", "value": {value}{more}}}'

    head = line(0, "global_batch_size", 64)
    reports = [
        line(number, "train_loss", 9 - number / 10, f', "metadata": {{"samples_count": {64 * number}}}')
        for number in range(1, 9)
    ]
    assert _read([head, *reports])["step_time_s"].median() == pytest.approx(3.0)
    assert _read(reports)["step_time_s"].isna().all()


def test_an_update_waits_for_its_data_too_where_both_are_told() -> None:
    lines = [f"step:{number}K smpl:{number}M loss:0.5{number} updt_s:0.300 data_s:0.050" for number in range(1, 6)]
    assert list(_read(lines)["step_time_s"]) == [pytest.approx(0.35)] * 5
    # A batch's time has it in it.
    lines = [f"step {number} loss 0.5{number} batch_time 0.300 data_s 0.050" for number in range(1, 6)]
    assert list(_read(lines)["step_time_s"]) == [pytest.approx(0.3)] * 5


def test_updates_of_the_whole_training_come_before_those_since_the_last_report() -> None:
    lines = [
        f"[ time:{21.0 * number:.1f}s exs:{300 * number} ] {{'loss': 4.{number}, 'updates': {20 + number % 2}, "
        f"'total_train_updates': {20 * number}}}"
        for number in range(1, 12)
    ]
    steps = _read(lines)
    assert list(steps["step"]) == [20 * number for number in range(1, 12)]
    assert steps["step_time_s"].median() == pytest.approx(1.05, rel=0.05)


def test_an_epoch_of_rollouts_is_a_step_where_else_the_environment_counts() -> None:
    lines = []
    for number in range(12):
        lines += [
            "-" * 30,
            f"|       Epoch |{number:12} |",
            f"|    AvgReturn |{20.5 + number:12.1f} |",
            f"| TotalEnvInteracts |{5000 * (number + 1):9} |",
            f"|        Time |{12.5 * (number + 1):12.1f} |",
        ]
    steps = _read(lines)
    assert list(steps["step"]) == list(range(12))
    assert steps["step_time_s"].median() == pytest.approx(12.5)


def test_seconds_behind_tps_are_a_step_s() -> None:
    lines = [f"[Epoch: 2] [{20 * number}/900] [tps: 1.4{number}s] loss = 3.{number} (3.5)" for number in range(1, 9)]
    assert _read(lines)["step_time_s"].median() == pytest.approx(1.445)


def test_where_a_logger_was_called_counts_nothing() -> None:
    lines = [
        f"{_at(40.0 * number)} [steps/chain/train.py:535 - INFO] Iter: {number}/40  ({number}% complete)  lr: 0.00{60 - number}"
        for number in range(1, 12)
    ]
    steps = _read(lines)
    assert list(steps["step"]) == list(range(1, 12))
    assert steps["step_time_s"].median() == pytest.approx(40.0)


def test_a_counter_within_epochs_that_are_counted_beside_it_is_not_read_across_them() -> None:
    # Every 100 steps one of 29 an epoch is reported; three epochs lie between the second and the third.
    done = range(100, 3000, 100)
    lines = [
        f"{_at(0.08 * step)} iteration:{1 + step // 29} step:{step % 29}/29, slot loss: 1.{step}, tag loss: 0.1"
        for step in done
    ]
    steps = _read(lines)
    assert len(steps) == len(done)
    assert steps["step_time_s"].isna().all()


def test_a_clock_of_whole_seconds_tells_nothing_of_two() -> None:
    lines = [
        f"{(_BEGIN + timedelta(seconds=int(seconds))).strftime('%Y-%m-%d %H:%M:%S')} step {step} loss 2.5"
        for step, seconds in ((0, 0), (5, 0.9), (10, 1.8))
    ]
    assert _read(lines)["step_time_s"].isna().all()


def test_the_clock_tells_no_step_where_samples_are_counted() -> None:
    steps = _read(f"{_at(2.0 * number)} seen samples: {512 * number} xent: 2.{60 - number}" for number in range(1, 14))
    assert len(steps) == 13
    assert steps["step_time_s"].isna().all()


def test_a_clock_of_the_run_goes_on_where_a_counter_begins_again() -> None:
    lines = [
        f"Epoch {epoch}, Step {step}, total used time {9.0 * epoch + 0.05 * step + 4000:.3f} (s), avg loss so far is 0.{step}"
        for epoch in range(12)
        for step in range(25, 126, 25)
    ]
    assert _read(lines)["step_time_s"].median() == pytest.approx(0.05, rel=0.02)


def test_the_time_that_a_callback_adds_to_a_trainer_s_losses_is_a_step_s() -> None:
    lines = [f"{{'loss': 2.{n}, 'learning_rate': 1e-05, 'epoch': 0.0{n}, 'iter_time': 12.{n}}}" for n in range(1, 9)]
    assert _read(lines)["step_time_s"].median() == pytest.approx(12.45)


def test_words_of_a_batch_over_words_a_second_are_its_time() -> None:
    lines = [f"| epoch 010  {1000 * n} / 8223 loss=1.27 (1.50), wps=500, wpb=250, bsz=32" for n in range(2, 8)]
    assert list(_read(lines)["step_time_s"]) == [0.5] * 6


@pytest.mark.parametrize(
    ("what", "each"), [("total time: {h:.4f}", None), ("total time: {h:.4f}h", 0.9), ("elapsed {s:.1f}", 0.9)]
)
def test_a_total_that_is_no_seconds_tells_no_time_unless_it_says_what_it_is(what: str, each: float | None) -> None:
    line = "step {n} loss 2.5 " + what
    times = _read(line.format(n=step, h=0.9 * step / 3600, s=0.9 * step) for step in range(100, 2000, 100))[
        "step_time_s"
    ]
    assert times.median() == pytest.approx(each, rel=0.02) if each else times.isna().all()


def test_clocks_of_two_programs_in_one_file_are_no_times_of_steps() -> None:
    """Each line stands at the end of its epoch, so that no counter tells which of the two wrote it."""
    lines = [
        f"Epoch: [{epoch:2d}] [499/500] time: {(epoch + 1) * 640.5 + each:.4f}, loss: 0.5"
        for epoch in range(12)
        for each in (0.0, 9000.25)
    ]
    steps = parse(lines).steps
    assert len(steps) == 24
    assert steps["step_time_s"].isna().all()


@pytest.mark.parametrize(
    ("ahead", "each"),
    [
        pytest.param(lambda step: 10 + int(0.7 * step), 0.7, id="seconds since the start"),
        pytest.param(lambda step: 100 + int(2.4 * step), 2.4, id="seconds of slower steps"),
        pytest.param(lambda step: 1000 + step, None, id="a counter"),
        pytest.param(lambda step: 32 * step, None, id="samples"),
        pytest.param(lambda step: 1000 * step + 37 * (step * step % 11), None, id="tokens"),
        pytest.param(lambda step: 50 + step * 7 % 5, None, id="no count"),
    ],
)
def test_whole_seconds_in_front_are_a_clock_where_they_tick(ahead: Callable[[int], int], each: float | None) -> None:
    found = parse([f"{ahead(step)} epoch: 1 step: {step} total_loss: 0.{500 - step}" for step in range(1, 61)]).steps
    assert found["step"].tolist() == list(range(1, 61))
    if each is None:
        assert found["step_time_s"].isna().all()
    else:
        assert found["step_time_s"].median() == pytest.approx(each, rel=0.1)
        assert set(found["kind"][found["step_time_s"].notna()]) == {"cumulative"}


def test_a_pause_is_not_spread_over_the_steps_behind_it_by_a_clock_of_whole_seconds() -> None:
    seconds = [step // 5 + 54 * (step // 100) for step in range(1, 400)]
    found = parse(
        [
            f"Epoch 1.9: train_loss/word=5.13 (steps={step}, words/sec={7000 + step}, time=0-00:{at // 60:02}:{at % 60:02})"
            for step, at in enumerate(seconds, 1)
        ]
    ).steps
    assert found["step"].tolist() == list(range(1, 400))
    assert found["step_time_s"].median() == pytest.approx(0.2, rel=0.05)
    assert (found["step_time_s"] > 1).sum() == 3


def test_the_clock_of_the_lines_tells_more_than_whole_seconds_in_front() -> None:
    lines = [f"{(step * 7) // 10} epoch: 1 step: {step} total_loss: 0.{500 - step}" for step in range(1, 61)]
    page = LogPage.of("s", "algo-1", 1, lines, tuple(1_700_000_000_000 + 680 * step for step in range(1, 61)))
    raw = RawRows()
    raw.add(page)
    found = assemble(raw.steps, raw.events).steps
    assert found["step_time_s"].median() == pytest.approx(0.68)
    assert set(found["kind"][found["step_time_s"].notna()]) == {"line-clock"}


def _metered(slow_every: int) -> list[str]:
    """Ten thousand steps of which one in so many waits for its data; each hundredth prints its own time, and the mean."""
    lines, total = [], 0.0
    for step in range(5_000):
        took = 2.0 if step % slow_every == 1 else 0.25
        total += took
        if step % 100 == 0:
            lines.append(f"Epoch: [0][{step}/5000]\tTime {took:.3f} ({total / (step + 1):.3f})\tLoss 2.5 (2.5)")
    return lines


@pytest.mark.parametrize(
    ("slow_every", "each"), [pytest.param(4, 0.6875, id="unseen"), pytest.param(50, 0.25, id="rare")]
)
def test_a_mean_tells_more_than_the_time_of_one_step_in_many(slow_every: int, each: float) -> None:
    times = _read(_metered(slow_every))["step_time_s"]
    assert times.median() == pytest.approx(each, rel=0.02)


def test_the_tokens_of_a_step_over_those_of_a_second_are_its_time() -> None:
    lines = [f"step {10 * n} | loss 2.5 | 32.0k tok/s" for n in range(1, 12)]
    assert _read(["Tokens / optimizer step : 16,000", *lines])["step_time_s"].tolist() == pytest.approx([0.5] * 11)
    assert _read(lines)["step_time_s"].isna().all()
    told_twice = ["Tokens / optimizer step : 16,000", "Tokens / optimizer step : 32,000"]
    assert _read([*told_twice, *lines])["step_time_s"].isna().all()


def test_minutes_in_front_of_lines_tell_a_mean_over_many() -> None:
    lines = [f"{_at(0.6 * step)[:16]}: Train Epoch 1: {step}/9000 Loss: 2.5" for step in range(0, 9000, 10)]
    assert _read(lines)["step_time_s"].median() == pytest.approx(0.6, rel=0.1)


@pytest.mark.parametrize(
    ("minutes", "each"),
    [
        pytest.param(lambda n: f"{n / 2:.1f}m", 0.3, id="go on"),
        pytest.param(lambda n: f"{20 - n / 2:.1f}m", None, id="left"),
        pytest.param(lambda n: f"{1 + n % 3 / 2:.1f}m", None, id="neither"),
        pytest.param(lambda n: f"{n / 2:.1f} m/s", None, id="no time"),
    ],
)
@pytest.mark.parametrize("line", ["step {n}00 | loss 2.{n} | {minutes}", "[3 {n}00/9000] loss 2.{n} lr 1e-4 {minutes}"])
def test_minutes_without_a_name_are_a_clock_where_they_go_on(
    line: str, minutes: Callable[[int], str], each: float | None
) -> None:
    steps = _read(line.format(n=n, minutes=minutes(n)) for n in range(1, 30))
    times = steps["step_time_s"]
    assert len(times) == 29
    assert times.isna().all() if each is None else times.median() == pytest.approx(each)


def test_a_clock_that_goes_on_over_epochs_tells_nothing_of_their_first_reports() -> None:
    lines, elapsed = [], 0.0
    for epoch in range(4):
        for step in range(1000, 8000, 1000):
            elapsed += 600.0
            lines.append(f"epoch {epoch}, iter {step}, avg. loss 1.{step}, time elapsed {elapsed:.2f} sec")
        elapsed += 150.0  # an evaluation
    times = _read(lines)["step_time_s"]
    assert times.dropna().to_numpy() == pytest.approx(0.6)
    assert times.isna().sum() == 3


def test_the_clock_of_starts_that_ended_soon_is_one_as_that_of_the_others_is() -> None:
    starts = [1, 2, 6, 1, 7, 2, 1, 2, 1, 2, 1, 2]
    lines = [
        f"epoch 0, iter {1000 * turn}, avg. loss 1.{turn}, time elapsed {600.0 * turn + 3 * start:.2f} sec"
        for start, many in enumerate(starts)
        for turn in range(1, many + 1)
    ]
    assert _read(lines)["step_time_s"].max() < 0.65


def test_of_steps_too_quick_for_their_clock_a_pause_is_no_time() -> None:
    clock = [5924] * 4 + [5925] * 5 + [5926] * 4 + [5936]
    lines = [
        line
        for turn, seconds in enumerate(clock)
        for line in (
            "-" * 40,
            "| time/              |          |",
            f"|    fps             | {3373 + turn % 2}     |",
            f"|    iterations      | {19519 + turn}    |",
            f"|    time_elapsed    | {seconds}     |",
            f"|    total_timesteps | {1024 * (19519 + turn)} |",
            "-" * 40,
        )
    ]
    found = _read(lines)
    assert list(found["step"]) == list(range(19519, 19533))
    assert found["step_time_s"].isna().all()


@pytest.mark.parametrize("lost", [0, 17], ids=["each has a rate", "one has none"])
def test_a_rate_of_one_digit_gives_way_to_the_clock_that_bears_it_out(lost: int) -> None:
    # Of 28 s a step 0.03 and 0.04 steps a second are told: 33 s or 25 s.
    seconds = [(26.0, 28.0, 31.0)[n % 3] for n in range(60)]
    lines = [
        f"[{_at(sum(seconds[:n]))}] (step={n:07d}) Train Loss: 0.1{n:03d}, Train Steps/Sec: "
        f"{0.0 if n == lost else 1 / seconds[n - 1]:.2f}"
        for n in range(1, 61)
    ]
    times = _read(lines)["step_time_s"].dropna()
    assert len(times) >= 58
    assert times.median() == 28.0


@pytest.mark.parametrize(
    ("waits", "each_s"), [(lambda n: n % 2, 1.1), (lambda n: True, 19.6)], ids=["by turns", "always"]
)
def test_times_of_steps_that_wait_for_data_by_turns_give_way_to_the_clock(
    waits: Callable[[int], bool], each_s: float
) -> None:
    """Eight workers load for 20 steps between two reports: what one step took says nothing of the others."""
    gaps_s = [20.0 * each_s * (1 + n % 3 / 9) for n in range(31)]
    lines = [
        f"[{_at(sum(gaps_s[:n]))}] iter {20 * n}/900 loss: 3.{n:03d} time: {19.6 + n % 7 / 10 if waits(n) else 0.467}"
        for n in range(1, 31)
    ]
    times = _read(lines)["step_time_s"]
    assert times.median() == pytest.approx(each_s, rel=0.15)
