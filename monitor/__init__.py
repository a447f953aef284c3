"""Trainwatch: where the GPU hours of an Amazon SageMaker training job went, and which knob to turn.

For code and notebooks: ``from monitor import compare, jobs, plan, review`` (docs/library.md).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.review.library import compare as compare
    from monitor.review.library import jobs as jobs
    from monitor.review.library import plan as plan

    # While a program runs this is the room of that name, which can be called: a type checker takes no module for a function.
    from monitor.review.notebook import review as review

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "jobs", "plan", "review"]


def __getattr__(name: str) -> Any:
    """What code uses of this package, imported when it is first asked for: a command needs little of it."""
    if name == "review":
        return import_module("monitor.review")
    if name in {"compare", "jobs", "plan"}:
        return getattr(import_module("monitor.review.library"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
