"""What of a log is counted and not kept is said where it is a loss."""

from __future__ import annotations

import pytest

from monitor.parse.recognise import RawRows
from monitor.review.reviewer import left_out
from tests.parse.read import pages


def _raw(lines: list[str]) -> RawRows:
    raw = RawRows()
    for page in pages(lines):
        raw.add(page)
    return raw


@pytest.mark.parametrize(
    "line", ["     | Epoch {n}/200 - Actor loss : -0.1554, Critic loss : 0.4855", "train loss {n}.5 took 3.25 s"]
)
def test_lines_of_epochs_that_are_not_kept_are_no_loss(line: str) -> None:
    assert left_out(_raw([line.format(n=at % 200) for at in range(20_000)])) == ()


def test_of_errors_told_again_and_again_it_is_said_how_many_there_were() -> None:
    (gap,) = left_out(_raw([f"step {at}: loss is nan" for at in range(20_000)]))
    assert "log lines (nan) are counted and not kept" in gap.why
