"""Holds what is read of published logs against one line of truth each: ``python -m tests.parse.hunt FOLDER [NAME…]``.

The folder has ``logs/NAME.log`` and ``truth.csv`` (name, verdict, steps, first_step, last_step, step_time_s). A log is
*right* if its reports are found and their median step time is within 10 % of the truth, or none is shown where none can be
known; *silent* if reports or times are missing; *wrong* if a time or a step is shown that is none. Of a log whose truth has the
verdict ``epochs`` no step need be read: it is right if so many epochs are told, and what one takes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from monitor.errors import NoData
from monitor.model.frames import events_frame, steps_frame
from monitor.parse.events.epochs import EPOCH_PACE, EPOCH_SHARE, EPOCH_TOOK, EPOCHS_ONLY
from tests.parse.compare import read_file

TOLERANCE = 0.1
# Of a careful reader's reports so many have to be there; more are several rows of one.
_FOUND = 0.5
Verdict = Literal["right", "silent", "wrong"]


class Judged(NamedTuple):
    """How one log came out, with what was read and the truth in a few words."""

    name: str
    verdict: Verdict
    ours: str
    truth: str


class _Read(NamedTuple):
    steps: int
    first: float
    last: float
    time_s: float


def judge(folder: Path, names: list[str]) -> Iterator[Judged]:
    """Of each log that has a truth, or of those whose names begin so."""
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        for want in csv.DictReader(file):
            log = folder / "logs" / f"{want['name'].removesuffix('.log')}.log"
            if log.exists() and (not names or any(log.stem.startswith(name) for name in names)):
                frame, events = _frames(log)
                read = _epochs(events) if want["verdict"] == "epochs" and not len(frame) else _read(frame)
                truth = (
                    f"{want['verdict']} {want['steps']} {want['first_step']}-{want['last_step']} {want['step_time_s']}"
                )
                formats = " ".join(sorted(frame["format"].unique())) or "epochs" * bool(read.steps)
                ours = f"{read.steps} {read.first:g}-{read.last:g} {read.time_s:.6g} {formats}"
                yield Judged(log.stem, _verdict(read, want), ours, truth)


def _frames(log: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    try:
        parsed = read_file(log)
    except NoData:  # refused as no text
        return steps_frame(), events_frame()
    return parsed.steps, parsed.events


def _epochs(events: pd.DataFrame) -> _Read:
    """Of a log that tells of epochs alone how many, and what one takes."""
    told, took = (
        events.loc[events["kind"].isin(kinds), "text"]
        for kinds in ([EPOCHS_ONLY], [EPOCH_TOOK, EPOCH_PACE, EPOCH_SHARE])
    )
    many = int(told.iloc[0]) if len(told) else 0
    return _Read(many, float("nan"), float("nan"), float(took.iloc[0]) if len(took) else float("nan"))


def _read(steps: pd.DataFrame) -> _Read:
    """Of the writer that reports most: different steps, those of each start for themselves."""
    if not len(steps):
        return _Read(0, float("nan"), float("nan"), float("nan"))
    by_writer = steps.assign(rank=steps["rank"].fillna(-1), stream=steps["stream"].astype(str)).groupby(
        ["stream", "rank"]
    )
    # Reports that name no step are one each.
    distinct = max(
        len(own[["segment", "step"]].dropna().drop_duplicates()) + int(own["step"].isna().sum()) for _, own in by_writer
    )
    numbers = steps["step"].dropna()
    first, last = (float(numbers.iloc[place]) if len(numbers) else float("nan") for place in (0, -1))
    return _Read(distinct, first, last, float(steps["step_time_s"].median()))


def _verdict(read: _Read, want: dict[str, str]) -> Verdict:
    if want["verdict"] == "none":
        return "wrong" if read.steps else "right"
    if not read.steps:
        return "silent"
    timed = read.time_s == read.time_s
    if want["step_time_s"]:
        truth_s = float(want["step_time_s"])
        if timed and abs(read.time_s - truth_s) > TOLERANCE * truth_s:
            return "wrong"
    elif timed:
        return "wrong"
    if _other_steps(read, want):
        return "wrong"
    reports = float(want["steps"] or read.steps)
    return "silent" if read.steps < _FOUND * reports or (want["step_time_s"] and not timed) else "right"


def _other_steps(read: _Read, want: dict[str, str]) -> bool:
    """Neither the first nor the last step is the reader's, nor the one beside it."""
    told = [(ours, _number(want[name])) for ours, name in ((read.first, "first_step"), (read.last, "last_step"))]
    known = [(ours, theirs) for ours, theirs in told if ours == ours and theirs is not None]
    return bool(known) and all(abs(ours - theirs) > 1 for ours, theirs in known)


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def main(arguments: list[str]) -> None:
    if not arguments:
        sys.exit("Name the folder that holds logs/ and truth.csv: python -m tests.parse.hunt FOLDER [NAME…]")
    folder, *names = arguments
    table = csv.writer(sys.stdout)
    table.writerow(Judged._fields)
    counts: dict[str, int] = {}
    for found in judge(Path(folder), names):
        table.writerow(found)
        counts[found.verdict] = counts.get(found.verdict, 0) + 1
    print(f"# {counts}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
