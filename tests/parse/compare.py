"""Holds what is read of published logs against their truth: ``python -m tests.parse.compare [NAME…]`` prints a row a file.

The truth has a row a redraw at times; each new step of a writer counts once, as in ``steps --format csv``.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from monitor.fetch.files.source import FilesSource
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows

CORPUS = Path(os.environ.get("TRAINWATCH_CORPUS") or Path(__file__).resolve().parents[3] / "shared" / "corpus")
# Clocks differenced against measured times, rates printed with few digits.
TOLERANCE = 0.02


@dataclass
class Comparison:
    """How one log came out; the lists hold a few examples each."""

    name: str
    expected: int = 0
    got: int = 0
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not (self.missing or self.extra or self.wrong)


def logs() -> Iterator[Path]:
    for folder in (CORPUS, CORPUS / "frameworks"):
        yield from sorted(folder.glob("logs/*.log"))


def truth_of(log: Path) -> list[dict[str, str]]:
    with (log.parents[1] / "truth" / f"{log.stem}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_file(log: Path) -> Parsed:
    """What the program reads of a file."""
    source, raw = FilesSource([str(log)]), RawRows()
    for page in source.logs(source.job()).read():
        raw.add(page)
    return assemble(raw.steps, raw.events, strangers=raw.strangers)


def compare(log: Path) -> Comparison:
    """One log against its truth, step by step."""
    truth = truth_of(log)
    steps = read_file(log).steps
    ours: dict[tuple[str, int], list[pd.Series]] = {}
    for _, row in steps.iterrows():
        ours.setdefault((_rank(row["rank"]), -1 if pd.isna(row["step"]) else int(row["step"])), []).append(row)
    theirs: dict[tuple[str, int], list[dict[str, str]]] = {}
    for want in truth:
        digits = re.findall(r"\d+", want["step"].rpartition(":")[2])
        rank = re.match(r"rank(\d+)", want["rank_or_node"])
        theirs.setdefault((rank[1] if rank else "", int(digits[0]) if digits else -1), []).append(want)
    ranked = any(key[0] for key in theirs)
    if not (ranked and any(key[0] for key in ours)):
        # One of the two does not tell ranks: steps alone are compared.
        ours, theirs = _without_rank(ours), _without_rank(theirs)
    found = Comparison(log.stem, len(truth), len(steps))
    for key in theirs.keys() - ours.keys():
        found.missing.append(f"{key}")
    for key in ours.keys() - theirs.keys():
        found.extra.append(f"{key}")
    for key in sorted(ours.keys() & theirs.keys()):
        for row in ours[key]:
            faults = [_faults(row, want) for want in theirs[key]]
            if all(faults):
                found.wrong.append(f"{key} {min(faults, key=len)}")
    return found


def _rank(value: object) -> str:
    return "" if pd.isna(value) else str(int(value))  # type: ignore[call-overload, arg-type]


def _without_rank(rows: dict) -> dict:
    out: dict = {}
    for (_, step), found in rows.items():
        out.setdefault(("", step), []).extend(found)
    return out


def _faults(row: pd.Series, want: dict[str, str]) -> list[str]:
    faults = []
    for column in ("step_time_s", "throughput", "loss"):
        if not want[column]:
            continue
        expected, got = float(want[column]), row[column]
        if expected != expected:
            continue
        if pd.isna(got) or abs(got - expected) > TOLERANCE * abs(expected) + 1e-3:
            faults.append(f"{column} {got} not {expected}")
    return faults


def main(names: list[str]) -> None:
    for log in logs():
        if names and not any(log.stem.startswith(name) for name in names):
            continue
        found = compare(log)
        word = "ok  " if found.same else "DIFF"
        print(f"{word} {found.name[:48]:<48} truth {found.expected:>5} ours {found.got:>5}", end="")
        print(
            "".join(
                f" | {len(getattr(found, what))} {what}: {'; '.join(getattr(found, what)[:3])}"[:150]
                for what in ("missing", "extra", "wrong")
                if getattr(found, what)
            )
        )


if __name__ == "__main__":
    main(sys.argv[1:])
