"""Lines that tell of epochs and of no step: none of them is a report of a step, and the log is said to tell epochs only."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from monitor.parse import marks
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows
from tests.parse.read import pages, parse

TIMES = 14


def _of(*templates: str) -> list[str]:
    return [
        template.format(
            e=epoch, e4=f"{epoch:04}", e100=100 * epoch, loss=f"{2 / epoch + 0.11:.4f}", val=f"{3 / epoch:.4f}"
        )
        for epoch in range(1, TIMES + 1)
        for template in templates
    ]


def _bar(count: str, post: str, before: str = "") -> str:
    return f"{before} 50%|█████     | {count}/20 [{{e}}:00<20:00, 60.10s/it{post}]"


TOLD = {
    "name and number": _of("Epoch {e}/14, loss: {loss}, val_loss: {val}"),
    "in brackets": _of("Epoch [{e}/14] Loss: {loss} Acc: 0.{e4}"),
    "with its seconds": _of("epoch {e} loss {loss} acc 0.9{e} took 12.{e}s"),
    "every hundredth": _of("Epoch {e100}, Loss: {loss}"),
    "of a whole graph": _of("Epoch: {e4} loss_train: {loss} acc_train: 0.9{e} loss_val: {val} time: 0.0031s"),
    "stamped": _of("Epoch {e} - avg_train_loss: {loss} - time: 33s"),
    "the Keras of old": _of("Epoch {e}/14", " - 12s - loss: {loss} - acc: 0.81 - val_loss: {val}"),
    "JSON": _of('{{"epoch": {e}, "train_loss": {loss}, "lr": 0.001, "time": 33.1}}'),
    "commas": ["epoch,train_loss,val_loss,lr", *_of("{e},{loss},{val},0.001")],
    "a frame": ["| Epoch | Train Loss | Time |", *_of("| {e} | {loss} | 12.{e} |")],
    "columns": ["epoch     train_loss  valid_loss  time", *_of("{e}         {loss}    {val}    00:1{e}")],
    "short": _of("ep {e} | loss {loss} | lr 1e-3 | 10.2s"),
    "a stranger's": _of("EPOCH {e} ~ mean crit {loss} ~ lrate 1e-3"),
    "a bar with its validation": _of(_bar("{e}", ", train_loss={loss}, val_loss={val}")),
    "a bar that says training": _of(_bar("{e}", ", loss={loss}, val loss={val}", "Training model: ")),
    "a bar and its validation": _of(_bar("{e}", ""), "[{e}/20] train_loss {loss}, test_acc {val}"),
    "a bar and its lines": _of(_bar("{e}", ""), "Epoch {e}: train_loss={loss} val_loss={val}"),
}


@pytest.mark.parametrize("how", TOLD)
def test_an_epoch_is_no_step(how: str) -> None:
    assert parse(TOLD[how]).steps.empty


@pytest.mark.parametrize("how", ["name and number", "with its seconds", "every hundredth", "a bar and its lines"])
def test_that_a_log_reports_epochs_only_is_told_once(how: str) -> None:
    events = parse(TOLD[how]).events
    assert list(events[events["kind"] == "epochs-only"]["text"]) == [str(TIMES)]


def test_nothing_is_said_of_epochs_where_steps_are_reported() -> None:
    lines = [*TOLD["name and number"], *(f"step {step} loss 2.{step}" for step in range(10))]
    parsed = parse(lines)
    assert len(parsed.steps) == 10
    assert "epochs-only" not in set(parsed.events["kind"])


@pytest.mark.parametrize(
    "counter", ["round {e}", "[{e}]\ttrain-rmse:0.{e4}\teval-rmse:0.{e4} round", "boosting round {e} of 99"]
)
def test_rounds_are_steps(counter: str) -> None:
    assert len(parse(_of(counter + " train loss {loss}")).steps) == TIMES


def test_a_bar_that_shows_the_newest_validation_beside_its_steps_counts_steps() -> None:
    lines = [_bar("{e}", f", loss=2.{step}, val_loss=0.4{step // 10}").format(e=step) for step in range(1, 20)]
    assert len(parse(lines).steps) == 19


@pytest.mark.parametrize(
    "lines",
    [
        _of("Epoch {e}/14", "250/250 - 9s - 36ms/step - loss: {loss} - val_loss: {val}"),
        _of("Epoch {e}/14", "250/250 ━━━━━━━━━━━━━━━━━━━━ 9s 36ms/step - accuracy: 0.9 - loss: {loss}"),
        _of("250/250 [==============================] - 9s 36ms/step - loss: {loss}"),
        _of("epoch: {e} step: 250, loss is {loss}", "Epoch time: 9000.0, per step time: 36.0"),
    ],
)
def test_of_reports_at_the_end_of_each_epoch_the_steps_so_far_are_told(lines: list[str]) -> None:
    steps = parse(lines).steps
    assert list(steps["step"]) == [250 * epoch for epoch in range(1, TIMES + 1)]
    assert steps["step_time_s"].to_numpy() == pytest.approx([0.036] * TIMES)


def test_the_clock_of_lines_that_may_count_samples_tells_no_time() -> None:
    lines = _of("Epoch {e}/14", "250/250 - 9s - loss: {loss} - val_loss: {val}")
    page = pages(lines)[0]
    raw = RawRows()
    raw.add(replace(page, times_ms=tuple(1_700_000_000_000 + 9_000 * turn for turn in range(page.count))))
    steps = assemble(raw.steps, raw.events, strangers=raw.strangers).steps
    assert list(steps["step"]) == list(range(1, TIMES + 1))
    assert steps["step_time_s"].isna().all()


@pytest.mark.parametrize("text", ["train_loss val ", "%| val ", "val_", "%|", "train loss ", "Epoch 1 loss "])
def test_long_lines_take_no_time(text: str) -> None:
    start = time.process_time()
    for line in (text * 3000, text * 3000 + "val loss"):
        list(marks.read(line))
    assert time.process_time() - start < 1
