"""The training loss is that of one writer, its bad reports are known, and nothing of an evaluation is among it."""

from __future__ import annotations

import math

import pytest

from monitor.analyze.journal import losses
from monitor.model import LogPage
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows

START_MS = 1_772_611_200_000


def _parsed(lines: list[str], nodes: int = 1, numbered: bool = True) -> Parsed:
    raw = RawRows()
    for node in range(1, nodes + 1):
        times = tuple(START_MS + 1000 * place for place in range(len(lines)))
        raw.add(LogPage.of(f"job/algo-{node}-1", f"algo-{node}", 1, lines, times))
    numbering = {} if numbered else dict.fromkeys(raw.streams)
    return assemble(raw.steps, raw.events, numbering)


STEPS = [f"step={step} step_time_s=1.0 loss={10 - step} lr={step}e-05" for step in range(1, 7)]


@pytest.mark.parametrize("nodes", [1, 3])
def test_one_writer_leads_the_first_of_equals(nodes: int) -> None:
    parsed = _parsed(STEPS, nodes)
    found = losses(parsed.steps, parsed.events)
    assert found is not None
    assert (found.node, found.writers) == ("algo-1", nodes)
    assert found.rows["loss"].tolist() == [9, 8, 7, 6, 5, 4]
    assert found.rows["learning_rate"].tolist() == pytest.approx([step * 1e-5 for step in range(1, 7)])
    assert not found.rows["bad"].any()


@pytest.mark.parametrize("numbered", [True, False], ids=["head first", "newest first"])
@pytest.mark.parametrize("bad", ["nan", "NaN", "inf", "-inf"])
def test_what_is_no_number_is_marked_and_not_drawn(bad: str, numbered: bool) -> None:
    lines = [*STEPS, f"step=7 step_time_s=1.0 loss={bad}", "step=8 step_time_s=1.0 loss=3.5"]
    parsed = _parsed(lines, numbered=numbered)
    found = losses(parsed.steps, parsed.events)
    assert found is not None
    assert found.rows.loc[found.rows["bad"], "step"].tolist() == [7]
    assert math.isnan(found.rows["loss"][6])
    assert found.rows["loss"].iloc[-1] == 3.5


def test_a_loss_of_an_evaluation_is_none_of_the_training() -> None:
    parsed = _parsed([*STEPS, "eval_loss=0.1 step=6", "validation loss: 0.2", "Epoch 1 val_loss=0.3"])
    found = losses(parsed.steps, parsed.events)
    assert found is not None
    assert found.rows["loss"].min() == 4


def test_a_log_without_losses_has_none() -> None:
    parsed = _parsed([f"step={step} step_time_s=1.0" for step in range(1, 5)])
    assert losses(parsed.steps, parsed.events) is None
