"""Where in a log a report's findings and phases are. Places to jump to, and marks beside lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.cascade import Cascade, cascade
from monitor.masking import without_secrets
from monitor.model import Evidence, Finding, Phase, Report
from monitor.words import phase as phase_words

START, FIRST_STEP, FIRST_ERROR, END = "start", "first-step", "first-error", "end"
# A fact's time may be that of the span it speaks of, not of the line to the millisecond.
_NEAR = timedelta(seconds=5)
# The first line of a phase comes so soon after its begin.
_BEGINS_WITH = timedelta(minutes=1)
_KEY_CHARS = 40
_MOST_QUOTES = 200
_MOST_PHASES = 60
_WITHIN_WORK = "slow-excess"
_STEP = re.compile(r"step (\d{1,12})")


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that a finding quotes."""

    key: str
    """``cuda-out-of-memory.0``: the finding and the number of the fact."""
    finding: Finding
    fact: Evidence
    at: datetime | None
    """When it was written, as far as that is known."""

    @property
    def text(self) -> str:
        """The line as it is compared: one space between words, without the sign that it was cut."""
        return _flat(self.fact.line or "").removesuffix("…")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Somewhere to jump to; without a time it is the end."""

    key: str
    label: str
    at: datetime | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class LogContext:
    """What a report knows of its log."""

    quotes: tuple[Quote, ...]
    bookmarks: tuple[Bookmark, ...]
    error: Quote | None
    """The first error, as a line to look for."""
    phases: tuple[Phase, ...]
    nodes: Mapping[int, str]
    """Which node a rank ran on, where it ran on one."""


def log_context(report: Report) -> LogContext:
    found, error = quotes(report), first_error(report)
    as_quote = None
    if error is not None:
        fact = Evidence("first error", node=error.node or None, line=without_secrets(error.text))
        as_quote = Quote(FIRST_ERROR, Finding("", "info", "low", "", ""), fact, error.at)
    bookmarks = _bookmarks(report, found, error)
    return LogContext(found, bookmarks, as_quote, _phases(report), _nodes_of_ranks(report))


def is_of_the_log(fact: Evidence) -> bool:
    """Whether the fact quotes a line of the log, and not what SageMaker says of the job."""
    return fact.line is not None and fact.role != "of SageMaker"


def quotes(report: Report) -> tuple[Quote, ...]:
    """The lines that findings quote, in the order of the findings."""
    found = []
    for finding in report.findings:
        for number, fact in enumerate(finding.evidence):
            if is_of_the_log(fact):
                found.append(Quote(f"{finding.id}.{number}", finding, fact, _moment(fact, report)))
    return tuple(found[:_MOST_QUOTES])


def _bookmarks(report: Report, found: Sequence[Quote], error: Cascade | None) -> tuple[Bookmark, ...]:
    """Where a reader may want to go: the ends, the first step and error, what findings quote, where phases begin."""
    job, steps = report.job, report.run.steps
    out = [Bookmark(START, "Start of the log", job.started or job.created)]
    stamps = steps["timestamp"].dropna()
    if len(stamps):
        out.append(Bookmark(FIRST_STEP, "First step", _datetime(stamps.min())))
    if error is not None and error.at is not None:
        out.append(Bookmark(FIRST_ERROR, "First error", error.at, FIRST_ERROR))
    out.append(Bookmark(END, "End of the log"))
    for quote in found:
        if quote.at is not None:
            label = quote.fact.label or "quoted line"
            out.append(Bookmark(f"quote-{quote.key}", f"{quote.finding.title}: {label}", quote.at, quote.key))
    for number, phase in enumerate(_phases(report)[:_MOST_PHASES]):
        out.append(Bookmark(f"phase-{number}", f"Phase: {phase_words(phase.name)}", phase.start))
    return tuple(out)


def _phases(report: Report) -> tuple[Phase, ...]:
    """The phases as somebody reads a log by them: a slow step is no phase of its own, and work goes on behind it."""
    out: list[Phase] = []
    for phase in report.phases:
        if phase.name != _WITHIN_WORK and not (out and out[-1].name == phase.name):
            out.append(phase)
    return tuple(out)


def first_error(report: Report) -> Cascade | None:
    """The error to flag; of a job that ended well, or was stopped, none is one."""
    if report.job.status in {"Completed", "Stopped", "Stopping"}:
        return None
    return cascade(report.run.events, report.run.steps)


def row_of(quote: Quote, frame: pd.DataFrame) -> int | None:
    """The index in ``frame`` (``time node whole``, in time) of the line quoted: of several the nearest in time."""
    near = frame
    if quote.at is not None:
        times = frame["time"]
        near = frame.iloc[rows_before(times, quote.at - _NEAR) : rows_before(times, quote.at + _NEAR)]
    text = quote.text
    word = max(text[:400].split(), key=len, default="")[:_KEY_CHARS]
    near = near[near["whole"].str.contains(word, regex=False)]
    near = near[[text in _flat(whole) for whole in near["whole"]]]
    if near.empty:
        return None
    if quote.fact.node and (near["node"] == quote.fact.node).any():
        near = near[near["node"] == quote.fact.node]
    if quote.at is None:
        return int(near.index[0])
    return int((near["time"] - quote.at).abs().idxmin())


def rows_before(times: pd.Series, moment: datetime) -> int:
    """How many of the times, in order and in milliseconds, lie before a moment."""
    return int(times.searchsorted(pd.Timestamp(moment).ceil("ms").as_unit("ms")))


def marks(about: LogContext, frame: pd.DataFrame) -> list[str]:
    """Beside each row: which findings quote it, whether it is the first error, and which phase begins with it."""
    out: list[list[str]] = [[] for _ in range(len(frame))]
    if frame.empty:
        return []
    # What a finding quotes says more than that it came first.
    for quote in (*about.quotes, about.error) if about.error else about.quotes:
        row = row_of(quote, frame)
        said = "✕ first error" if quote is about.error else f"◆ {quote.finding.id}"
        if row is not None and said not in (there := out[int(frame.index.searchsorted(row))]):
            there.append(said)
    times = frame["time"]
    for phase in about.phases:
        at = rows_before(times, phase.start)
        # A phase that began before these lines, or begins after them, begins with none of them.
        if at < len(frame) and (at > 0 or times.iloc[0] - phase.start < _BEGINS_WITH):
            out[at].append(f"▸ {phase_words(phase.name)}")
    return [", ".join(said) for said in out]


def _nodes_of_ranks(report: Report) -> dict[int, str]:
    """Which node a rank ran on, as the whole log tells; nothing where a rank ran on several."""
    both = pd.concat([frame[["rank", "node"]].dropna() for frame in (report.run.steps, report.run.events)])
    both = both[both["node"] != ""].drop_duplicates()
    once = both[~both["rank"].duplicated(keep=False)]
    return {int(rank): str(node) for rank, node in zip(once["rank"], once["node"], strict=True)}


def _moment(fact: Evidence, report: Report) -> datetime | None:
    text = _flat(fact.line or "").removesuffix("…")
    events, steps = report.run.events, report.run.steps
    if fact.start is not None:
        return fact.start
    if text and len(events):
        same = events[
            [text in _flat(said) or (len(said) > _KEY_CHARS and _flat(said) in text) for said in events["text"]]
        ]
        stamps = same["timestamp"].dropna()
        if len(stamps):
            return _datetime(stamps.iloc[0])
    if (step := _STEP.fullmatch(text)) is not None:
        stamps = steps.loc[(steps["step"] == int(step[1])).fillna(False), "timestamp"].dropna()
        if len(stamps):
            return _datetime(stamps.iloc[0])
    return fact.end


def _flat(text: str) -> str:
    return " ".join(text.split())


def _datetime(stamp: pd.Timestamp) -> datetime:
    moment: datetime = stamp.to_pydatetime()
    return moment
