"""How is the model FLOP utilization said, the same on every screen?"""

from __future__ import annotations

from monitor.model import Utilized
from monitor.words import percent


def usual_words(found: Utilized) -> str:
    """``46 % is usual``, or that nobody knows what is."""
    if found.usual_pct is None:
        return "of the GPUs' peak"
    return f"{percent(found.usual_pct)} is usual"


def mfu_words(found: Utilized) -> str:
    """A sentence with the figure, what it is of, what is usual, and what it was worked out from."""
    usual = "" if found.usual_pct is None else f"; {percent(found.usual_pct)} or more is usual"
    return f"MFU {percent(found.mfu_pct)} of the half-precision peak of {found.gpu_model}{usual}. From {found.how}."
