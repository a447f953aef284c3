"""How were the steps of each log format read? From their frame, and from the lines that were kept of each format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from monitor.model import ReadLine, StepReading
from monitor.parse.assemble import Parsed
from monitor.parse.examples import EACH, Examples
from monitor.parse.timing import Timing

# The report before it stands within so many rows, or is not looked for.
_NEAR = 2_000
_COUNTS = re.compile(r"(?<![\d.])\d+(?=/\d)")
# Whole ones.
_NUMBERS = re.compile(r"(?<![\d.])\d+(?!\.?\d)")


def step_readings(steps: pd.DataFrame, parsed: Parsed, examples: Examples) -> tuple[StepReading, ...]:
    """One a format, that of most reports first; ``steps`` are those of the review, ``parsed`` is what its lines were read as."""
    if steps.empty:
        return ()
    timings = {timing.format: timing for timing in parsed.timings}
    texts = {(stream, line + parsed.moved.get(stream, 0)): text for (stream, line), text in examples.texts().items()}
    reports = steps.groupby("format", sort=False)["reports"].sum().sort_values(ascending=False, kind="stable")
    lines = _read_lines(parsed.steps, texts)
    return tuple(
        _reading(str(name), int(count), steps, timings.get(str(name)), lines.get(str(name), ()))
        for name, count in reports.items()
    )


def _reading(
    name: str, reports: int, steps: pd.DataFrame, timing: Timing | None, lines: tuple[ReadLine, ...]
) -> StepReading:
    kind = str(steps.loc[steps["format"] == name, "kind"].value_counts().index[0])
    if timing is None:
        return StepReading(name, reports, kind, lines=lines)
    told = timing.verdict
    return StepReading(
        name,
        reports,
        kind,
        told.cause,
        told.factor,
        _known(timing.printed_s),
        _known(timing.clock_s),
        _known(timing.resolution_s),
        lines=lines,
    )


def _read_lines(steps: pd.DataFrame, texts: Mapping[tuple[str, int], str]) -> dict[str, tuple[ReadLine, ...]]:
    """The first reports of each format whose lines are known."""
    codes, lines = steps["stream"].cat.codes.to_numpy(), steps["line"].to_numpy()
    places: list[int] = []
    for code, stream in enumerate(steps["stream"].cat.categories):
        wanted = [line for name, line in texts if name == stream]
        if wanted:
            places += np.flatnonzero((codes == code) & np.isin(lines, wanted)).tolist()
    found: dict[str, list[ReadLine]] = {}
    for place in _one_a_line(steps, sorted(places), texts):
        row = steps.iloc[place]
        if len(shown := found.setdefault(str(row["format"]), [])) < EACH:
            shown.append(_read_line(steps, place, texts[str(row["stream"]), int(row["line"])]))
    return {name: tuple(shown) for name, shown in found.items()}


def _one_a_line(steps: pd.DataFrame, places: Sequence[int], texts: Mapping[tuple[str, int], str]) -> Iterator[int]:
    """Of the reports in one line, such as a bar's redraws, the one whose step its text names; none where it names another."""
    by_line: dict[tuple[str, int, str], list[int]] = {}
    for place, row in zip(places, steps.iloc[list(places)].itertuples(), strict=True):
        by_line.setdefault((str(row.stream), int(row.line), str(row.format)), []).append(place)
    for (stream, line, _), own in by_line.items():
        text = texts[stream, line]
        # Of a count and its total the first is the step.
        named = set(_COUNTS.findall(text) or _NUMBERS.findall(text))
        told = steps["step"].iloc[own].astype("object")
        chosen = [place for place, step in zip(own, told, strict=True) if str(step) in named]
        yield from chosen[:1] or (own if len(own) == 1 else [])


def _read_line(steps: pd.DataFrame, place: int, text: str) -> ReadLine:
    row = steps.iloc[place]
    same = steps.iloc[max(0, place - _NEAR) : place]
    for name in ("stream", "format", "segment"):
        same = same[same[name] == row[name]]
    same = same[same["rank"].fillna(-1) == (-1 if pd.isna(row["rank"]) else row["rank"])]
    step = None if pd.isna(row["step"]) else int(row["step"])
    since = None
    if step is not None and len(same) and not pd.isna(same["step"].iloc[-1]):
        since = step - int(same["step"].iloc[-1])
    return ReadLine(
        str(row["stream"]),
        int(row["line"]),
        text.strip(),
        step,
        _known(row["step_time_s"]),
        str(row["kind"]),
        since,
        _known(row["throughput"]),
        str(row["throughput_unit"]),
        _known(row["loss"]),
    )


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
