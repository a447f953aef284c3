"""Which sample jobs does the account hold? Newest first; the figures are made up, the shapes are those of real jobs."""

from __future__ import annotations

from monitor.demo.smp_stories import HEALTHY, LIVE, MICS_ALL, MICS_NODE, OLD_RUN, OUT_OF_MEMORY, SMALL_WINDOW
from monitor.demo.story import Story
from monitor.demo.torch_stories import (
    CPU_ONLY,
    HETEROGENEOUS,
    NO_CAPACITY,
    ONE_GPU,
    SLOW_NODE,
    SMALL_BATCH,
    SPOT,
    STALLED,
)

STORIES: tuple[Story, ...] = (
    LIVE,
    STALLED,
    OUT_OF_MEMORY,
    HEALTHY,
    SMALL_WINDOW,
    SLOW_NODE,
    NO_CAPACITY,
    SPOT,
    MICS_NODE,
    MICS_ALL,
    ONE_GPU,
    SMALL_BATCH,
    HETEROGENEOUS,
    CPU_ONLY,
    OLD_RUN,
)
