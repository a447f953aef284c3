"""A loss is lost when it is no finite number three times in a row, in whatever form the trainer prints it."""

from __future__ import annotations

import pytest

from monitor.analyze.journal import NanLoss, nan_loss
from tests.parse.read import parse


def _found(lines: list[str]) -> NanLoss | None:
    parsed = parse(lines)
    return nan_loss(parsed.steps, parsed.events)


@pytest.mark.parametrize(
    "form",
    [
        "step={n} step_time_s=0.5 loss={loss}",
        '{{"step": {n}, "loss": {loss}, "step_time": 0.5}}',
        "iter {n}: loss {loss}, time 27.75ms, mfu 1.67%",
        " iteration {n}/ 90 | elapsed time per iteration (ms): 31.3 | lm loss: {loss} | number of nan iterations: 0 |",
        "{{'loss': {loss}, 'grad_norm': 1.0, 'learning_rate': 2e-06, 'epoch': 0.{n}}}",
        "step: {n}  loss: {loss}  memory: 68.57GiB(86.69%)  tps: 6,785  mfu: 39.73%",
        " 1{n}%|#         | 1{n}/100 [00:05<00:40,  2.2it/s, loss={loss}]",
    ],
)
@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_three_in_a_row(form: str, bad: str) -> None:
    losses = ["2.5", "2.4", *[bad] * 5]
    found = _found([form.format(n=n, loss=loss) for n, loss in enumerate(losses, start=1)])
    assert found is not None
    assert (found.reports, found.recovered) == (5, False)
    assert (
        _found([form.format(n=n, loss=loss) for n, loss in enumerate(["2.5", bad, bad, "2.4", bad], start=1)]) is None
    )


def test_where_it_began_and_whether_it_came_back() -> None:
    lines = [f"step={n} step_time_s=0.5 loss={'nan' if 40 <= n < 50 else 2.0}" for n in range(1, 60)]
    found = _found(lines)
    assert found is not None
    assert (found.step, found.last_good, found.reports, found.recovered) == (40, 39, 10, True)


def test_of_several_ranks_each_has_its_own_row() -> None:
    lines = [
        f"rank={rank} step={n} loss={'nan' if rank == 3 and n > 5 else 2.0}" for n in range(1, 12) for rank in (0, 3)
    ]
    found = _found(lines)
    assert found is not None
    assert (found.rank, found.step) == (3, 6)


@pytest.mark.parametrize(
    "line",
    [
        "eval step={n} val_loss=nan",
        "step={n} loss=2.0 grad_norm=nan",
        "validation loss at iteration {n} | lm loss: nan",
    ],
)
def test_what_is_no_loss_of_a_step(line: str) -> None:
    assert _found([line.format(n=n) for n in range(1, 12)]) is None
