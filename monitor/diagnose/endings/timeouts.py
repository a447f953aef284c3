"""How is a collective operation described in which ranks waited until its timeout?"""

from __future__ import annotations

import re

import pandas as pd

from monitor.analyze.cascade import with_writers
from monitor.analyze.ending import Ending
from monitor.analyze.failure_causes import kind_of
from monitor.diagnose.endings import description as ended
from monitor.diagnose.rule import Case
from monitor.diagnose.words.cost import lost_words
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import count, duration

_RAN_MS = re.compile(
    r"\bran for (\d{2,12}) milliseconds|\b(?:waiting|timeout after) (\d{2,12}) ?ms|\bin (\d{2,12}) ms\b"
)
_OPERATION = re.compile(r"\bOpType=(\w+)")
_PASSED = re.compile(r"\bRanks? (\d+)\b[\d, ]{0,200} failed to pass monitoredBarrier")
_MEMBERS = re.compile(r"world_size=(\d{1,6}), worker_count=(\d{1,6})|(\d{1,6})/(\d{1,6}) clients joined")
# So many are named; more than half of all are no suspects.
_NAMED = 8


def finding(case: Case, ending: Ending) -> Finding:
    """The finding ``nccl-timeout``."""
    first = ending.first
    told = case.run.events[case.run.events["kind"].isin(["collective-timeout", "error"])]
    told = with_writers(told, case.run.steps)
    told = told[told["text"].map(kind_of) == "timeout"]
    silence_s = _silence_s(case, ending, told)
    reported = {int(rank) for rank in told["rank"].dropna()}
    missing = _missing(case, reported)
    silence, savings = "", ended.not_saved(case, ending.since or ending.at)
    if silence_s is not None:
        silence = f" Nothing had moved for {duration(silence_s)} before it"
        if ending.since and ending.at and ending.since < ending.at:
            silence += f", since the last step at {case.clock(ending.since)}"
        savings = (Saving(("stall", "unknown", "idle-tail"), most_s=silence_s), *savings)
        cost = f": {money}" if (money := lost_words(case.bill, savings[:1])) else ""
        silence += f"{cost}."
    operation = next((found[1] for text in told["text"] if (found := _OPERATION.search(text))), "")
    who = ended.who(first, "A process")
    collective = f"a collective operation{f' ({operation})' if operation else ''}"
    what = f"waited for other ranks in {collective} until its watchdog ended the job"
    others = f" {count(len(reported), 'rank')} reported the timeout." if len(reported) > 1 else ""
    suspects = ""
    if missing:
        names = ", ".join(str(rank) for rank in missing[:_NAMED])
        suspects = f" Rank{'s' if len(missing) > 1 else ''} {names} did not report it: look there first."
    members = next((found for text in told["text"] if (found := _MEMBERS.search(text))), None)
    joined = ""
    if members and members[3]:
        joined = f" {members[3]} of {members[4]} processes had joined."
    culprit = next((found[1] for text in told["text"] if (found := _PASSED.search(text)) and found[1]), "")
    if culprit:
        suspects = f" Rank {culprit} never reached the barrier: look there first."
    return Finding(
        "nccl-timeout",
        "critical",
        ending.confidence,
        f"Collective timed out{f' after {duration(silence_s)}' if silence_s else ''}{ended.place(first)}"[:79],
        f"{who} {what}{ended.when(case, ending)} "
        f"({ended.line_words(first) or 'by FailureReason'}).{silence}{others}{joined}{suspects} Which rank was "
        "missing is not confirmed: the rank that reports first is only the first to time "
        f"out.{ended.from_checkpoint(case, ending.since or ending.at)}",
        (
            *ended.shown(case, ending),
            *(
                ()
                if silence_s is None
                else (Evidence("silence before it", silence_s, "s", None, ending.since, ending.at, view="steps"),)
            ),
            *((Evidence("ranks that reported it", float(len(reported)), "ranks"),) if reported else ()),
            *((Evidence("ranks that did not", ", ".join(map(str, missing[:_NAMED]))),) if missing else ()),
        ),
        Recommendation(
            (f"Read what rank {culprit or missing[0]} did last. " if culprit or missing else "")
            + "Compare the number of batches on each rank, and look for saves or evaluations that only some ranks "
            "do; a next run with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 records which "
            "rank is missing.",
            source="PyTorch, flight recorder",
        ),
        not_checked=("which rank never joined the operation: flight recorder dumps are not read",),
        savings=savings,
    )


def _silence_s(case: Case, ending: Ending, told: pd.DataFrame) -> float | None:
    """How long nothing moved: from the last step, but no longer than lines can tell; else what the message says."""
    if ending.since is not None and ending.at is not None and ending.since < ending.at:
        return (ending.at - ending.since).total_seconds()
    found = next((found for text in told["text"] if (found := _RAN_MS.search(text))), None)
    return None if found is None else float(found[1] or found[2] or found[3]) / 1000


def _missing(case: Case, reported: set[int]) -> list[int]:
    """Ranks that are known to be there and did not report the timeout; none where they are most of all."""
    known = {int(rank) for frame in (case.run.steps, case.run.events) for rank in frame["rank"].dropna().unique()}
    known |= set(range(max(reported, default=-1) + 1))
    gpus = [node.gpus for node in case.run.job.nodes]
    if gpus and all(gpus):
        world = sum(count or 0 for count in gpus)
        known |= set(range(world)) if max(reported | {0}) < world else set()
    missing = sorted(known - reported)
    return missing if reported and 2 * len(missing) < len(known) else []
