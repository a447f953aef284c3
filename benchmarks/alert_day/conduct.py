"""Lets the day pass: starts two watches a job and a third that lives all day, kills them, starts them again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

from benchmarks.alert_day.clock import SimulatedClock
from benchmarks.alert_day.plan import Day
from benchmarks.alert_day.receiver import Taken, receiving
from benchmarks.alert_day.watcher import Post, deaths_of, ledger_of, memory_of, rules_at, watch
from monitor.alert.delivery import RuleSinks

_TICK_S = 0.002
# Of the messages that a receiver took, so many it answers with an error.
_UNANSWERED = 0.03
# So many minutes after the end of the day all that waits is sent: the longest wait between two tries, and more.
_AFTERWARDS = 40


@dataclass(frozen=True, slots=True)
class Death:
    """A watch was killed."""

    at: float
    where: str
    id: str = ""
    """Of the message it was about to send, or had sent."""


@dataclass(slots=True)
class Passed:
    """What came of a day."""

    taken: list[Taken]
    refused: int
    deaths: list[Death]
    ends: Counter[int]
    """How often watches ended by themselves, by status."""
    memory: list[tuple[float, float]]
    """(minute, bytes) of the watch that lives all day."""
    waiting: int = 0
    """Messages that still wait in the ledger at the end."""
    seconds: float = 0.0


@dataclass(slots=True)
class _Place:
    """A watch that is kept going by whoever runs it."""

    post: Post
    process: BaseProcess | None = None
    start_at: float = 0.0
    is_done: bool = False
    deaths: list[Death] = field(default_factory=list)


def lived(day: Day, interval: str = "60s", least_s: float = 0.0) -> Passed:
    """The day, as fast as the watches can follow, and in no less than ``least_s`` seconds; each looks every ``interval``."""
    begun_s = time.monotonic()
    context = multiprocessing.get_context("forkserver")
    # Watches start in no time: the simulated minutes of an import would be many.
    context.set_forkserver_preload(["benchmarks.alert_day.watcher"])
    # What a tick of the conductor lets pass at most.
    tick = min(1.0, day.length * _TICK_S / least_s) if least_s else 1.0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        clock = SimulatedClock.new(day, folder / "clock", 2 * len(day.jobs) + 1)
        receiver = stack.enter_context(receiving(clock, _UNANSWERED))
        base = Post(0, 0, 0, clock, folder, receiver.url, interval)
        places = [
            _Place(_post(base, 2 * job + twin, job), start_at=planned.start + twin)
            for job, planned in enumerate(day.jobs)
            for twin in (0, 1)
        ]
        places.append(_Place(replace(_post(base, len(places), 0), is_mortal=False)))
        random, ends, passed = Random(day.seed), Counter[int](), 0.0
        try:
            while not all(place.is_done for place in places):
                for place in places:
                    _keep(context, place, passed, random, ends)
                time.sleep(_TICK_S)
                passed = clock.advance(tick)
        finally:
            for place in places:
                if place.process is not None and place.process.is_alive():
                    place.process.kill()
                    place.process.join()
        waiting = _flush(clock, folder, receiver.url)
        deaths = [death for place in places for death in place.deaths] + _own_deaths(folder)
        rows = memory_of(folder, places[-1].post.number).read_text(encoding="utf-8").splitlines()
        memory = [(float(row.split()[0]), float(row.split()[1])) for row in rows]
        return Passed(receiver.taken, receiver.refused, deaths, ends, memory, waiting, time.monotonic() - begun_s)


def _post(base: Post, number: int, job: int) -> Post:
    return replace(base, number=number, job=job, clock=replace(base.clock, place=number + 1))


def _keep(
    context: multiprocessing.context.ForkServerContext,
    place: _Place,
    passed: float,
    random: Random,
    ends: Counter[int],
) -> None:
    """Starts a watch that is due, notes the end of one, kills one now and then."""
    if place.is_done:
        return
    clock = place.post.clock
    at = clock.minute()
    if place.process is None:
        if at >= place.start_at:
            clock.enter(clock.place)
            place.process = context.Process(target=watch, args=(place.post,), daemon=True)
            place.process.start()
        return
    if not place.process.is_alive():
        place.process.join()
        clock.leave(clock.place)
        status = place.process.exitcode or 0
        ends[status] += 1
        place.is_done = status == 0
        place.process = None
        place.post = replace(place.post, life=place.post.life + 1)
        place.start_at = at + random.uniform(1, 6)
    elif place.post.is_mortal and random.random() < passed / clock.day.kill_every:
        how = signal.SIGKILL if random.random() < 0.7 else signal.SIGINT
        assert place.process.pid is not None
        os.kill(place.process.pid, how)
        place.deaths.append(Death(at, "at any moment" if how == signal.SIGKILL else "Ctrl-C"))


def _flush(clock: SimulatedClock, folder: Path, url: str) -> int:
    """Sends what still waits, as the next call of ``alert`` with the same sinks does; how many wait after that."""
    os.environ["NO_PROXY"] = "127.0.0.1"
    waiting = 0
    for _ in range(_AFTERWARDS):
        clock.advance(1.0)
        telling = RuleSinks(rules_at(url), [f"webhook:{url}/all"], ledger_of(folder), _no_wait, clock.seconds)
        waiting = sum(outcome.waiting for outcome in telling.deliver())
        if not waiting:
            break
    return waiting


def _no_wait(seconds: float) -> None:
    """There is nobody else to wait for."""


def _own_deaths(folder: Path) -> list[Death]:
    file = deaths_of(folder)
    if not file.exists():
        return []
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    return [Death(float(at), where, id) for at, where, id in rows]
