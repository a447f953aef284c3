"""What would a reader of the findings' meanings expect of a simulated job?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Truth:
    """What must, and what may be said of a job."""

    planted: str | None
    """The finding of the fault; None for a healthy job."""
    kind: str = ""
    """Which sort of it."""
    first: frozenset[str] = frozenset()
    """One of these must be the first that asks for action; where empty, nothing may."""
    also: frozenset[str] = frozenset()
    """What is true of it too."""
    said: frozenset[str] = frozenset()
    """What must be among the findings, however loud."""


def fault(planted: str, *also: str, kind: str = "", or_first: tuple[str, ...] = ()) -> Truth:
    """A fault that asks for action; ``or_first`` are as good an answer."""
    return Truth(planted, kind, frozenset((planted, *or_first)), frozenset(also), frozenset())


def remark(planted: str, *also: str, kind: str = "") -> Truth:
    """Something worth knowing that asks for no action."""
    return Truth(planted, kind, frozenset(), frozenset(also), frozenset((planted,)))


def healthy(kind: str) -> Truth:
    """Nothing that asks for action may be said."""
    return Truth(None, kind)
