"""How is a job's end described? Where, when, after what, what followed, and the lines that show it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pandas as pd

from monitor.analyze.cascade import Cascade
from monitor.analyze.ending import Ending
from monitor.diagnose.quoted import quoted
from monitor.diagnose.rule import Case
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.report import lost_words
from monitor.model import Evidence, Run, Saving
from monitor.words import count, duration

SOURCE = "the job's own log and status"
_RANKS_NAMED = 6
_LONGEST_SAID = 240


def who(first: Cascade | None, unknown: str = "A process") -> str:
    """``Rank 14 on algo-2``, ``A process on algo-2``; ``unknown`` where neither is known."""
    if first is None or (first.rank is None and not first.node):
        return unknown
    rank = "A process" if first.rank is None else f"Rank {first.rank}"
    return " on ".join(part for part in (rank, first.node) if part)


def place(first: Cascade | None) -> str:
    """``on algo-2, rank 14`` for a title; empty where nothing is known."""
    if first is None or (first.rank is None and not first.node):
        return ""
    rank = f"rank {first.rank}" if first.rank is not None else ""
    return f" on {', '.join(part for part in (first.node, rank) if part)}"


def when(case: Case, ending: Ending) -> str:
    """``at 09:13 UTC, after step 1,200``, as far as it is known; begins with a blank."""
    job, at = case.run.job, ending.at
    ran = (job.ended or case.now) - job.started if job.started else None
    said = f" at {case.clock(at)}" if at else f" after {duration(ran.total_seconds())}" if ran else ""
    done = steps_done(case.run, at)
    if done is None and not case.run.logs.lines:
        return said  # what was not read reports no step either
    step = "before any step was reported" if done is None else f"after step {done:,}"
    return f"{said}, {step}" if said else f" {step}"


def steps_done(run: Run, at: datetime | None) -> int | None:
    """The highest step that was reported up to ``at``; None where none was."""
    rows = run.steps[["step", "timestamp", "segment"]].dropna(subset=["step"])
    if at is not None and rows["timestamp"].notna().any():
        rows = rows[rows["timestamp"] <= pd.Timestamp(at)]
    rows = rows[rows["segment"] == rows["segment"].max()]
    return None if rows.empty else int(rows["step"].max())


def line_words(first: Cascade | None) -> str:
    """``log line 585`` of the first error; empty where there is none."""
    return f"log line {first.line:,}" if first is not None and first.line > 0 else ""


def followed(first: Cascade | None) -> str:
    """A sentence of what came after the first error, folded; empty where nothing did."""
    if first is None or not first.followers:
        return ""
    ranks = ", ".join(str(rank) for rank in first.ranks[:_RANKS_NAMED])
    more = len(first.ranks) - _RANKS_NAMED
    of = (
        f" of rank{'s' if len(first.ranks) > 1 else ''} {ranks}{f' and {more} more' if more > 0 else ''}"
        if ranks
        else ""
    )
    tell = "is a consequence" if first.followers == 1 else "are consequences"
    return f" {count(first.followers, 'later error')}{of} {tell}."


def doubt(ending: Ending) -> str:
    """A sentence that names what would look the same; empty where nothing does."""
    return f" It could also be {ending.instead}." if ending.instead else ""


class Saved(NamedTuple):
    """The last checkpoint before a moment."""

    at: datetime
    step: int | None


def last_checkpoint(run: Run, at: datetime | None) -> Saved | None:
    """The last checkpoint that the log says was saved before ``at``; None where none is told of, or lines have no time."""
    rows = run.events[(run.events["kind"] == "checkpoint-end") & run.events["timestamp"].notna()]
    rows = rows[rows["timestamp"] <= pd.Timestamp(at)] if at is not None else rows
    if rows.empty:
        return None
    saved = rows["timestamp"].max()
    return Saved(saved.to_pydatetime(), steps_done(run, saved.to_pydatetime()))


def from_checkpoint(case: Case, at: datetime | None) -> str:
    """A sentence with the checkpoint to go on from; empty where none is told of."""
    saved = last_checkpoint(case.run, at)
    if saved is None:
        return ""
    done = steps_done(case.run, at)
    again = (
        ""
        if saved.step is None or done is None or done <= saved.step
        else f", {count(done - saved.step, 'step')} to do again"
    )
    step = "" if saved.step is None else f", step {saved.step:,}"
    cost = f" ({money})" if again and (money := lost_words(case.bill, not_saved(case, at))) else ""
    return f" The last checkpoint is from {case.clock(saved.at)}{step}{again}{cost}."


def not_saved(case: Case, at: datetime | None) -> tuple[Saving, ...]:
    """The work from the last checkpoint up to ``at`` (the end, where that is not known), which is to be done again; empty
    where no checkpoint is told of, since then nobody knows what was kept."""
    saved, until = last_checkpoint(case.run, at), at or case.run.job.ended
    if saved is None or until is None:
        return ()
    return (Saving(STEPS, most_s=max(0.0, (until - saved.at).total_seconds()), kind="void"),)


def shown(case: Case, ending: Ending) -> tuple[Evidence, ...]:
    """The line that decides, the program's own line that raised it, what came after, and SageMaker's word."""
    first, at, out = ending.first, ending.at, []
    node = (first.node or None) if first else None
    if first is not None and first.line:
        number = f"line {first.line} of " if first.line > 0 else ""
        what = f"first error, {number}{first.stream.rpartition('/')[2] or first.stream}"
        out.append(
            Evidence(what, first.rank, "rank" if first.rank is not None else "", node, at, at, quoted(first.text))
        )
    if ending.text and (first is None or ending.text != first.text):
        out.append(Evidence("what it says", None, "", node, at, at, quoted(ending.text)))
    own = [frame for frame in ending.frames if not frame.startswith("data: ")] or list(ending.frames)
    if own:
        out.append(Evidence("raised in", own[-1].removeprefix("data: "), "", node, at, at))
    if first is not None and first.followers:
        out.append(Evidence("errors that followed", float(first.followers), "errors", None, at, None))
    reason = ending.reason
    if reason is not None:
        if reason.exit_code is not None:
            out.append(Evidence("exit code, from FailureReason", float(reason.exit_code)))
        if first is None or not reason.quotes_program:
            out.append(
                Evidence(
                    "FailureReason",
                    start=case.run.job.ended,
                    line=quoted(reason.extra or reason.quote),
                    role="of SageMaker",
                )
            )
    return tuple(out)


def opening(case: Case, ending: Ending, what: str) -> str:
    """``Rank 14 on algo-2 ran out of GPU memory at 09:13 UTC, after step 1,200 (log line 585).``"""
    line = line_words(ending.first)
    subject = who(ending.first, "The job" if ending.first is None else "A process")
    return f"{subject} {what}{when(case, ending)}{f' ({line})' if line else ''}."


def said(ending: Ending) -> str:
    """What the deciding line says, as a sentence behind another one."""
    text = quoted(ending.text)
    text = text if len(text) <= _LONGEST_SAID else f"{text[: _LONGEST_SAID - 1]}…"
    return f" {text}" if text.endswith((".", "!", "?", "…")) else f" {text}."


def rest(case: Case, ending: Ending) -> str:
    """What followed, and where to go on from."""
    return followed(ending.first) + from_checkpoint(case, ending.at)
