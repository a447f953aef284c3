"""Are planted faults named, and healthy jobs left alone?

PLANTED_SEEDS jobs of each fault (12) and PLANTED_HEALTHY healthy ones (500), reviewed as any job is.
``python -m benchmarks.planted`` can do more: single faults, single jobs, jobs as files.
"""

from __future__ import annotations

import os

from benchmarks.planted.catalogue import tickets
from benchmarks.planted.measure import judged
from benchmarks.planted.table import Row, passed
from benchmarks.planted.table import rows as table_rows

_missed: list[str] = []


def rows() -> list[Row]:
    """The confusion table."""
    seeds, healthy = int(os.environ.get("PLANTED_SEEDS", "12")), int(os.environ.get("PLANTED_HEALTHY", "500"))
    verdicts = judged(tickets(seeds, healthy))
    table = table_rows(verdicts)
    faults = [verdict for verdict in verdicts if verdict.truth.planted]
    if not passed(faults, [verdict for verdict in verdicts if not verdict.truth.planted]):
        _missed.append(table[-1][-1])
    return table


def failures() -> list[str]:
    """The goal, where the last table missed it."""
    return list(_missed)
