"""Of several progress bars the training's are the steps, wherever a log ends: loops are made up, and cut at any redraw."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parse.read import parse

Redraw = tuple[bool, str]
"""Whether it is the training's, and the text."""


def _bar(step: int, total: int, elapsed_s: float, each_s: float) -> str:
    rate = f"{each_s:.2f}s/it" if each_s >= 1 else f"{1 / each_s:.2f}it/s"
    minutes, seconds = divmod(int(elapsed_s), 60)
    return f"{100 * step // total:3d}%|##        | {step}/{total} [{minutes:02d}:{seconds:02d}<00:10, {rate}]"


def _run(total: int, each_s: float, is_training: bool, until: int | None = None) -> list[Redraw]:
    steps = range(1, (total if until is None else until) + 1)
    return [(is_training, _bar(step, total, step * each_s, each_s)) for step in steps]


def _nested(steps: int, every: int, evaluation: int, each_s: float) -> list[Redraw]:
    """A trainer's bar that stands still while an evaluation's runs, and at the end of all another evaluation."""
    out: list[Redraw] = []
    for step in range(1, steps + 1):
        out.append((True, _bar(step, steps, step * each_s, each_s)))
        if step % every == 0:
            out += _run(evaluation, each_s / 20, False)
    return out + _run(evaluation, each_s / 20, False)


def _alternating(epochs: int, steps: int, validation: int, each_s: float) -> list[Redraw]:
    """A bar an epoch, each with two validation sets behind it."""
    out: list[Redraw] = []
    for _ in range(epochs):
        out += _run(steps, each_s, True)
        out += _run(validation, each_s * steps / validation / 5, False) * 2
    return out


# Bars of one total and no description cannot be told apart.
loops = st.one_of(
    st.builds(_nested, st.integers(8, 40), st.integers(3, 9), st.integers(41, 90), st.sampled_from([1.5, 6.0, 20.0])),
    st.builds(_alternating, st.integers(2, 4), st.integers(8, 25), st.integers(30, 90), st.sampled_from([1.5, 6.0])),
)


@settings(deadline=None, max_examples=60)
@given(loops, st.floats(0.3, 1.0))
def test_steps_are_the_trainings_wherever_the_log_ends(loop: list[Redraw], share: float) -> None:
    # At least the first run of the training and all that it held.
    cut = max(int(share * len(loop)), next(n for n, (trains, _) in enumerate(loop) if not trains) + 1)
    shown = loop[:cut]
    found = parse(["Loading: 100%|##| 3/3 [00:00<00:00, 40.1it/s]", "\r".join(text for _, text in shown)]).steps
    expected = sorted(float(text.rpartition(", ")[2].partition("s/it")[0]) for trains, text in shown if trains)
    assert sorted(found["step_time_s"]) == pytest.approx(expected)
