"""How a job's end or standstill is described. Where, when, after what, what followed, and the lines that show it; what the
GPUs do meanwhile, who stopped first, where to restart from."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pandas as pd

from monitor.analyze.cascade import Cascade, cascade, cascade_words
from monitor.analyze.checkpoints import saves
from monitor.analyze.ending import Ending
from monitor.analyze.silence import GpuPattern, Silence
from monitor.diagnose.rulebook import Case
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.epochs import epoch_count
from monitor.diagnose.words.report import lost_words, quoted
from monitor.model import Evidence, Run, Saving
from monitor.words import count, duration, nodes, percent

SOURCE = "the job's own log and status"
_RANKS_NAMED = 6
_LONGEST_SAID = 240


def who(first: Cascade | None, unknown: str = "A process") -> str:
    """``Rank 14 on algo-2``, ``A process on algo-2``; ``unknown`` where neither is known."""
    if first is None or (first.rank is None and not first.node):
        return unknown
    rank = "A process" if first.rank is None else f"Rank {first.rank}"
    return " on ".join(part for part in (rank, first.node) if part)


def where_words(first: Cascade | None) -> str:
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
    step = _epochs_done(case.run) if done is None else f"after step {done:,}"
    return f"{said}, {step}" if said else f" {step}"


def _epochs_done(run: Run) -> str:
    told = epoch_count(run.events)
    return "before any step was reported" if told is None else f"after {told.epochs:,} epochs were reported"


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


def follower_sentence(first: Cascade | None) -> str:
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


def line_sentence(ending: Ending) -> str:
    """What the deciding line says, as a sentence behind another one."""
    text = quoted(ending.text)
    text = text if len(text) <= _LONGEST_SAID else f"{text[: _LONGEST_SAID - 1]}…"
    return f" {text}" if text.endswith((".", "!", "?", "…")) else f" {text}."


def rest(case: Case, ending: Ending) -> str:
    """What followed, and where to go on from."""
    return follower_sentence(ending.first) + from_checkpoint(case, ending.at)


def pattern_words(case: Case, pattern: GpuPattern | None) -> tuple[str, str]:
    """What the GPUs did in the silence: (clause, sentence), both empty where nothing can be said."""
    if pattern is None:
        return "", ""
    where = nodes(sorted(pattern.levels), case.gpu_nodes or len(pattern.levels))
    if pattern.pattern == "waiting":
        same = " They were at that level before as well." if pattern.changed is False else ""
        words = (
            " That pattern means a collective operation that never completes: the GPUs wait in it. NCCL gives up "
            "after 10 min by default (30 in older PyTorch), if at all."
        )
        return f"; GPUs pinned near 100 % {where}", words + same
    if pattern.pattern == "idle":
        return (
            f"; GPUs idle {where}",
            " The processes wait for something other than the GPU; likely a data read, a lock, or a dead peer.",
        )
    low, high = percent(min(pattern.levels.values())), percent(max(pattern.levels.values()))
    if pattern.pattern == "split":
        idle = nodes(pattern.idle_nodes, len(pattern.levels))
        return f"; GPUs idle {idle}, the others wait", f" The others (up to {high}) wait for something {idle}."
    return f"; GPUs flat between {low} and {high}", " Training never keeps utilization that flat."


def gpu_evidence(pattern: GpuPattern | None, found: Silence) -> tuple[Evidence, ...]:
    if pattern is None:
        return ()
    ordered = sorted(pattern.levels.items(), key=lambda item: item[1])
    chosen = ordered if len(ordered) <= 4 else [*ordered[:2], *ordered[-2:]]
    return tuple(
        Evidence(
            "GPU utilization during the silence", level, "%", node, found.since, found.until, view="gpu_utilization"
        )
        for node, level in chosen
    )


def first_to_stop(case: Case) -> tuple[Evidence, ...]:
    """The node whose last report is of an earlier step than those of all others, if several nodes print."""
    rows = case.run.steps.loc[case.run.steps["node"] != "", ["node", "step", "timestamp"]].dropna()
    if rows["node"].nunique() < 2:
        return ()
    last = rows.groupby("node", observed=True).last().sort_values("step")
    behind = last[last["step"] < last["step"].iloc[1]]
    if len(behind) != 1:
        return ()
    row = behind.iloc[0]
    at = row["timestamp"].to_pydatetime()
    return (
        Evidence(
            "last step of the node that stopped first",
            float(row["step"]),
            "step",
            behind.index[0],
            at,
            at,
            view="steps",
        ),
    )


def last_checkpoint_words(case: Case, found: Silence) -> tuple[str, tuple[Evidence, ...]]:
    """The advice with the last checkpoint in it, and that as evidence."""
    known = [save for save in saves(case.journal, case.run.events) if save.at <= found.since]
    ends = case.run.job.is_running
    if not known:
        words = "the log shows no checkpoint"
        return (
            f"Stop the job and restart it from its last checkpoint ({words}); every instance is billed while it hangs."
            if ends
            else f"Look for the rank that stopped first before the next run; {words}."
        ), ()
    save = known[-1]
    after = "" if save.step is None else f", step {save.step:,}"
    age_s = (found.since - save.at).total_seconds()
    words = f"from its last checkpoint, {case.clock(save.at)}{after} ({duration(age_s)} of work to repeat)"
    evidence = (
        Evidence("last checkpoint before the last step", age_s, "s of work", None, save.at, found.since, view="steps"),
    )
    if ends:
        return f"Stop the job and restart it {words}.", evidence
    return f"Look for the rank that stopped first, then restart the job {words}.", evidence


def error(case: Case, found: Silence) -> str:
    """The error that the silence began with, where the log of a running job tells of one."""
    if not case.run.job.is_running:
        return ""
    first = cascade(case.run.events, case.run.steps)
    if first is None or first.at is None or abs((first.at - found.since).total_seconds()) > found.least_s:
        return ""
    return f" It began with an error: {cascade_words(first)}."
