"""Which lines of a stretch of a log are shown? Those that match; of many, the ones nearest to the place being looked
at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from monitor.parse.learned_told import teller

#: Lines in a table at most.
MOST_SHOWN = 5000
#: Where a stretch is read from its end: lines in a table that is scrolled to its bottom, and as many again while it grows.
TAIL = 150
#: Lines above the one that was jumped to.
ABOVE = 6
#: In place of a level, of lines that name none.
NO_LEVEL = "none"
_RANGE = re.compile(r"\b(\d{1,6})\b(?:\s*-\s*(\d{1,6})\b)?")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What a line must have; nothing given is met by all."""

    text: str = ""
    """Stands in the line, whatever the case of letters."""
    levels: tuple[str, ...] = ()
    node: str | None = None
    ranks: tuple[tuple[int, int], ...] = ()
    """From and to, both included."""

    @property
    def is_open(self) -> bool:
        return not (self.text or self.levels or self.node or self.ranks)


def ranges(text: str) -> tuple[tuple[int, int], ...]:
    """``0, 8-15`` as ranges; what is none is passed over."""
    return tuple((int(one[1]), int(one[2] or one[1])) for one in _RANGE.finditer(text))


def placed(frame: pd.DataFrame, nodes: Mapping[int, str]) -> pd.DataFrame:
    """The lines with the node that their rank ran on, where the whole log tells: a tag's host is arithmetic."""
    if not nodes or frame["rank"].isna().all():
        return frame
    return frame.assign(node=frame["rank"].map(nodes).fillna(frame["node"]).astype("str"))


def learned(frame: pd.DataFrame, shapes: Sequence[str]) -> pd.DataFrame:
    """The lines with what those tell that the job's review learned to read, where no format knows them."""
    if not shapes:
        return frame
    told = teller(shapes)
    known = [said or told(line) for said, line in zip(frame["known"], frame["whole"], strict=True)]
    return frame.assign(known=pd.Series(known, frame.index, dtype="str"))


def matching(frame: pd.DataFrame, wanted: LogFilter) -> pd.DataFrame:
    """The lines that match, with their index."""
    keep = np.ones(len(frame), dtype=bool)
    if wanted.node:
        keep &= (frame["node"] == wanted.node).to_numpy(bool)
    if wanted.ranks:
        ranks = frame["rank"]
        in_one = np.zeros(len(frame), dtype=bool)
        for first, last in wanted.ranks:
            in_one |= ranks.between(first, last).fillna(False).to_numpy(bool)
        keep &= in_one
    if wanted.levels:
        keep &= frame["level"].replace("", NO_LEVEL).isin(wanted.levels).to_numpy(bool)
    if wanted.text:
        keep[keep] = frame.loc[keep, "whole"].str.contains(wanted.text, case=False, regex=False).to_numpy(bool)
    return frame[keep]


def after(frame: pd.DataFrame, row: int | None) -> pd.DataFrame:
    """The lines from a few before ``row`` (an index) on, as many as a table shows."""
    begin = 0 if row is None else max(0, int(frame.index.searchsorted(row)) - ABOVE)
    return frame.iloc[begin : begin + MOST_SHOWN]


def tail(frame: pd.DataFrame, first: tuple[int, int] | None) -> pd.DataFrame:
    """The last lines. Those from ``first`` (time, digest) on while they are not too many: what is there does not move."""
    if first is not None:
        begin = int(frame["time"].searchsorted(pd.Timestamp(first[0], unit="ms", tz="UTC")))
        while begin < len(frame) and int(frame["digest"].iloc[begin]) != first[1] and begin < len(frame) - TAIL:
            begin += 1
        if 0 < len(frame) - begin <= 2 * TAIL and int(frame["digest"].iloc[begin]) == first[1]:
            return frame.iloc[begin:]
    return frame.iloc[-TAIL:]


def key_of(frame: pd.DataFrame, place: int) -> tuple[int, int]:
    """What tells the line at a place from all others: its time in ms, and a digest."""
    row = frame.iloc[place]
    return int(row["time"].value // 1_000_000), int(row["digest"])


def row_of(frame: pd.DataFrame, key: tuple[int, int]) -> int | None:
    """The index of that line; None where it is not here."""
    same = frame[(frame["time"] == pd.Timestamp(key[0], unit="ms", tz="UTC")) & (frame["digest"] == key[1])]
    return int(same.index[0]) if len(same) else None
