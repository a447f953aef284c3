"""A few of many cases that show one behavior: others each day, so that all come up; HYPOTHESIS_PROFILE=thorough runs all.

The day stands in the head of each run's output: CASES_OF=2026-03-04 makes the same choice again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")

# One day for all workers: they get the environment of the process that starts them.
DAY = os.environ.setdefault("CASES_OF", datetime.now(UTC).date().isoformat())
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def drawn(cases: Iterable[T], most: int) -> list[T]:
    """``most`` of the cases, in their order."""
    every = list(cases)
    if THOROUGH or len(every) <= most:
        return every
    places = random.Random(f"{DAY} {len(every)}").sample(range(len(every)), most)
    return [every[place] for place in sorted(places)]
