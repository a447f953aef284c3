"""The lines of a trainer that nobody knows are learned; servers, builds, databases and evaluations teach nothing."""

from __future__ import annotations

import pytest

from tests.parse.made_up import lines_of, sections
from tests.parse.read import parse

OTHER_WORK = sections("other_work.txt")


def test_there_are_many_kinds_of_other_work() -> None:
    assert len(OTHER_WORK) >= 100


@pytest.mark.parametrize("times", [12, 60, 400])
@pytest.mark.parametrize("kind", OTHER_WORK)
def test_other_work_is_no_training(kind: str, times: int) -> None:
    parsed = parse(list(lines_of(OTHER_WORK[kind], times)))
    assert parsed.learned == ()
