"""One checkpoint is one, however many lines tell of it; a save that never ended is none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.analyze.checkpoints_seen import checkpoints_seen, last_checkpoint
from monitor.analyze.journal import journal
from monitor.model import events_frame, steps_frame
from tests.analyze.test_journal import NONE, told, with_pause
from tests.builders import START, steps
from tests.parse.read import parse

_STEPS = [f"step={number} step_time_s=0.5 loss=2.{number}" for number in range(1, 61)]
BEGIN, END = (
    "Saving model checkpoint to /opt/ml/checkpoints/checkpoint-{}",
    "Model weights saved in /x/checkpoint-{}/m.pt",
)


def _log(*told: tuple[int, str]) -> list[str]:
    """Sixty steps, with lines after some of them."""
    out = list(_STEPS)
    for step, line in reversed(told):
        out.insert(step, line)
    return out


@pytest.mark.parametrize(
    ("lines", "saved"),
    [
        (_log(), []),
        (_log((20, BEGIN.format(20)), (40, BEGIN.format(40))), [20, 40]),
        (_log((20, BEGIN.format(20)), (20, END.format(20)), (40, BEGIN.format(40)), (40, END.format(40))), [20, 40]),
        # Its end is missing, and other saves had one.
        (_log((20, BEGIN.format(20)), (20, END.format(20)), (40, BEGIN.format(40))), [20]),
        # Written while the steps go on.
        (_log((20, BEGIN.format(20)), (25, END.format(20)), (40, BEGIN.format(40)), (46, END.format(40))), [20, 40]),
        (_log((20, "Saved checkpoint"), (20, "Saved checkpoint"), (40, "Saved checkpoint")), [20, 40]),
        # A number that the training had not reached is something else's.
        (_log((20, "Saving checkpoint to /fsx/run-step-90000")), [20]),
    ],
)
def test_lines_of_one_checkpoint_are_one(lines: list[str], saved: list[int]) -> None:
    parsed = parse(lines)
    found = checkpoints_seen(parsed.events, journal(parsed.steps, parsed.events))
    assert [one.step for one in found] == saved
    last = last_checkpoint(parsed.events, journal(parsed.steps, parsed.events))
    assert (last.step if last else None) == (saved[-1] if saved else None)


def test_a_checkpoint_is_as_old_as_its_last_line() -> None:
    rows = with_pause(20, 30.0)
    begun_s = (rows.loc[rows["step"] == 20, "timestamp"].iloc[0] - START).total_seconds()
    events = events_frame([told("checkpoint-begin", begun_s + 0.1, 61), told("checkpoint-end", begun_s + 30, 62)])
    found = last_checkpoint(events, journal(rows, events))
    assert found is not None
    assert found.step == 20
    assert found.at is not None
    assert abs(found.at - (START + timedelta(seconds=begun_s + 30))) < timedelta(milliseconds=2)


def test_lines_of_another_stream_are_placed_by_time() -> None:
    rows = steps(["algo-1"], 50, 2.0)
    events = events_frame(
        [told("checkpoint-end", 60.0, 5, "job/algo-2-1"), told("checkpoint-end", 60.1, 6, "job/algo-3-1")]
    )
    found = checkpoints_seen(events, journal(rows, events))
    assert [one.step for one in found] == [
        int(rows.loc[rows["timestamp"] <= START + timedelta(seconds=60), "step"].max())
    ]


def test_without_steps_the_lines_alone_tell() -> None:
    events = events_frame(
        [told("checkpoint-begin", 60.0, 61), told("checkpoint-end", 65.0, 62), told("checkpoint-end", 600.0, 90)]
    )
    found = checkpoints_seen(events, journal(steps_frame(), events))
    assert [one.step for one in found] == [None]
    assert found[-1].at == START + timedelta(seconds=600)
    assert last_checkpoint(NONE, journal(steps_frame(), NONE)) is None
