"""Text that never was, from templates: what a program prints again and again, with numbers that count, grow or are random."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
_FIELD = re.compile(r"\{(i(?:[*/]\d+)?|ts|hex|up:\d+|[fd]:-?[\d.]+-{1,2}[\d.]+|w:[^{}]*)\}")
_SPAN = re.compile(r"(-?[\d.]+)-(-?[\d.]+)")
_BEGIN = datetime(2026, 1, 4, 8, 30, 0, tzinfo=UTC)


def sections(name: str) -> dict[str, str]:
    """Title -> template of a file with one below each "=== title"; lines that begin with "# " above the first are its own."""
    text = (DATA / name).read_text(encoding="utf-8").split("\n=== ")
    parts = (part.partition("\n") for part in text[1:])
    return {title: body.rstrip("\n") for title, _, body in parts}


def lines_of(template: str, times: int, seed: int = 0) -> Iterator[str]:
    """The lines of a template, so many times."""
    dice = random.Random(seed)
    grown: dict[int, int] = {}
    for number in range(1, times + 1):
        at = _BEGIN + timedelta(seconds=7 * number)

        def filled(match: re.Match[str], number: int = number, at: datetime = at) -> str:
            what, _, rest = match[1].partition(":")
            if what == "ts":
                return f"{at:%Y-%m-%d %H:%M:%S},{dice.randrange(1000):03d}"
            if what == "hex":
                return f"{dice.randrange(1 << 40) + (0xAB << 40):012x}"
            if what == "up":
                grown[match.start()] = grown.get(match.start(), dice.randrange(100)) + dice.randint(0, int(rest))
                return str(grown[match.start()])
            if what == "w":
                return dice.choice(rest.split("|"))
            if what in {"f", "d"}:
                low, high = _SPAN.fullmatch(rest).groups()  # type: ignore[union-attr]
                return (
                    f"{dice.uniform(float(low), float(high)):.4f}"
                    if what == "f"
                    else str(dice.randint(int(low), int(high)))
                )
            _, sign, by = re.split(r"([*/])", what) if what != "i" else ("", "*", "1")
            return str(number * int(by) if sign == "*" else (number - 1) % int(by) + 1)

        yield from _FIELD.sub(filled, template).split("\n")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a training loop that nobody knows prints its steps."""

    template: str
    every: int
    tells: frozenset[str]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The lines of a loop, and what a careful reader finds in them."""

    lines: list[str]
    steps: list[int]
    losses: list[float]
    times: list[float]
    rates: list[float]


def dialects() -> dict[str, Dialect]:
    """Title -> dialect of the file of strangers."""
    found = {}
    for head, template in sections("strangers.txt").items():
        title, every, tells = (part.strip() for part in head.split("|"))
        found[title] = Dialect(template, int(every), frozenset(tells.split()))
    return found


def spoken(dialect: Dialect, reports: int, seed: int = 0, first: int = 1) -> Spoken:
    """So many reports in a dialect."""
    dice = random.Random(seed)
    said = Spoken([], [], [], [], [])
    of = (first + reports) * dialect.every
    for turn in range(reports):
        step = (first + turn) * dialect.every
        loss, seconds, rate = (
            round(9 / (1 + turn) + dice.uniform(1, 2), 4),
            round(dice.uniform(0.5, 1), 3),
            dice.randint(500, 999),
        )
        at = _BEGIN + timedelta(seconds=7 * turn)
        values = {
            "{step,}": f"{step:,}",
            "{step}": str(step),
            "{of}": str(of),
            "{epoch}": str(1 + turn // 40),
            "{loss}": f"{loss:.4f}",
            "{loss_e}": f"{dice.uniform(1, 2) * 10 ** -dice.randint(1, 6):.3e}",
            "{s}": f"{seconds:.3f}",
            "{ms}": f"{1000 * seconds:.0f}",
            "{rate}": str(rate),
            "{lr}": f"{1e-3 * (1 - turn / reports / 2):.6g}",
            "{pct}": f"{100 * turn / reports:.1f}",
            "{clock}": f"{turn // 60}:{turn % 60:02d}:17",
            "{ts}": f"{at:%Y-%m-%d %H:%M:%S}",
            "{word}": dice.choice(["ok", "slow", "(new low)"]),
            "{bar}": "#" * (10 * turn // reports) + "." * (10 - 10 * turn // reports),
        }
        line = dialect.template
        for name, value in values.items():
            line = line.replace(name, value)
        for name, low, high in (("{f}", -9, 9), ("{acc}", 0, 1)):
            while name in line:
                line = line.replace(name, f"{dice.uniform(low, high):.4f}", 1)
        said.lines.append(line)
        said.steps.append(step)
        said.losses.append(loss)
        said.times.append(seconds)
        said.rates.append(rate)
    return said


def smoothed_bar(total: int, moments: Iterable[tuple[int, float]], new: float = 0.3) -> Iterator[str]:
    """tqdm's bar at these (count, seconds since its start): its rate is that of smoothed counts over smoothed times."""
    smooth_n = smooth_s = 0.0
    yield redraw(0, total, 0.0, 1.0)
    for (done, before_s), (count, now_s) in pairwise([(0, 0.0), *moments]):
        smooth_n += new * (count - done - smooth_n)
        smooth_s += new * (now_s - before_s - smooth_s)
        yield f"Training: {redraw(count, total, now_s, smooth_s / smooth_n)}"


def redraw(step: int, total: int, elapsed_s: float, each_s: float) -> str:
    """A redraw of a bar."""
    rate = f"{each_s:.2f}s/it" if each_s >= 1 else f"{1 / each_s:.2f}it/s"
    minutes, seconds = divmod(int(elapsed_s), 60)
    return f"{100 * step // total:3d}%|##        | {step}/{total} [{minutes:02d}:{seconds:02d}<00:10, {rate}]"
