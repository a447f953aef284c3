"""What happens in the day, and when? Jobs, what is wrong with them, and what goes wrong around them: drawn from a seed.

All times are minutes of the true time. A spell keeps so far from the next one, and from the end of its job, that each is
one alert whatever happens around it; so what must be said is known without judging anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Literal

#: Rules of the day: what they ask for.
RULES = {
    "idle": "gpu_utilization < 40 for 10m",
    "full": "memory_utilization > 90 for 5m",
    "silent": "seconds_since_last_step > 900",
    "slow": "finding low-gpu-utilization",
}
#: A rule's condition holds so many minutes after its spell began.
HOLDS_AFTER = {"silent": 15.0}
#: Rules whose alerts a second receiver gets, too.
PAGED = frozenset({"silent", "slow"})
NODES = ("algo-1", "algo-2", "algo-3")
# One spell at most a block, rule and node; the rest of the block is longer than clearing and cool-down.
_BLOCK, _FIRST = 75.0, 40.0
# Around the end and the beginning of a job nothing else goes wrong: what ends with it must have been told before.
CALM_BEFORE_END = 60.0

Window = tuple[float, float]
Death = Literal["while writing down", "before sending", "before recording"]
DEATHS: tuple[Death, ...] = ("while writing down", "before sending", "before recording")


@dataclass(frozen=True, slots=True)
class Spell:
    """Something is wrong on a node (with the whole job, if ``node`` is empty) from ``start`` to ``end``."""

    rule: str
    node: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job, and what is wrong in it."""

    name: str
    start: float
    end: float
    spells: tuple[Spell, ...]
    late: tuple[tuple[str, Window], ...]
    """Minutes of a node's metrics that all come a quarter of an hour late."""


@dataclass(frozen=True, slots=True)
class Day:
    """All that happens."""

    seed: int
    length: float
    jobs: tuple[PlannedJob, ...]
    outages: tuple[Window, ...]
    """The receivers take nothing."""
    expired: tuple[Window, ...]
    """The credentials of all watches have expired."""
    throttled: tuple[tuple[int, Window], ...]
    """(number of a watch, when AWS only asks it to slow down)."""
    clock: tuple[tuple[float, float], ...]
    """(from when on, how many seconds the machine's clock is off)."""
    deaths: dict[Death, float] = field(default_factory=dict)
    """How likely a watch is killed at such a place."""
    kill_every: float = 150.0
    """Minutes on average between two kills of one watch at any moment."""
    planted: str = ""
    """A fault of the sender that the account must find: "twice", "lost"."""

    def offset_s(self, at: float) -> float:
        """How far the machine's clock is off."""
        return next((off for since, off in reversed(self.clock) if since <= at), 0.0)


def day(seed: int, length: float, lanes: int = 3, planted: str = "") -> Day:
    """A day of ``length`` minutes: one job all the time, and in the other lanes one after another."""
    random = Random(seed)
    jobs = [_job("long", random, 0.0, length)]
    for lane in range(1, lanes):
        start, number = 10.0 * lane, 1
        while start < length - 200:
            end = min(length, start + random.uniform(240, 480))
            end = length if length - end < 260 else end
            jobs.append(_job(f"lane-{lane}-{number}", random, start, end))
            start, number = end + 15, number + 1
    calm = [(job.end - CALM_BEFORE_END, job.end + 20) for job in jobs]
    calm += [(job.start - 5, job.start + _FIRST) for job in jobs]
    watches = range(2 * len(jobs))
    return Day(
        seed=seed,
        length=length,
        jobs=tuple(jobs),
        outages=_windows(random, length, 70, (8, 30), calm),
        expired=_windows(random, length, 150, (5, 20), calm),
        throttled=tuple(
            (watch, window)
            for watch in watches
            for window in _windows(random, length, 120, (3, 15), calm, jobs[watch // 2].start + 40)
        ),
        clock=_clock(random, length),
        deaths={"while writing down": 0.04, "before sending": 0.04, "before recording": 0.08},
        planted=planted,
    )


def _job(name: str, random: Random, start: float, end: float) -> PlannedJob:
    spells, late = [], []
    for rule in RULES:
        for node in NODES if rule != "slow" else ("",):
            block = start + _FIRST
            while block + _BLOCK < end - CALM_BEFORE_END - 30:
                if random.random() < 0.45:
                    begin = block + random.uniform(0, 8)
                    spells.append(Spell(rule, node, begin, begin + random.uniform(*_LASTS[rule])))
                block += _BLOCK
            if random.random() < 0.3:
                spells.append(Spell(rule, node, end - CALM_BEFORE_END - random.uniform(0, 20), end))
    for node in NODES:
        late += [(node, window) for window in _windows(random, end - start, 240, (4, 14), [], start + 30)]
    return PlannedJob(name, start, end, tuple(spells), tuple(late))


# Long enough to be seen between two outages, short enough to leave a block's rest in peace.
_LASTS = {"idle": (16.0, 26.0), "full": (12.0, 26.0), "silent": (22.0, 30.0), "slow": (24.0, 32.0)}


def _windows(
    random: Random, length: float, every: float, lasts: Window, calm: list[Window], first: float = 45.0
) -> tuple[Window, ...]:
    found = []
    at = first + random.expovariate(1 / every)
    while at < first + length - 90:
        end = at + random.uniform(*lasts)
        if not any(at < stop and end > begin for begin, stop in calm):
            found.append((at, end))
        at = end + random.expovariate(1 / every)
    return tuple(found)


def _clock(random: Random, length: float) -> tuple[tuple[float, float], ...]:
    """Steps of seconds to three minutes either way, each from a right clock or back to it."""
    found = []
    at = random.uniform(30, 90)
    while at < length:
        off = random.choice((-180.0, -120.0, -45.0, -5.0, -1.0, 1.0, 5.0, 45.0, 120.0, 180.0))
        back = at + random.uniform(8, 60)
        found += [(at, off), (back, 0.0)]
        at = back + random.uniform(20, 80)
    return tuple(found)
