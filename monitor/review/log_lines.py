"""A stretch of a log, line by line. Who wrote it, at which level, what was recognized; without its secrets. Of many
lines that match, those nearest to the place being looked at; what somebody looks at is read in the background."""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from monitor.aws.calls import metered
from monitor.errors import BadCall, NoSuchJob, TrainwatchError
from monitor.faults import fault, shape_of
from monitor.fetch.logs.events import node_of_stream
from monitor.fetch.source import JobSource, LogLineReader
from monitor.masking import MASK, KeyLines, without_secrets
from monitor.model import Job, LogLine, LogRequest, LogSpan
from monitor.parse.definitions import recogniser
from monitor.parse.labels import line_labels, streams
from monitor.parse.lines.envelope import TAG, fragments, without_escapes, without_octal
from monitor.parse.lines.levels import level_of
from monitor.parse.pages.gates import Recogniser
from monitor.parse.strangers.labels import teller
from monitor.parse.user import step_pattern
from monitor.review.watch import FORGET_AFTER_S, LATE_S
from monitor.settings import Settings

#: A cell holds no more of a line; all of it is shown on demand.
LONGEST_CELL = 500
# So much of a line is looked at for who wrote it.
_HEAD = 4_000
# Lines before the new ones that are looked at again: a clock that they print is differenced.
_CONTEXT = 200
_COLUMNS = {
    "time": "datetime64[ms, UTC]",
    "stream": "str",
    "node": "str",
    "rank": "Int64",
    "level": "str",
    "known": "str",
    "line": "str",
    "whole": "str",
    "masked": "bool",
    "digest": "int64",
}
_REDRAW = re.compile(r"[\r\b]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class LogTable:
    """The lines of a span as a frame, in time.

    ``time stream node rank level known line whole masked digest``: ``line`` is what stands in a cell, ``whole`` the line as
    it is; both without secrets. ``digest`` tells lines of one time apart.
    """

    frame: pd.DataFrame
    span: LogSpan


def tabled(
    span: LogSpan,
    extra: tuple[Recogniser, ...] = (),
    further: tuple[Recogniser, ...] = (),
    before: LogTable | None = None,
    secrets: tuple[str, ...] = (),
) -> LogTable:
    """The table of a span; recognizers as the job's own review has them, ``secrets`` the job's own, masked anywhere.

    What ``before`` has is not read again.
    """
    skipped, same = (0, 0) if before is None else _same(before.span.lines, span.lines)
    lines = span.lines[max(0, same - _CONTEXT) :]
    nodes = {stream: node_of_stream(stream) for stream in {line.stream for line in lines}}
    pages = streams((line.stream, nodes[line.stream], line.time_ms, line.text) for line in lines)
    known, errors = line_labels(pages, extra, further)
    numbers, keys = dict.fromkeys(nodes, 0), KeyLines()
    rows = []
    for at, line in enumerate(lines, start=max(0, same - _CONTEXT)):
        numbers[line.stream] += 1
        whole = MASK if keys.holds(line.stream, line.text) else without_secrets(line.text, secrets)
        if at >= same:
            place = (line.stream, numbers[line.stream])
            said = without_secrets(known.get(place, ""), secrets)
            rows.append(_row(line, whole, nodes[line.stream], said, place in errors))
    fresh = _frame(rows)
    if before is not None and same:
        fresh = pd.concat([before.frame.iloc[skipped : skipped + same], fresh], ignore_index=True)
    return LogTable(fresh, span)


def _same(old: Sequence[LogLine], new: Sequence[LogLine]) -> tuple[int, int]:
    """(how many of the old lines are gone from the head, how many of the new ones are the old ones that follow)."""
    skipped = next((at for at, line in enumerate(old) if new and line is new[0]), len(old))
    same = 0
    for known, line in zip(old[skipped:], new, strict=False):
        if known is not line:
            break
        same += 1
    return skipped, same


def _row(line: LogLine, whole: str, stream_node: str, known: str, is_error: bool) -> tuple[Any, ...]:
    rank, host, text = written(line.text)
    level = level_of(text)
    return (
        line.time_ms,
        line.stream,
        host or stream_node,
        rank,
        "error" if is_error and level != "warning" else level,
        known,
        cell(whole),
        whole,
        whole != line.text,
        zlib.crc32(f"{line.stream} {whole}".encode("utf-8", "replace")),
    )


def _frame(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    frame["time"] = pd.to_datetime(frame["time"].astype("int64"), unit="ms", utc=True).astype("datetime64[ms, UTC]")
    return frame.astype({name: dtype for name, dtype in _COLUMNS.items() if name != "time"})


def cell(whole: str) -> str:
    """A line as one cell: without process tag, colors and what was drawn over."""
    text = without_escapes(without_octal(whole[: 8 * LONGEST_CELL]))
    tag = TAG.match(text)
    text = text[tag.end() :] if tag else text
    drawn = [part for part in _REDRAW.split(text) if part.strip()]
    if len(drawn) > 1:
        text = f"… {drawn[-1]}"
    text = _CONTROLS.sub("", text.replace("\t", "    ")).rstrip()
    return text if len(text) <= LONGEST_CELL and len(whole) <= 8 * LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def as_it_is(whole: str) -> str:
    """A line with its control characters made visible, so that nothing of it acts."""
    text = without_octal(whole).replace("\r\n", "\n").replace("\r", "␍\n").replace("\x1b", "␛").replace("\b", "␈")
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", "    "))


class Written(NamedTuple):
    """What the tags of a line tell of its last piece."""

    rank: int | None = None
    host: str = ""
    words: str = ""


def written(line: str) -> Written:
    pieces = fragments(line[:_HEAD])
    if not pieces:
        return Written()
    last = pieces[-1]
    return Written(last.rank, last.host, last.text)


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
    labels = teller(shapes)
    known = [said or labels(line) for said, line in zip(frame["known"], frame["whole"], strict=True)]
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


def key_of(frame: pd.DataFrame, row_number: int) -> tuple[int, int]:
    """What tells the line at a place from all others: its time in ms, and a digest."""
    row = frame.iloc[row_number]
    return int(row["time"].value // 1_000_000), int(row["digest"])


def row_of(frame: pd.DataFrame, key: tuple[int, int]) -> int | None:
    """The index of that line; None where it is not here."""
    same = frame[(frame["time"] == pd.Timestamp(key[0], unit="ms", tz="UTC")) & (frame["digest"] == key[1])]
    return int(same.index[0]) if len(same) else None


#: A growing stretch is read on so often while somebody looks.
REFRESH_S = 5.0
_AFTER_TROUBLE_S = 20.0
# The job itself is asked for less often: whether it still runs.
_JOB_S = 30.0
# A stretch holds some megabytes at most: so many are remembered that nobody looks at any more.
REMEMBERED = 12


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """What is known of a stretch right now. All fields are empty until it was read once."""

    job: Job | None = None
    table: LogTable | None = None
    error: TrainwatchError | None = None
    """Why the last try failed; ``table`` is then the last good one, if any."""
    updated_at: datetime | None = None
    working: bool = False
    progress: str = ""
    calls: int = 0
    """All that this stretch took so far."""
    growing: bool = False
    """It reaches to the end of a job that runs: more lines come."""
    lineless: bool = False
    """The source keeps no lines: an archive."""


class LogWatch:
    """Reads stretches of logs in the background: one worker thread each, and an end when nobody has asked for a while.

    ``lines`` never blocks. A stretch that grows is read on every ``refresh_s`` while somebody asks for it; any other is
    read once. Safe to call from many threads.
    """

    def __init__(
        self,
        source: JobSource,
        refresh_s: float = REFRESH_S,
        parallel: int = 3,
        settings: Settings = Settings(),
        forget_after_s: float = FORGET_AFTER_S,
    ) -> None:
        self._source = source
        self._refresh_s = refresh_s
        self._forget_after_s = forget_after_s
        self._settings = settings
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(parallel)
        self._snapshots: dict[tuple[str, LogRequest], LogSnapshot] = {}
        self._asked: dict[tuple[str, LogRequest], float] = {}
        self._workers: set[tuple[str, LogRequest]] = set()

    def lines(self, name: str, ask: LogRequest) -> LogSnapshot:
        """The newest state of a stretch; the first call starts reading it."""
        if (read := self._source.lines) is None:
            return LogSnapshot(lineless=True)
        key = (name, ask)
        with self._lock:
            self._asked[key] = time.monotonic()
            self._forget()
            known = self._snapshots.setdefault(key, LogSnapshot(working=True, progress="asking for the job"))
            if key not in self._workers and (known.updated_at is None or known.growing or _passes(known.error)):
                self._workers.add(key)
                threading.Thread(target=self._work, args=(read, key), name=f"log of {name}", daemon=True).start()
            return known

    def _forget(self) -> None:
        """Drops the stretches that nobody works on and that were asked for longest ago."""
        idle = sorted((at, key) for key, at in self._asked.items() if key not in self._workers)
        for _, key in idle[:-REMEMBERED]:
            self._snapshots.pop(key, None)
            del self._asked[key]

    def _work(self, read: LogLineReader, key: tuple[str, LogRequest]) -> None:
        name, ask = key
        job_at = float("-inf")
        job: Job | None = None
        while True:
            wait_s = self._refresh_s
            with self._turn:
                try:
                    if job is None or time.monotonic() - job_at > _JOB_S:
                        self._set(key, working=True)
                        job, job_at = self._source.job(name), time.monotonic()
                    self._read(read, key, job, ask)
                except TrainwatchError as error:
                    self._failed(key, error)
                    wait_s = max(wait_s, _AFTER_TROUBLE_S)
                except Exception as error:  # a bug must not leave a page waiting for ever
                    self._failed(key, fault(error, "Reading the log", shape_of(job)))
                    wait_s = max(wait_s, _AFTER_TROUBLE_S)
            with self._lock:
                known = self._snapshots[key]
                if not known.growing and not _passes(known.error):
                    self._workers.discard(key)
                    return
            time.sleep(wait_s)
            with self._lock:
                if time.monotonic() - self._asked[key] > self._forget_after_s:
                    self._workers.discard(key)
                    return

    def _read(self, read: LogLineReader, key: tuple[str, LogRequest], job: Job, ask: LogRequest) -> None:
        before = self._snapshots[key].table
        self._set(key, job=job, working=True, progress="reading the log")
        with metered() as tally:
            span = read(job, ask, before.span if before else None)
        calls = sum(tally.bill().calls.values())
        extra, further = self._recognisers(job)
        table = tabled(span, extra, further, before, job.secrets)
        self._set(
            key,
            table=table,
            error=None,
            updated_at=datetime.now(UTC),
            working=False,
            progress="",
            calls=self._snapshots[key].calls + calls,
            growing=_grows(job, ask, table),
        )

    def _recognisers(self, job: Job) -> tuple[tuple[Recogniser, ...], tuple[Recogniser, ...]]:
        """The user's saved patterns and the job's own metric definitions, as its review asks them."""
        extra: list[Recogniser] = []
        for pattern in self._settings.patterns_of(job.name):
            try:
                extra.append(step_pattern(pattern))
            except BadCall:
                continue  # the review says so
        further, _ = recogniser(job.metric_definitions) if job.metric_definitions else (None, ())
        return tuple(extra), (further,) if further else ()

    def _failed(self, key: tuple[str, LogRequest], error: TrainwatchError) -> None:
        self._set(key, error=error, updated_at=datetime.now(UTC), working=False, progress="")

    def _set(self, key: tuple[str, LogRequest], **changes: object) -> None:
        with self._lock:
            self._snapshots[key] = replace(self._snapshots[key], **changes)  # type: ignore[arg-type]


def _grows(job: Job, ask: LogRequest, table: LogTable) -> bool:
    if ask.end is not None or table.span.newer:
        return False
    return job.is_running or (job.ended is not None and (datetime.now(UTC) - job.ended).total_seconds() < LATE_S)


def _passes(error: TrainwatchError | None) -> bool:
    """Whether another try may end otherwise."""
    return error is not None and not isinstance(error, NoSuchJob | BadCall)
