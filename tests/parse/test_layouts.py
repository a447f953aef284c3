"""The same report is read however it is laid out: on one line, in a table, in a block of lines, and whatever its numbers are
called."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from tests.parse.read import parse

Row = dict[str, float]
REPORTS, EVERY, STEP_TIME_S = 30, 5, 0.52


def _cells(rows: Sequence[Row]) -> list[list[str]]:
    return [list(rows[0]), *(list(map(str, row.values())) for row in rows)]


def _aligned(rows: Sequence[Row]) -> list[str]:
    return [" ".join(f"{cell:>24}" for cell in cells) for cells in _cells(rows)]


def _framed(rows: Sequence[Row]) -> list[str]:
    head, *body = (f"| {' | '.join(f'{cell:<20}' for cell in cells)} |" for cells in _cells(rows))
    return [head, "|" + "|".join("-" * 22 for _ in rows[0]) + "|", *body]


def _separated(sign: str) -> Callable[[Sequence[Row]], list[str]]:
    return lambda rows: [sign.join(cells) for cells in _cells(rows)]


def _lines(form: str, between: str, head: str = "") -> Callable[[Sequence[Row]], list[str]]:
    def laid_out(rows: Sequence[Row]) -> list[str]:
        texts = (between.join(form.format(name=name, value=value) for name, value in row.items()) for row in rows)
        return [line for text in texts for line in f"{head}{text}".splitlines()]

    return laid_out


LAYOUTS: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "commas": _separated(","),
    "tabs": _separated("\t"),
    "aligned": _aligned,
    "framed": _framed,
    "JSON": lambda rows: [json.dumps(row) for row in rows],
    "a dict": lambda rows: [str(row) for row in rows],
    "equals": _lines("{name}={value}", " "),
    "bars": _lines("{name}: {value}", " | "),
    "YAML": _lines("{name}: {value}", "\n", "---\n"),
    "under a rule": _lines("{name:<24}: {value}", "\n", "-" * 40 + "\n"),
    "under a head": _lines("  {name} = {value}", "\n", "=== Iteration report ===\n"),
}
COUNTS = [
    "step",
    "Step",
    "global_step",
    "n_iter",
    "iteration",
    "train/global_step",
    "train_step",
    "batch",
    "steps",
    "it",
]
_SECONDS = ("step_time", "time_per_step", "sec_per_step", "iter_time", "step_time_s", "train/step_time", "sec/iter")
_RATES = ("it/s", "steps_per_sec", "steps_per_second", "iter/s", "train/steps_per_second", "steps/sec")
TIMES = {
    **dict.fromkeys(_SECONDS, STEP_TIME_S),
    **dict.fromkeys(("step_time_ms", "ms_per_step", "ms/step", "iter_ms"), 1000 * STEP_TIME_S),
    **dict.fromkeys(_RATES, 1 / STEP_TIME_S),
}
LOSSES = ["loss", "train_loss", "train/loss", "loss_total", "total_loss", "mean_loss", "loss/train"]


def _rows(count: str, loss: str, time: str) -> list[Row]:
    return [
        {
            "epoch": 0,
            count: EVERY * n,
            loss: round(3 / n, 4),
            time: round(TIMES[time] * (1 + n % 3 / 100), 4),
            "lr": 1e-4,
        }
        for n in range(1, REPORTS + 1)
    ]


def _held(printed: Sequence[str]) -> None:
    steps = parse(["Loading the model", *printed, "Done"]).steps
    assert steps["step"].tolist() == [EVERY * n for n in range(1, REPORTS + 1)]
    assert steps["loss"].tolist() == pytest.approx([3 / n for n in range(1, REPORTS + 1)], abs=1e-4)
    assert steps["step_time_s"].median() == pytest.approx(STEP_TIME_S, rel=0.03)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("time", TIMES)
def test_a_time_or_a_rate_by_any_name_is_read(layout: str, time: str) -> None:
    _held(LAYOUTS[layout](_rows("step", "loss", time)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", COUNTS)
def test_a_count_by_any_name_is_the_step(layout: str, count: str) -> None:
    _held(LAYOUTS[layout](_rows(count, "loss", "step_time")))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_by_any_name_is_the_loss(layout: str, loss: str) -> None:
    _held(LAYOUTS[layout](_rows("iter", loss, "steps_per_sec")))


@pytest.mark.parametrize("head", ["epoch 0, step {n}", "train/epoch 0, n_iter {n}", "Iteration {n}"])
def test_a_head_and_the_figures_below_it_are_one_report(head: str) -> None:
    below = "  loss: {loss}, steps_per_second: {steps_per_second}, tokens: {tokens}"
    lines = []
    for row in _rows("step", "loss", "steps_per_second"):
        lines += [head.format(n=row["step"]), below.format(**row, tokens=4096 * row["step"])]
    _held(lines)
