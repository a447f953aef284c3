"""One ``alert --watch``, in a process of its own: the real one, on the day's clock, looking at the day's jobs.

It may be killed where it is worst: while something is written down, before it is sent, between sending and recording.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import monitor.alert.sinks.webhook_sink as webhook_sink
from benchmarks.alert_day.clock import SimulatedClock
from benchmarks.alert_day.plan import PAGED, RULES, Death
from benchmarks.alert_day.scene import Scene
from monitor.alert.conditions import AlertRule
from monitor.alert.delivery import RuleSinks
from monitor.alert.ledger import Ledger
from monitor.alert.message import Message
from monitor.alert.rules import rules_of
from monitor.cli.alert_watch import JobCheck, run_watch
from monitor.errors import NoCredentials, Throttled, TrainwatchError
from monitor.model import Report

#: Where Linux tells of a process's memory; other systems have none.
MEMORY = Path("/proc/self/statm")
_PAGE_B = 4096


@dataclass(frozen=True, slots=True)
class Post:
    """A watch: of which job, with what, and where it notes what it does."""

    number: int
    job: int
    life: int
    """How often it was started again."""
    clock: SimulatedClock
    folder: Path
    url: str
    interval: str
    is_mortal: bool = True


def watch(post: Post) -> None:
    """Runs it until its job is over. Status 0, or 3 as the command line has it where the first look brings an error."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        os.environ["NO_PROXY"] = "127.0.0.1"
        if post.is_mortal:
            _make_mortal(post)
        _plant(post.clock.day.planted)
        arguments = argparse.Namespace(interval=post.interval, cool_down="10m", format="json", quiet=True, output=None)
        clock = post.clock
        rules = rules_at(post.url)
        telling = RuleSinks(rules, [f"webhook:{post.url}/all"], ledger_of(post.folder), clock.sleep, clock.seconds)
        try:
            run_watch(arguments, rules, telling, JobCheck(_looks(post)), clock.sleep, clock.now)
        except TrainwatchError:
            sys.exit(3)
        except KeyboardInterrupt:
            sys.exit(130)


def rules_at(url: str) -> tuple[AlertRule, ...]:
    """The rules of the day; some are also told to a second receiver."""
    made = zip(RULES, rules_of(list(RULES.values())), strict=True)
    return tuple(
        replace(rule, name=name, notify=(f"webhook:{url}/paged",) if name in PAGED else ()) for name, rule in made
    )


def ledger_of(folder: Path) -> Path:
    return folder / "alerts.sqlite"


def deaths_of(folder: Path) -> Path:
    """A line a death: the minute, where it was, the id of the message."""
    return folder / "deaths"


def memory_of(folder: Path, number: int) -> Path:
    """A line a look: the minute, the bytes of memory."""
    return folder / f"memory-{number}"


def _looks(post: Post) -> Callable[[datetime, Callable[[str], None]], Report]:
    """Looks as a reviewer brings them: metrics of up to a minute ago, sometimes late, slow, or with an error."""
    clock, random = post.clock, Random(f"{post.clock.day.seed} {post.number} {post.life}")
    scene = Scene(clock.day.jobs[post.job])
    throttled = [window for number, window in clock.day.throttled if number == post.number]
    memory = memory_of(post.folder, post.number).open("a", encoding="utf-8")

    def look(now: datetime, say: Callable[[str], None]) -> Report:
        at = clock.minute()
        if any(begin <= at < end for begin, end in clock.day.expired):
            raise NoCredentials("The credentials have expired.", "Renew them.")
        if any(begin <= at < end for begin, end in throttled):
            raise Throttled(f"AWS asks to slow down (request {random.random()}).", "Wait.")
        stale = random.uniform(0, 1) if random.random() < 0.95 else random.uniform(1, 5)
        found = scene.report(at, at - stale)
        if random.random() < 0.04:
            clock.sleep(random.uniform(20, 240))
        if not post.is_mortal and MEMORY.exists():
            memory.write(f"{at:.2f} {_memory_b()}\n")
            memory.flush()
        return found

    return look


def _memory_b() -> int:
    return int(MEMORY.read_text(encoding="ascii").split()[1]) * _PAGE_B


def _make_mortal(post: Post) -> None:
    """Lays what kills this process where the day says so; what it overlays goes on as it was."""
    random = Random(f"death {post.clock.day.seed} {post.number} {post.life}")
    add, sent, send = Ledger.add, Ledger.sent, webhook_sink.send

    def perhaps(where: Death, id: str) -> None:
        if random.random() < post.clock.day.deaths.get(where, 0.0):
            _die(post, where, id)

    def mortal_add(self: Ledger, message: Message, sink: str, now: float) -> None:
        add(self, message, sink, now)
        perhaps("while writing down", message.id)

    def mortal_sent(self: Ledger, pending: Any, now: float) -> None:
        perhaps("before recording", pending.message.id)
        sent(self, pending, now)

    def mortal_send(message: Message, sink: Any) -> None:
        perhaps("before sending", message.id)
        send(message, sink)

    Ledger.add, Ledger.sent = mortal_add, mortal_sent  # type: ignore[method-assign]
    webhook_sink.send = mortal_send


def _die(post: Post, where: Death, id: str) -> None:
    with deaths_of(post.folder).open("a", encoding="utf-8") as file:
        file.write(f"{post.clock.minute():.3f}\t{where}\t{id}\n")
    os.kill(os.getpid(), signal.SIGKILL)


def _plant(fault: str) -> None:
    """A sender that is wrong, so that it can be seen whether the account finds it."""
    send = webhook_sink.send

    def wrong(message: Message, sink: Any) -> None:
        if fault == "lost" and int(message.id, 16) % 3 == 0:
            return
        send(message, sink)
        if fault == "twice":
            send(message, sink)

    if fault:
        webhook_sink.send = wrong
