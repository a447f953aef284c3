"""A machine with nothing of its user on it, and an account of one job; for some its review is made already."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from benchmarks.hostile.account import NAME, START
from monitor.model import Report
from monitor.review.reviewer import Reviewer
from tests.attack.calls import STEPS, Account, connect, own_machine


@cache
def _account() -> Account:
    return Account(STEPS, {})


@cache
def reviewed() -> Report:
    return Reviewer(_account(), NAME).review(START + timedelta(hours=1))


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's machine with nothing on it, in a folder of its own, and an account with one job."""
    own_machine(monkeypatch, tmp_path)
    connect(monkeypatch, _account())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def machine(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As that, where any job is reviewed already."""
    report = reviewed()
    monkeypatch.setattr(Reviewer, "review", lambda reviewer, *told: report)
    return fresh
