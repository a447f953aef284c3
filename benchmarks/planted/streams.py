"""Which lines stand in which log stream, with which tags and times?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.planted.course import EVALUATION
from benchmarks.planted.dialect import Dialect
from benchmarks.planted.dialects_large import DEEPSPEED, MEGATRON, SMP, TORCHTITAN, VIT
from benchmarks.planted.dialects_small import HF, LIGHTNING, NANOGPT, PAIRS, QUIET, VISION
from benchmarks.planted.first_words import head
from benchmarks.planted.last_words import Line, failure, success
from benchmarks.planted.minutes import Attempt
from benchmarks.planted.plan import Plan
from benchmarks.planted.reports import moments, reports

DIALECTS: dict[str, Dialect] = {
    "megatron": MEGATRON,
    "deepspeed": DEEPSPEED,
    "torchtitan": TORCHTITAN,
    "smp": SMP,
    "vit": VIT,
    "hf": HF,
    "lightning": LIGHTNING,
    "nanogpt": NANOGPT,
    "pairs": PAIRS,
    "vision": VISION,
    "quiet": QUIET,
}


@dataclass(frozen=True, slots=True)
class Stream:
    """One log stream: its name, its node, and (Unix ms, text) in time."""

    name: str
    node: str
    lines: tuple[tuple[int, str], ...]


def streams(plan: Plan, attempts: list[Attempt]) -> tuple[Stream, ...]:
    """A stream for each node and attempt, as CloudWatch keeps them."""
    found = []
    for number, attempt in enumerate(attempts):
        last = number == len(attempts) - 1
        kept: dict[int, list[tuple[float, str]]] = {node: [] for node in range(plan.nodes)}
        for line in _lines(plan, attempt, last, resumed=number > 0 or attempt.course.first_step > 0):
            at = attempt.began_s + line.at_s
            if at <= attempt.until_s:
                node, text = _written(plan, line)
                kept[node].append((at, text))
        epoch = int(attempt.began_s)
        for node, lines in kept.items():
            if lines and plan.view.logs:
                lines.sort(key=lambda entry: entry[0])
                timed = tuple(_timed(plan, lines, attempt))
                found.append(Stream(f"{plan.name}/algo-{node + 1}-{epoch}", f"algo-{node + 1}", timed))
    return tuple(found)


def _timed(plan: Plan, lines: list[tuple[float, str]], attempt: Attempt) -> Iterator[tuple[int, str]]:
    """Where output is buffered, lines come when the buffer is written, at the latest at the end."""
    burst = plan.view.buffered_s
    for at, text in lines:
        moment = at
        if burst:
            moment = attempt.began_s + float(np.ceil((at - attempt.began_s) / burst)) * burst
            end = attempt.began_s + attempt.course.ended_s
            if moment > attempt.until_s and attempt.until_s < end:
                continue
            moment = min(moment, end)
        yield round(moment * 1000), text


def _written(plan: Plan, line: Line) -> tuple[int, str]:
    """The stream's node (0 for algo-1) and the text with the launcher's tag."""
    if plan.launcher != "mpi" or line.rank is None:
        return line.node, line.text
    channel = "stderr" if line.error_stream else "stdout"
    host = line.rank // plan.ranks_a_node + 1
    return 0, f"[1,mpirank:{line.rank},algo-{host}]<{channel}>:{line.text}"


def _lines(plan: Plan, attempt: Attempt, last: bool, resumed: bool) -> Iterator[Line]:
    run, began = attempt.course, attempt.began_s
    dialect = DIALECTS[plan.framework]
    yield from head(plan, began)
    loop = run.loop_began_s
    yield from _opening(plan, dialect, loop, resumed, run.first_step)
    rng = np.random.default_rng((plan.seed, 51, run.first_step))
    for report in reports(plan, run, began):
        for number, text in enumerate(dialect.step(plan, report)):
            yield Line(
                report.at_s + 0.001 * number, report.node, report.rank, text, plan.framework in {"hf", "lightning"}
            )
        if plan.chatter and report.node == 0 and rng.random() < 0.03:
            yield Line(report.at_s + 0.3, 0, 0, plan.chatter[int(rng.integers(len(plan.chatter)))], True)
    for moment in moments(plan, run, began):
        speak = dialect.evaluation if moment.kind == EVALUATION else dialect.checkpoint
        for offset, text in speak(plan, moment):
            yield Line(moment.at_s + max(offset, 0.0), 0, 0, text)
    for stage in plan.pace.stages:
        at = int(stage.begin * plan.steps) - run.first_step
        if stage.said and 0 <= at < len(run.begins):
            yield Line(float(run.begins[at, 0]) - 0.05, 0, 0, stage.said)
    for wait in plan.pace.waits:
        at = int(wait.at * plan.steps) - run.first_step
        if 0 <= at < len(run.begins):
            begin = float(run.begins[at, 3])
            for number, text in enumerate(wait.lines):
                yield Line(begin + 0.1 + 0.01 * number, 0, 0, text)
            for number, text in enumerate(wait.nudges):
                yield Line(begin + wait.seconds * (number + 1) / (len(wait.nudges) + 1), 0, 0, text)
    if last:
        yield from _end(plan, run.ended_s, began)


def _opening(plan: Plan, dialect: Dialect, loop_s: float, resumed: bool, first_step: int) -> Iterator[Line]:
    for number, text in enumerate(dialect.opening(plan)):
        yield Line(loop_s - 1 + 0.001 * number, 0, 0, text)
    if resumed and first_step:
        yield Line(loop_s - 3, 0, 0, f"resuming from checkpoint at step {first_step}: /opt/ml/checkpoints")
    for node in range(plan.nodes):
        for text in dialect.each_node(plan, node):
            yield Line(loop_s - 0.5, node, plan.first_rank(node), text)


def _end(plan: Plan, ended_s: float, began_s: float) -> Iterator[Line]:
    if plan.ending.kind == "completed":
        yield from success(plan, ended_s - 35, began_s)
    elif plan.ending.kind == "failed" and plan.ending.error:
        yield from failure(plan, ended_s - 15, began_s)
