"""How is a failure of the program described: an exception about data, one of its own, a loss that is not a number?"""

from __future__ import annotations

from datetime import datetime

from monitor.analyze.ending import Ending
from monitor.analyze.losses import FEWEST_IN_A_ROW, NanLoss
from monitor.diagnose.endings import description as ended
from monitor.diagnose.quoted import quoted
from monitor.diagnose.rule import Case
from monitor.diagnose.stakes import WORK
from monitor.diagnose.words.cost import lost_words
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import capitalised, count

_LONGEST_TITLE = 79


def of_data(case: Case, ending: Ending) -> Finding:
    """The finding ``data-error``."""
    by_service = ending.kind == "data"
    what = "could not get its input data" if by_service else "failed on its data"
    why = f" It looks like a data problem because {ending.why}." if ending.why else ""
    step = (
        "Check the channel's S3 address, that it contains objects, and that the job's role may read them "
        "(s3:GetObject, s3:ListBucket, and kms:Decrypt for encrypted ones)."
        if by_service or "S3" in ending.text or "s3://" in ending.text or "operation:" in ending.text
        else "Read the file or sample named in the log line outside the job; then repair it, or skip bad samples "
        "and count them."
    )
    if "another shape" in ending.why or "equal size" in ending.text:
        step = "First print the shapes in that batch; pad or drop whatever differs (drop_last=True for a last, smaller one)."
    return _program(
        case, ending, "data-error", "Data error", f"{ended.opening(case, ending, what)}{ended.said(ending)}{why}", step
    )


def of_program(case: Case, ending: Ending) -> Finding:
    """The finding ``script-error``."""
    why = f" {capitalised(ending.why)}" if ending.why else ""
    opening = f"{ended.opening(case, ending, 'failed in the training program itself')}{ended.said(ending)}{why}"
    own = [frame for frame in ending.frames if not frame.startswith("data: ")]
    at = own[-1].partition(" in ")[0] if own else ended.line_words(ending.first) or "the line shown"
    step = f"Start at {at}, and test with one or two steps on one instance before the next long run."
    return _program(case, ending, "script-error", "Program error", opening, step)


def lost_loss(case: Case, ending: Ending | None) -> Finding | None:
    """The finding ``nan-loss``, from the reports of the loss or from the program's own word that ended it."""
    found = case.nan
    if found is None and ending is None:
        return None
    if found is None:
        assert ending is not None
        opening = f"{ended.opening(case, ending, 'exited because the loss was NaN or infinite')}{ended.said(ending)}"
        at, evidence = ending.at, ended.shown(case, ending)
        title = f"Loss is NaN{ended.place(ending.first)}"
    else:
        at = found.start
        rank = "" if found.rank is None else f", as reported by rank {found.rank}"
        step = "" if found.step is None else f" at step {found.step:,}"
        title = f"Loss is NaN since step {found.step:,}" if found.step is not None else "Loss is NaN"
        good = "" if found.last_good is None else f"; step {found.last_good:,} was the last good one"
        stayed = (
            "then came back"
            if found.recovered
            else "stayed so until the end"
            if not case.run.job.is_running
            else "still is"
        )
        when = f" ({case.clock(at)})" if at else ""
        opening = (
            f"The loss became NaN or infinite{step}{when}{rank}, for {count(found.reports, 'report')} in a row, and "
            f"{stayed}{good}."
        )
        line = quoted(found.line) if found.line else None
        evidence = (
            Evidence("reports in a row", float(found.reports), "reports", found.node or None, at, found.end, line),
            *(ended.shown(case, ending) if ending is not None else ()),
        )
    savings, so_far = _useless(case, at, found), " so far" if case.run.job.is_running else ""
    cost = f": {money}{so_far}" if (money := lost_words(case.bill, savings)) else ""
    after = "" if found is None or found.recovered else f" Everything trained after it is useless{cost}."
    return Finding(
        "nan-loss",
        "critical",
        "high" if found is not None and found.reports >= FEWEST_IN_A_ROW else "medium",
        title,
        f"{opening}{after}{ended.from_checkpoint(case, at)}",
        evidence,
        Recommendation(
            "Go back to the last checkpoint with a finite loss; lower the learning rate or warm up longer, clip "
            "gradients, use bfloat16 instead of float16, and look at the batch of that step.",
            source=ended.SOURCE,
        ),
        not_checked=("gradients and weights: only the printed loss can be seen",),
        savings=savings,
    )


def _useless(case: Case, since: datetime | None, found: NanLoss | None) -> tuple[Saving, ...]:
    """All that was done with a loss that is no number."""
    recovered = found is not None and found.recovered
    until = found.end if found is not None and recovered else case.run.job.ended or case.now
    if since is None or until is None:
        return ()
    lost_s = max(0.0, (until - since).total_seconds())
    return (Saving(WORK, most_s=lost_s, kind="void", goes_on=0.0 if recovered else 1.0),)


def _program(case: Case, ending: Ending, id: str, title: str, opening: str, step: str) -> Finding:
    """The finding of an exception of the program."""
    name = ending.text.partition(":")[0].rpartition(".")[2]
    name = name if name.isidentifier() and name[0].isupper() and len(name) < 40 else ""
    return Finding(
        id,
        "critical",
        ending.confidence,
        f"{title}{f': {name}' if name else ''}{ended.place(ending.first)}"[:_LONGEST_TITLE],
        f"{opening}{ended.doubt(ending)}{ended.rest(case, ending)}",
        ended.shown(case, ending),
        Recommendation(step, source=ended.SOURCE),
        not_checked=("anything the program did not print, or had not yet flushed",),
        savings=ended.not_saved(case, ending.at),
    )
