"""Dialects that nobody prints yet: a line made of a head, a counter, names, separators and units says what it was made of."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from monitor.parse.formats import jsonlines, keyvalue
from monitor.parse.rows import Reading


class Timed(NamedTuple):
    """How a time is said: a template for the number, how many of its units a second has, and of how many steps it is."""

    form: str
    per_second: float = 1.0
    steps: int = 1
    is_rate: bool = False


_HEADS = st.sampled_from(
    [
        *("", "[Train] ", "INFO:root:", "2026-03-04 08:12:21,100 - INFO - ", "[2026-03-04 08:12:21] ", "[rank3] "),
        *("2026-03-04 08:12:21.100 | INFO     | __main__:log:20 - ", "03/04/2026 08:12:21 - INFO - __main__ - "),
        *("I0304 08:12:21.123456 140 train.py:33] ", "(RayTrainWorker pid=4312, ip=10.0.0.1) ", "[INFO] ", "train | "),
        *("<6>", "1772611940.5 ", "[ Wed Mar  4 08:12:21 2026 ] ", "[0304 08:12:21 @base.py:280] ", ">> ", "  "),
        *("(rank 3) ", "[Rank 3] ", "rank=3 ", "train.py:120: ", "level=info ts=2026-03-04T08:12:21Z "),
    ]
)
#: Of the run, and of an epoch.
_COUNTERS = st.sampled_from(
    [
        *(
            "step {n}",
            "step={n}",
            "Step: {n}",
            "[step {n}]",
            "STEP {n}",
            "step #{n}",
            "global_step: {n}",
            "step {n}/{all}",
        ),
        *("iter {n}", "iter: {n}/{all}", "Iteration {n} of {all}", "[iter {n}/{all}]", "it={n}", "itr {n}", "ITER {n}"),
        *("update {n}", "num_updates={n}", "train_step {n}", "step {n:,}", "Step [{n}/{all}]", "(step={n:07d})"),
    ]
)
_OF_EPOCHS = st.sampled_from(
    [
        *(
            "Epoch {e} Step {n}/{all}",
            "Epoch [{e}/20], Step [{n}/{all}]",
            "Epoch:[{e}/20]({n}/{all})",
            "epoch {e} iter {n}",
        ),
        *("Epoch: [{e}][{n}/{all}]", "epoch={e} batch={n}", "Epoch {e}/20 Batch {n}/{all}", "[epoch {e}, {n}/{all}]"),
        *("Epoch {e} ({n}/{all})", "ep {e} | {n}/{all} |", "(epoch: {e}, iters: {n})", "[Epoch {e}][Iter {n}/{all}]"),
    ]
)
_TIMES = st.sampled_from(
    [
        *(
            Timed(form)
            for form in ("step_time={}", "step_time_s={}", "time/step: {}", "t_iter {}", "{}s/it", "{} s/step")
        ),
        *(
            Timed(form)
            for form in ("batch_time: {} (9.9)", "{} sec/batch", "dt={}s", "step took {}s", "iter_time {} s")
        ),
        *(
            Timed(form)
            for form in ("timing/step:{}", "perf/step_time_s={}", "t_step[s] {}", "updt_s:{}", "sec_per_step {}")
        ),
        *(Timed(form) for form in ("({} sec/step)", "[{} s/iter]", "time_this_iter_s={}", "seconds per step {}")),
        *(Timed(form, 1e3) for form in ("step_ms={}", "btime(ms) {}", "{}ms/step", "{} ms/it", "iter_time_ms: {}")),
        *(
            Timed(form, 1e3)
            for form in ("dt={}ms", "step time in ms: {}", "t_iter(ms)={}", "ms/batch {}", "iter {} ms")
        ),
        *(Timed(form, 1e6) for form in ("step_time={}us", "{}us/step")),
        *(Timed(form, steps=100) for form in ("{} s / 100 iters", "100 iterations took {} s", "Time(100 iters): {}s")),
        *(
            Timed(form, steps=100)
            for form in ("time_per_100_steps={}", "({}s for 100 steps)", "last 100 steps took {}s")
        ),
        *(Timed(form, steps=50) for form in ("elapsed for last 50 steps: {} s", "50 iters in {}s", "{}s/50it")),
        *(Timed(form, 1e3, steps=10) for form in ("{} ms / 10 batches", "ms_per_10_iters={}", "10 steps: {} ms")),
        *(
            Timed(form, is_rate=True)
            for form in ("{} it/s", "steps_per_sec={}", "{} steps/s", "iters/sec: {}", "ups={}")
        ),
    ]
)
_LOSSES = st.sampled_from(
    [
        "loss {}",
        "loss={}",
        "Loss: {}",
        "train_loss={}",
        "total_loss: {}",
        "loss = {}",
        "train/loss {}",
        "Training loss: {}",
    ]
)
_OTHERS = st.sampled_from(
    [
        *("lr 1e-4", "lr=0.0003", "data_time=0.013", "eta 1:02:03", "grad_norm: 0.71", "acc 0.93", "epoch_time=99.5"),
        *("mem 12.5GB", "aux_loss 0.013", "tokens 524288", "fwd_ms=12.5", "eta: 1 day, 2:03:04", "scale 65536.0"),
    ]
)
_SEPARATORS = st.sampled_from([" ", "  ", ", ", " | ", "; ", " - ", "\t", " || "])


def _number(value: float) -> str:
    return f"{value:.6f}"


@st.composite
def _lines(draw: st.DrawFn) -> tuple[str, str, int, int | None, float, float]:
    """(head, the rest of the line, step, epoch, seconds of a step, loss)."""
    step, epoch = draw(st.integers(1, 999_999)), None
    counter = draw(_COUNTERS | _OF_EPOCHS)
    if "{e}" in counter:
        epoch = draw(st.integers(1, 19))
    head = counter.format(n=step, e=epoch, all=draw(st.integers(step, 10**6)))
    timed, seconds = draw(_TIMES), draw(st.integers(100, 10**7)) / 1e5
    shown = 1 / seconds if timed.is_rate else seconds * timed.per_second * timed.steps
    loss = draw(st.integers(1, 99_999)) / 1e4
    told = [
        timed.form.format(_number(shown)),
        draw(_LOSSES).format(_number(loss)),
        *draw(st.lists(_OTHERS, max_size=3)),
    ]
    separator = draw(_SEPARATORS)
    return draw(_HEADS), separator.join([head, *draw(st.permutations(told))]), step, epoch, seconds, loss


def one(line: str) -> Reading:
    found = list(jsonlines.read(line)) or list(keyvalue.read(line))
    assert len(found) == 1, found
    return found[0]


@settings(max_examples=600, deadline=None)
@given(_lines())
def test_a_made_up_line_says_what_it_was_made_of(made: tuple[str, str, int, int | None, float, float]) -> None:
    head, line, step, epoch, seconds, loss = made
    # Behind another number, with nothing but a blank between, "seconds" is taken for its unit.
    assume(re.search(r"\d\s+seconds per step", line) is None)
    found = one(head + line)
    assert (found.step, found.epoch) == (step, epoch)
    assert found.loss == pytest.approx(loss)
    assert found.time_s == pytest.approx(seconds, rel=1e-3, abs=1e-6)
    assert found.meaning in {"step", "interval"}
    assert found.rank in {None, 3}


_KEYS = st.sampled_from(["step", "global_step", "train/step", "iteration", "iter", "trainer/global_step", "train_step"])
_TIME_KEYS = st.sampled_from(
    [
        *(Timed(key) for key in ("step_time", "timing/step", "time/iteration", "perf/step_time_s", "train/time/step")),
        *(
            Timed(key)
            for key in ("time_per_iter", "secs_per_iter", "s/it", "batch_time", "time_this_iter_s", "t_step[s]")
        ),
        *(
            Timed(key, 1e3)
            for key in ("step_ms", "timer/iter_ms", "btime(ms)", "ms_per_step", "timing_ms/step", "ms/it")
        ),
        *(Timed(key, steps=100) for key in ("time_per_100_steps", "time_100_iters", "seconds/100it")),
        *(
            Timed(key, is_rate=True)
            for key in ("it/s", "steps_per_second", "train/iters_per_sec", "perf/batches_per_s")
        ),
    ]
)
_LOSS_KEYS = st.sampled_from(["loss", "train/loss", "total_loss", "loss/total", "train/losses/total", "lm loss"])


@settings(max_examples=200, deadline=None)
@given(_KEYS, _TIME_KEYS, _LOSS_KEYS, st.integers(0, 10**9), st.integers(100, 10**7), st.randoms())
def test_a_made_up_object_does(key: str, timed: Timed, loss_key: str, step: int, time: int, dice) -> None:  # type: ignore[no-untyped-def]
    seconds = time / 1e5
    shown = 1 / seconds if timed.is_rate else seconds * timed.per_second * timed.steps
    fields = [(key, step), (timed.form, shown), (loss_key, 2.5), ("data_time", 0.01), ("lr", 1e-4), ("aux_loss", 0.1)]
    dice.shuffle(fields)
    found = one(json.dumps(dict(fields)))
    assert (found.step, found.loss) == (step, 2.5)
    assert found.time_s == pytest.approx(seconds)


_HELD_OUT = ["val {}", "[Eval] {}", "CV {}", "Validation: {}", "dev | {}", "Test: {}", "evaluating {}", "[valid] {}"]


@settings(max_examples=200, deadline=None)
@given(_lines(), st.sampled_from(_HELD_OUT))
def test_the_same_of_a_validation_says_nothing(made: tuple[str, str, int, int | None, float, float], form: str) -> None:
    assert not list(keyvalue.read(made[0] + form.format(made[1])))
