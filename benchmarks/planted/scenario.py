"""A plan becomes what AWS would show of the job: an answer, streams of lines, and metrics, seen at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.planted.answer import Phase, answer
from benchmarks.planted.course import CHECKPOINT, Course, course
from benchmarks.planted.failures import FAILURES, NEVER_STARTED
from benchmarks.planted.minutes import Attempt, host_sums
from benchmarks.planted.plan import Plan
from benchmarks.planted.streams import Stream, streams
from benchmarks.planted.truth import Truth

_EPOCH_S = datetime(2026, 3, 2, 6, tzinfo=UTC).timestamp()
_PUBLISHED_AFTER_S = 130.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A simulated job as it is seen at ``now``, and what should be said of it."""

    plan: Plan
    truth: Truth
    answer: dict[str, Any]
    streams: tuple[Stream, ...]
    metrics: pd.DataFrame
    now: datetime


def build(plan: Plan, truth: Truth) -> Scenario:
    """The same plan gives the same scenario."""
    rng = np.random.default_rng((plan.seed, 61))
    created = _EPOCH_S + float(rng.integers(0, 20 * 86_400)) + float(rng.random())
    phases: list[Phase] = []
    if plan.ending.kind == "never-started":
        return _never_started(plan, truth, created, rng)
    attempts, at = [], created
    first = int(plan.resumed_at * plan.steps)
    breaks = [*plan.ending.spot_breaks, *([] if plan.ending.kind == "max-wait" else [None])]
    for share in breaks:
        at = _before_training(plan, phases, at, rng)
        began = at + plan.opening.image_s
        last = share is None or (plan.ending.kind == "max-wait" and share == breaks[-1])
        run = _run(plan, first, share)
        ended = began + run.ended_s
        until = np.inf
        if last and plan.ending.kind == "running":
            until = began + _seen_at(plan, run)
        phases.append(Phase("Training", at, ended, "Training image download completed. Training in progress."))
        if share is not None:
            # Spot capacity goes with a notice of two minutes; nobody tells the script.
            phases.append(Phase("Interrupted", ended, ended + 40, "Training job interrupted. Spot capacity reclaimed."))
            until = ended
            first = _last_saved(plan, run)
            at = ended + 40
        attempts.append(Attempt(run, began, until))
    now, reason = _end(plan, phases, attempts[-1], rng)
    told = answer(plan, created, phases, now, reason)
    seen = [Attempt(a.course, a.began_s, min(a.until_s, now - _PUBLISHED_AFTER_S)) for a in attempts]
    metrics = host_sums(plan, seen if plan.view.metrics else [])
    return Scenario(plan, truth, told, streams(plan, attempts), metrics, datetime.fromtimestamp(now, UTC))


def _before_training(plan: Plan, phases: list[Phase], at_s: float, rng: np.random.Generator) -> float:
    launched = at_s + float(rng.uniform(90, 420))
    loaded = launched + max(float(rng.uniform(15, 200)), plan.opening.download_s)
    phases.append(Phase("Starting", at_s, launched, "Preparing the instances for training"))
    phases.append(Phase("Downloading", launched, loaded, "Downloading input data"))
    return loaded


def _run(plan: Plan, first: int, share: float | None) -> Course:
    ending = plan.ending
    if share is not None:
        return course(plan, first, max(int(share * plan.steps), first + 1))
    cut = ending.kind != "completed" and not (ending.kind == "running" and not ending.silence_s)
    last = max(int(ending.at * plan.steps), first) if cut else plan.steps
    tail: list[tuple[float, float, float]] = []
    if ending.silence_s:
        cpu = plan.levels.cpu * (0.5 if ending.silence_gpu > 50 else 0.08)
        tail.append((ending.silence_s, ending.silence_gpu, cpu))
    tail.append((20.0, 1.0, 8.0) if ending.kind == "failed" else (45.0, 0.5, 10.0))
    return course(plan, first, last, tuple(tail))


def _seen_at(plan: Plan, run: Course) -> float:
    """Seconds after the container began at which a running job is looked at."""
    if plan.ending.silence_s:
        return run.ended_s - 46.0
    if plan.ending.at <= 0:
        return max(run.loop_began_s * 0.6, 60.0)
    at = min(max(int(plan.ending.at * plan.steps) - run.first_step, 0), len(run.took) - 1)
    return float(run.ends[at]) + plan.ending.seen_after_s


def _last_saved(plan: Plan, run: Course) -> int:
    saved = np.flatnonzero(run.took[:, CHECKPOINT])
    return int(run.first_step + saved[-1] + 1) if len(saved) else run.first_step


def _end(plan: Plan, phases: list[Phase], last: Attempt, rng: np.random.Generator) -> tuple[float, str]:
    """When it is looked at, and the failure's reason; the phases get their end."""
    training = phases[-1]
    ending = plan.ending
    if ending.kind == "max-wait":
        gave_up = training.start_s + plan.max_runtime_s
        phases.append(
            Phase("Starting", training.start_s + 40, gave_up, "Insufficient capacity error from EC2, retrying!")
        )
        phases.append(
            Phase("MaxWaitTimeExceeded", gave_up, gave_up, "Training job wait time exceeded MaxWaitTimeInSeconds")
        )
        return gave_up + float(rng.uniform(0.02, 4)) * 86_400, ""
    if ending.kind == "running":
        phases[-1] = Phase(training.status, training.start_s, None, training.message)
        return last.until_s, ""
    ended = last.began_s + last.course.ended_s
    upload = ended + max(float(rng.uniform(8, 60)), ending.upload_s)
    phases[-1] = Phase(training.status, training.start_s, ended, training.message)
    final = {
        "completed": ("Completed", "Training job completed"),
        "failed": ("Failed", "Training job failed"),
        "stopped": ("Stopped", "Training job stopped"),
        "max-runtime": ("MaxRuntimeExceeded", "Training job runtime exceeded MaxRuntimeInSeconds"),
    }[ending.kind]
    if ending.kind == "stopped":
        phases.append(Phase("Stopping", ended, upload, "Stopping the training job"))
    else:
        phases.append(Phase("Uploading", ended, upload, "Uploading generated training model"))
    phases.append(Phase(final[0], upload, upload, final[1]))
    later = float(rng.uniform(0.02, 8)) * 86_400 if plan.view.period_s == 60 else float(rng.uniform(20, 50)) * 86_400
    reason = ""
    if ending.kind == "failed":
        code = FAILURES[ending.error].exit_code
        shown = " ".join(FAILURES[ending.error].lines(plan)) if code == 1 else ""
        more = '\nExtraInfo "OutOfMemory: Process killed by SIGKILL (signal 9)"' if code == 137 else ""
        reason = f'AlgorithmError: ExecuteUserScriptError:\nExitCode {code}\nErrorMessage "{shown}"{more}, exit code: {code}'[
            :1024
        ]
    return upload + later, reason


def _never_started(plan: Plan, truth: Truth, created: float, rng: np.random.Generator) -> Scenario:
    gave_up = created + float(rng.uniform(300, 3600))
    waited = "Insufficient capacity error from EC2 while launching instances, retrying!"
    phases = [Phase("Starting", created, gave_up, waited)]
    if plan.ending.error:
        ready = created + 240
        status = "Downloading" if plan.ending.error != "image" else "Preparing"
        phases = [
            Phase("Starting", created, ready, "Preparing the instances for training"),
            Phase(status, ready, gave_up, "Downloading input data"),
        ]
    phases.append(Phase("Failed", gave_up, gave_up, "Training job failed"))
    reason = NEVER_STARTED[plan.ending.error]
    told = answer(plan, created, phases, gave_up + 3600, reason)
    now = datetime.fromtimestamp(gave_up + 3600, UTC)
    return Scenario(plan, truth, told, (), host_sums(plan, []), now)
