"""Is every alert sent exactly once through a day of kills, throttling, expired credentials and clock steps, in flat memory?

SOAK_HOURS of a simulated day (6) with SOAK_LANES jobs at a time (2), SOAK_INTERVAL between two looks (4m), SOAK_SEED.
``python -m benchmarks.soak --minutes 60 --interval 60s --hours 24`` lets a whole day pass in an hour or more.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.alert_day.conduct import Passed, lived
from benchmarks.alert_day.plan import DEATHS, Day, day
from benchmarks.alert_day.reckoning import Reckoning, reckoned
from benchmarks.alert_day.watcher import MEMORY

Row = tuple[str, str, str]
#: What a watch may hold more at the end of its day than after its first tenth. The figures of the job itself grow, too:
#: some 0.1 MiB a node and day, and the copies that a look makes of them.
MOST_GROWTH_MIB = 16.0
_SHOWN = 5
_failed: list[str] = []


def rows() -> list[Row]:
    """The table of one day."""
    hours, lanes = float(os.environ.get("SOAK_HOURS", "6")), int(os.environ.get("SOAK_LANES", "2"))
    planned = day(int(os.environ.get("SOAK_SEED", "1")), 60 * hours, lanes)
    passed = lived(planned, os.environ.get("SOAK_INTERVAL", "4m"))
    found = reckoned(planned, passed)
    _failed[:] = wrong(found, passed)
    return table(planned, passed, found)


def failures() -> list[str]:
    """What was not as it must be in the last day."""
    return list(_failed)


def table(planned: Day, passed: Passed, found: Reckoning) -> list[Row]:
    """What happened, and what came of it; the last column says what may be."""
    where = Counter(death.where for death in passed.deaths)
    spells = sum(len(job.spells) for job in planned.jobs)
    grown = "unknown" if found.grown_mib is None else f"{found.grown_mib:+.1f} MiB to {found.held_mib:.0f} MiB"
    return [
        ("what", "count", "may be"),
        ("simulated hours, in seconds", f"{planned.length / 60:g} in {passed.seconds:.0f}", ""),
        ("jobs, spells", f"{len(planned.jobs)}, {spells}", ""),
        ("steps of the clock, up to 3 min", str(len(planned.clock)), ""),
        ("expiries of the credentials, throttlings", f"{len(planned.expired)}, {len(planned.throttled)}", ""),
        ("outages of the receivers, messages refused", f"{len(planned.outages)}, {passed.refused}", ""),
        *((f"killed {name}", str(where[name]), "") for name in (*DEATHS, "at any moment")),
        ("ended by Ctrl-C", str(where["Ctrl-C"]), ""),
        ("taken, but answered with an error", str(sum(not each.is_answered for each in passed.taken)), ""),
        ("messages arrived, of those due", f"{found.arrived} of {found.expected}", "all"),
        *((name, str(len(lines)), "0") for name, lines in _lists(found)),
        ("repeats with the same id, after one of these", str(found.repeats - len(found.unexcused)), "any"),
        ("still waiting at the end", str(passed.waiting), "0"),
        ("memory from the second tenth to the last", grown, f"{MOST_GROWTH_MIB:+.0f} MiB"),
    ]


def wrong(found: Reckoning, passed: Passed) -> list[str]:
    """A sentence for each thing that must not be."""
    out = []
    for name, lines in _lists(found):
        more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
        out += [f"{name}: {'; '.join(lines[:_SHOWN])}{more}"] if lines else []
    if passed.waiting:
        out.append(f"{passed.waiting} messages still wait after the day")
    if found.grown_mib is None and MEMORY.exists():
        out.append("the memory of the watch was not measured")
    if found.grown_mib is not None and found.grown_mib > MOST_GROWTH_MIB:
        out.append(f"a watch grew by {found.grown_mib:.1f} MiB in its day, more than {MOST_GROWTH_MIB:.0f} MiB")
    return out


def _lists(found: Reckoning) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "lost", found.lost
    yield "said though nothing was, or said again", found.invented
    yield "said before it was so", found.early
    yield "repeats that nothing explains", found.unexcused
    yield "out of order, or without its key", found.disordered


def main(arguments: Sequence[str]) -> int:
    """1 where something was not as it must be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0, help="simulated hours (24; at least 6)")
    parser.add_argument("--minutes", type=float, default=0.0, help="take at least so many minutes (as fast as it goes)")
    parser.add_argument("--interval", default="60s", help="between two looks of a watch (60s)")
    parser.add_argument("--lanes", type=int, default=3, help="jobs at a time, each with two watches (3)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    planned = day(given.seed, 60 * given.hours, given.lanes)
    passed = lived(planned, given.interval, 60 * given.minutes)
    found = reckoned(planned, passed)
    made = table(planned, passed, found)
    widths = [max(len(row[column]) for row in made) for column in range(3)]
    for row in made:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    sentences = wrong(found, passed)
    for sentence in sentences:
        print(f"failed: {sentence}", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
