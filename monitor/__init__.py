"""Trainwatch: where the GPU hours of an Amazon SageMaker training job went, and which knob to turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # While a program runs this is the room of that name, which can be called: a type checker takes no module for a function.
    from monitor.review.notebook import review as review

__version__ = "0.1.0"
