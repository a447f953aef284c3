"""Are planted faults named, and healthy jobs left alone?

PLANTED_SEEDS jobs of each fault (12) and PLANTED_HEALTHY healthy ones (500), reviewed as any job is.
``python -m benchmarks.planted`` can do more: single faults, single jobs, jobs as files.
"""

from __future__ import annotations

import os

from benchmarks.planted.catalogue import tickets
from benchmarks.planted.measure import judged
from benchmarks.planted.table import Row
from benchmarks.planted.table import rows as table_rows


def rows() -> list[Row]:
    """The confusion table."""
    seeds, healthy = int(os.environ.get("PLANTED_SEEDS", "12")), int(os.environ.get("PLANTED_HEALTHY", "500"))
    return table_rows(judged(tickets(seeds, healthy)))
