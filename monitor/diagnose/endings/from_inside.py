"""The description of an end that the program came to by itself.

By an exception about data or one of its own, a loss that is not a number, a missing permission (with the statement that would
have prevented it), or a collective operation in which ranks waited until its timeout.
"""

from __future__ import annotations

import json
import re
from datetime import datetime

import pandas as pd

from monitor.analyze import failure_causes
from monitor.analyze.cascade import with_writers
from monitor.analyze.ending import Ending
from monitor.analyze.failure_causes import Denied, denied, kind_of
from monitor.analyze.journal import FEWEST_IN_A_ROW, NanLoss
from monitor.diagnose.endings import description as ended
from monitor.diagnose.rulebook import Case
from monitor.diagnose.stakes import WORK
from monitor.diagnose.words.report import lost_words, quoted
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import capitalised, count, duration

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
        case,
        ending,
        "data-error",
        "Data error",
        f"{ended.opening(case, ending, what)}{ended.line_sentence(ending)}{why}",
        step,
    )


_LARGER_DISK = (
    "Give the instances a larger volume (VolumeSizeInGB), delete all but the last checkpoints (save_total_limit), and "
    "write none to /tmp."
)
# What mends an error that says where it comes from, better than a look at the line that raised it.
_REPAIRS = (
    (
        re.compile(r"No module named '(?P<package>\w{1,80})\.(?P<what>[\w.]{1,80})'"),
        "The installed {package} has no {what}: pin {package} in requirements.txt to a version that has.",
    ),
    (
        re.compile(r"No module named '(?P<what>\w{1,80})'"),
        "Add the package that provides {what} to requirements.txt beside the entry script; if it is code of your own, put "
        "it into the source folder.",
    ),
    (
        re.compile(
            r"cannot import name .{1,200}(?:site|dist)-packages|but found \S{1,80}==|numpy\.dtype size changed"
            r"|module '?(?:numpy|torch|transformers|pandas|scipy|PIL)[\w.]*'? has no attribute"
        ),
        "Two packages do not fit together: pin them in requirements.txt to versions that do, as pip freeze prints them "
        "where the program runs.",
    ),
    (
        re.compile(
            r"undefined symbol|\.so[\d.]*: cannot open shared object|GLIBC(?:XX)?_\d|no kernel image is available"
        ),
        "A compiled package was built for another image: install the build for this image's PyTorch and CUDA, or take the "
        "image that it was built for.",
    ),
    (failure_causes.DISK_FULL, _LARGER_DISK),
    (failure_causes.SAVE_CUT_OFF, _LARGER_DISK),
    (
        failure_causes.QUOTA_USED_UP,
        "Delete what is no longer needed from that file system, or have its quota raised, and keep fewer checkpoints.",
    ),
    (
        failure_causes.OUT_OF_RANGE,
        "Check that labels and token IDs are below the model's number of classes or size of vocabulary; "
        "CUDA_LAUNCH_BLOCKING=1 shows the line.",
    ),
    (
        failure_causes.NO_MODEL,
        "Check the model's name, and give the job a token that may read it (HF_TOKEN); without internet access pass the "
        "model as a channel from S3.",
    ),
)


def _repair(text: str) -> str | None:
    for pattern, repair in _REPAIRS:
        if (found := pattern.search(text)) is not None:
            return repair.format(**found.groupdict())
    return None


def of_program(case: Case, ending: Ending) -> Finding:
    """The finding ``script-error``."""
    why = f" {capitalised(ending.why)}" if ending.why else ""
    opening = (
        f"{ended.opening(case, ending, 'failed in the training program itself')}{ended.line_sentence(ending)}{why}"
    )
    own = [frame for frame in ending.frames if not frame.startswith("data: ")]
    at = own[-1].partition(" in ")[0] if own else ended.line_words(ending.first) or "the line shown"
    step = _repair(ending.text) or (
        f"Start at {at}, and test with one or two steps on one instance before the next long run."
    )
    return _program(case, ending, "script-error", "Program error", opening, step)


def lost_loss(case: Case, ending: Ending | None) -> Finding | None:
    """The finding ``nan-loss``, from the reports of the loss or from the program's own word that ended it."""
    found = case.nan
    if found is None and ending is None:
        return None
    if found is None:
        assert ending is not None
        opening = (
            f"{ended.opening(case, ending, 'exited because the loss was NaN or infinite')}{ended.line_sentence(ending)}"
        )
        at, evidence = ending.at, ended.shown(case, ending)
        title = f"Loss is NaN{ended.where_words(ending.first)}"
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
    name = ending.text.partition(":")[0].rpartition(".")[2]
    name = name if name.isidentifier() and name[0].isupper() and len(name) < 40 else ""
    return Finding(
        id,
        "critical",
        ending.confidence,
        f"{title}{f': {name}' if name else ''}{ended.where_words(ending.first)}"[:_LONGEST_TITLE],
        f"{opening}{ended.doubt(ending)}{ended.rest(case, ending)}",
        ended.shown(case, ending),
        Recommendation(step, source=ended.SOURCE),
        not_checked=("anything the program did not print, or had not yet flushed",),
        savings=ended.not_saved(case, ending.at),
    )


_ACTIONS_NAMED = 3


def access_denied(case: Case, ending: Ending) -> Finding:
    """The finding ``access-denied``."""
    by_service = ending.first is None and ending.reason is not None and ending.reason.said == "denied"
    found = denied(ending.text, by_service) or Denied("an AWS service", (), False, "*")
    actions = ", ".join(found.actions[:_ACTIONS_NAMED])
    if len(found.actions) > _ACTIONS_NAMED:
        actions += f" and {count(len(found.actions) - _ACTIONS_NAMED, 'more', 'more')}"
    if found.named:
        title, missing = f"Access denied: {actions}", f"The permission {actions} is missing."
    else:
        title = f"Access denied to {found.what}"
        missing = f"The text names no permission; usually it is {actions}." if actions else ""
    absent = " Or it does not exist: the text says both." if found.or_absent else ""
    opening = (
        f"SageMaker was refused access to {found.what}"
        if by_service
        else f"{ended.who(ending.first, 'The program')} was refused access to {found.what}"
    )
    words = " ".join(part for part in (f"{opening}{ended.when(case, ending)}.", missing) if part)
    role = f"execution role ({case.run.job.role})" if case.run.job.role else "execution role"
    return Finding(
        "access-denied",
        "critical",
        "high" if found.named else "medium",
        title,
        f"{words}{absent}{'' if by_service else ended.rest(case, ending)}",
        (
            *(() if by_service else ended.shown(case, ending)),
            *(
                (
                    Evidence(
                        "what SageMaker says",
                        end=case.run.job.ended,
                        line=quoted(ending.reason.quote),
                        role="of SageMaker",
                    ),
                )
                if ending.reason is not None
                else ()
            ),
        ),
        Recommendation(
            f"{'Check the address of the image; if it is right, add' if found.or_absent else 'Add'} the statement below to the "
            f"policy of the job's {role}. If it is there already, look at the policy of the bucket, key or "
            f"repository, at a permissions boundary, and in a VPC at the policies of its endpoints.",
            source="SageMaker developer guide, SageMaker roles",
            code=statement(found),
            language="json",
        ),
        not_checked=("the policies themselves: reading them needs rights of its own",),
        savings=ended.not_saved(case, ending.at),
    )


def statement(found: Denied) -> str:
    """One statement of a policy, in one line of JSON."""
    actions = list(found.actions)
    said = {"Effect": "Allow", "Action": actions[0] if len(actions) == 1 else actions, "Resource": found.resource}
    return json.dumps(said)


_RAN_MS = re.compile(
    r"\bran for (\d{2,12}) milliseconds|\b(?:waiting|timeout after) (\d{2,12}) ?ms|\bin (\d{2,12}) ms\b"
)
_OPERATION = re.compile(r"\bOpType=(\w+)")
_PASSED = re.compile(r"\bRanks? (\d+)\b[\d, ]{0,200} failed to pass monitoredBarrier")
_MEMBERS = re.compile(r"world_size=(\d{1,6}), worker_count=(\d{1,6})|(\d{1,6})/(\d{1,6}) clients joined")
# So many are named; more than half of all are no suspects.
_RANKS_NAMED = 8


def collective_timeout(case: Case, ending: Ending) -> Finding:
    """The finding ``nccl-timeout``."""
    first = ending.first
    told = case.run.events[case.run.events["kind"].isin(["collective-timeout", "error"])]
    told = with_writers(told, case.run.steps)
    told = told[told["text"].map(kind_of) == "timeout"]
    silence_s = _silence_s(ending, told)
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
        names = ", ".join(str(rank) for rank in missing[:_RANKS_NAMED])
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
        f"Collective timed out{f' after {duration(silence_s)}' if silence_s else ''}{ended.where_words(first)}"[:79],
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
            *((Evidence("ranks that did not", ", ".join(map(str, missing[:_RANKS_NAMED]))),) if missing else ()),
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


def _silence_s(ending: Ending, told: pd.DataFrame) -> float | None:
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
