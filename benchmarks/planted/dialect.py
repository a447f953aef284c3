"""What must a framework's way of printing be able to say?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from benchmarks.planted.plan import Plan
from benchmarks.planted.reports import Moment, Report

Said = tuple[float, str]
"""Seconds after the moment itself, and the text."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One framework's lines."""

    step: Callable[[Plan, Report], list[str]]
    evaluation: Callable[[Plan, Moment], list[Said]]
    checkpoint: Callable[[Plan, Moment], list[Said]]
    opening: Callable[[Plan], list[str]] = lambda plan: []
    """At the beginning of the loop, by rank 0."""
    each_node: Callable[[Plan, int], list[str]] = lambda plan, node: []


def stamp(clock: datetime) -> str:
    """``2026-03-04 08:12:20,001``, as Python's logging writes it."""
    return f"{clock:%Y-%m-%d %H:%M:%S},{clock.microsecond // 1000:03d}"


def span(seconds: float) -> str:
    """``MM:SS`` or ``H:MM:SS``, as progress bars write it."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"


def rate(seconds: float) -> str:
    """``2.00s/it`` or ``1.60it/s``."""
    return f"{seconds:5.2f}s/it" if seconds > 1 else f"{1 / max(seconds, 1e-6):5.2f}it/s"


def bar(done: int, total: int, elapsed_s: float, one_s: float, front: str = "", behind: str = "") -> str:
    """A progress bar of tqdm, drawn once."""
    share = done / total
    drawn = ("█" * int(share * 10)).ljust(10)
    left = span((total - done) * one_s)
    return f"{front}{share:4.0%}|{drawn}| {done}/{total} [{span(elapsed_s)}<{left}, {rate(one_s)}{behind}]"
