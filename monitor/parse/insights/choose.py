"""Which question asks for the steps of a job? Learned from lines that were read, and tried on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.parse.assemble import Parsed
from monitor.parse.insights.aggregated import Meant
from monitor.parse.insights.questions import BY_NEIGHBORS, Ask, LineFigures, asks, tried, usable
from monitor.parse.linear import compiled
from monitor.parse.lines.envelope import fragments
from monitor.parse.steps.timing import LINE_CLOCK
from monitor.parse.table import Readings

_TAG = compiled(r"\[\d+,(?:mpirank:)?\d+[,\]]")
_LINES_TRIED = 20_000
_SHOWN_LINES = 3
_FEWEST_REPORTS = 2

Line = tuple[str, int]
"""Stream and number."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A question that finds the reader's own numbers."""

    ask: Ask
    meant: Meant
    writers: int
    """Processes that were seen to write steps."""


def choose(table: Readings, parsed: Parsed, texts: Mapping[Line, str]) -> Choice | None:
    """The question for the format of most steps; None where there is none, or where no pattern finds the same numbers."""
    steps = parsed.steps
    if len(steps) < _FEWEST_REPORTS:
        return None
    name = str(steps["format"].value_counts().index[0])
    own = steps[steps["format"] == name]
    kept = set(zip(own["stream"].astype(str), own["line"].astype(int), strict=True))
    read = _read(table, name)
    if any(meaning in BY_NEIGHBORS for _, meaning, _ in read.values()):
        return None
    reports = [texts[line] for line in read if line in kept and line in texts]
    tagged = any(_TAG.search(text) for text in reports[:_LINES_TRIED])
    totals = own["total"].dropna()
    total = int(totals.mode().iloc[0]) if len(totals) else None
    units = own["throughput_unit"][own["throughput_unit"] != ""]
    unit = str(units.mode().iloc[0]) if len(units) else ""
    shown = [piece.text for text in reports[:_SHOWN_LINES] for piece in fragments(text)[:1]]
    for ask in asks(name, unit, total, tagged, shown):
        if usable(ask) and tried(ask, _trial(ask, read, kept, texts)).passed:
            clock = bool((own["kind"] == "cumulative").mean() > 0.5)
            by_clock = "clock" in ask.roles and "time" not in ask.roles
            writers = own[["stream", "rank"]].drop_duplicates() if tagged else own[["stream"]].drop_duplicates()
            samples = parsed.identity.samples_per_step if name == "deepspeed" and "time" not in ask.roles else None
            timing = next(timing for timing in parsed.timings if timing.format == name)
            by_lines = timing.verdict.cause == "clock" or bool((own["kind"] == LINE_CLOCK).any())
            is_clock = clock and not by_clock and "time" in ask.roles
            meant = Meant(is_clock, by_clock, samples, total, timing.verdict.factor, by_lines)
            return Choice(ask, meant, len(writers))
    return None


_Reading = tuple[LineFigures, str, float]
"""What the first reading of a line says, what it means, its total."""


def _read(table: Readings, name: str) -> dict[Line, _Reading]:
    found: dict[Line, _Reading] = {}
    if not len(table):
        return found
    for i in np.flatnonzero((table.texts[table.format] == name) & ~np.isnan(table.step)).tolist():
        line = (str(table.texts[table.stream[i]]), int(table.line[i]))
        if line not in found:
            told = LineFigures(
                int(table.step[i]),
                _known(table.time_s[i]),
                _known(table.throughput[i]),
                _known(table.clock_s[i]),
                _known(table.loss[i]),
            )
            found[line] = (told, str(table.texts[table.meaning[i]]), float(table.total[i]))
    return found


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _trial(
    ask: Ask, read: Mapping[Line, _Reading], kept: set[Line], texts: Mapping[Line, str]
) -> Sequence[tuple[str, LineFigures | None]]:
    """The lines with what counts of them; redraws of a bar that say a step again are left out."""
    roles = ask.roles
    out: list[tuple[str, LineFigures | None]] = []
    for line, text in texts.items():
        if len(out) >= _LINES_TRIED:
            break
        reading = read.get(line)
        if reading is None:
            out.append((text, None))
            continue
        told, _, total = reading
        if line in kept:
            rate = told.rate if "rate" in roles or told.time_s is None else None
            clock = told.clock_s if "clock" in roles or (told.time_s is None and rate is None) else None
            out.append((text, LineFigures(told.step, told.time_s, rate, clock, None)))
        elif ask.total is not None and total != ask.total:
            out.append((text, None))
    return out
