"""Work at risk is what was done since the last checkpoint, and no more than that."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.analyze.checkpoints import Save, at_risk
from monitor.analyze.journal import journal
from monitor.analyze.lost import Loss, LostWork
from tests.analyze.test_journal import NONE
from tests.builders import START, steps

BOOK = journal(steps(["algo-1"], 500, 2.0), NONE)
NOW = START + timedelta(minutes=20)
LAST = Save(START + timedelta(minutes=10), 300)


def test_the_time_since_the_checkpoint_and_its_price() -> None:
    found = at_risk((LAST,), BOOK, NOW, 60.0)
    assert found is not None
    assert (found.checkpoint_at, found.checkpoint_step, found.steps) == (LAST.at, 300, 200)
    assert (found.seconds, found.usd) == (600.0, pytest.approx(10.0))
    free = at_risk((LAST,), BOOK, NOW, None)
    assert free is not None
    assert free.usd is None


def test_what_was_lost_already_is_not_at_risk() -> None:
    again = START + timedelta(minutes=15)
    loss = Loss("algo-1", 300, 420, 240.0, LAST.at, START + timedelta(minutes=14), again)
    found = at_risk((LAST,), BOOK, NOW, 60.0, LostWork((loss,), frozenset()))
    assert found is not None
    assert found.seconds == 300.0


def test_without_a_checkpoint_nothing_is_said() -> None:
    assert at_risk((), BOOK, NOW, 60.0) is None
