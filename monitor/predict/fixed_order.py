"""How do GPipe, 1F1B and interleaved 1F1B run a pipeline? Each stage has its order of work, and waits for what it needs.

GPipe: arXiv 1811.06965. 1F1B and its interleaved form, as Megatron-LM and DeepSpeed run them: arXiv 2104.04473.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from monitor.predict.pipeline import Kind, Pipeline, Schedule, Work

Name = Literal["gpipe", "1f1b"]
# One item of a stage's order: what, which microbatch, which of its chunks.
_Item = tuple[Kind, int, int]


def gpipe(pipeline: Pipeline) -> Schedule:
    """All forwards, then all backwards (SMP v1 calls it ``simple``)."""
    return _run(pipeline, "gpipe", 1)


def one_forward_one_backward(pipeline: Pipeline) -> Schedule:
    """1F1B: as many forwards as there are later stages, then one of each in turn."""
    return _run(pipeline, "1f1b", 1)


def interleaved(pipeline: Pipeline, chunks: int) -> Schedule:
    """1F1B with ``chunks`` parts of the model on each stage, every one of them 1/chunks of the stage's time.

    ValueError where the microbatches are no multiple of the stages, as the schedule demands.
    """
    return _run(pipeline, "1f1b", chunks)


def fixed_order_seconds(pipeline: Pipeline, name: Name, chunks: int = 1) -> float:
    """What such a schedule takes, without its pieces: several times as quick, for ranges out of many draws."""
    return max(_ends(pipeline, _steps(name, pipeline.stages, pipeline.microbatches, chunks), chunks))


@dataclass(frozen=True, slots=True)
class _Step:
    """One piece of work in an order in which each comes after what it needs, whatever the times are."""

    stage: int
    kind: Kind
    microbatch: int
    chunk: int
    needs: int
    """The place of the piece that gives its input; -1 where it needs none."""
    hops: bool
    """Its input comes from a neighbor."""


def _run(pipeline: Pipeline, name: Name, chunks: int) -> Schedule:
    steps = _steps(name, pipeline.stages, pipeline.microbatches, chunks)
    work = []
    for step, end in zip(steps, _ends(pipeline, steps, chunks), strict=True):
        times = pipeline.forward_s if step.kind == "forward" else pipeline.backward_s
        work.append(Work(step.stage, step.kind, step.microbatch, end - times[step.stage] / chunks, end, step.chunk))
    return Schedule(tuple(work), pipeline.stages)


def _ends(pipeline: Pipeline, steps: tuple[_Step, ...], chunks: int) -> list[float]:
    """When each piece ends: it begins when its stage is free and what it needs has arrived."""
    took = {
        "forward": [each / chunks for each in pipeline.forward_s],
        "backward": [each / chunks for each in pipeline.backward_s],
    }
    free, ends, hop = [0.0] * pipeline.stages, list[float](), pipeline.hop_s
    for step in steps:
        stage = step.stage
        start = free[stage]
        if step.needs >= 0:
            arrived = ends[step.needs] + hop if step.hops else ends[step.needs]
            start = arrived if arrived > start else start
        free[stage] = end = start + took[step.kind][stage]
        ends.append(end)
    return ends


@lru_cache(maxsize=64)
def _steps(name: Name, stages: int, microbatches: int, chunks: int) -> tuple[_Step, ...]:
    """All pieces of a schedule: each stage does its own in its order, and none comes before what it needs."""
    orders, last = _orders(name, stages, microbatches, chunks), stages * chunks - 1
    done: dict[tuple[Kind, int, int], int] = {}  # what, microbatch, virtual stage -> its place
    places, steps = [0] * stages, list[_Step]()
    moved = True
    while moved:
        moved = False
        for stage in range(stages):
            while places[stage] < len(orders[stage]):
                kind, microbatch, chunk = orders[stage][places[stage]]
                virtual = chunk * stages + stage
                needed = _needed(kind, microbatch, virtual, last)
                if needed is not None and needed not in done:
                    break
                needs = -1 if needed is None else done[needed]
                done[kind, microbatch, virtual] = len(steps)
                steps.append(_Step(stage, kind, microbatch, chunk, needs, needed is not None and needed[2] != virtual))
                places[stage] += 1
                moved = True
    return tuple(steps)


def _needed(kind: Kind, microbatch: int, virtual: int, last: int) -> tuple[Kind, int, int] | None:
    """What gives the input of a piece; None for the first forward."""
    if kind == "forward":
        return ("forward", microbatch, virtual - 1) if virtual else None
    return ("forward", microbatch, virtual) if virtual == last else ("backward", microbatch, virtual + 1)


def _orders(name: Name, p: int, m: int, chunks: int) -> list[list[_Item]]:
    """What each stage does, in its order."""
    if name == "gpipe":
        every = range(m)
        order: list[_Item] = [("forward", n, 0) for n in every] + [("backward", n, 0) for n in reversed(every)]
        return [order] * p
    if chunks < 1 or (chunks > 1 and m % p):
        raise ValueError("an interleaved schedule needs a number of microbatches that is a multiple of the stages")
    if chunks == 1:
        return [_alternating(min(m, p - stage - 1), [((n, 0), (n, 0)) for n in range(m)]) for stage in range(p)]
    # Groups of p microbatches pass chunk after chunk; the way back is the same from the other end.
    forward = [((k // (p * chunks)) * p + k % p, (k // p) % chunks) for k in range(m * chunks)]
    both = [(mine, (mine[0], chunks - 1 - mine[1])) for mine in forward]
    return [_alternating(min(m * chunks, 2 * (p - stage - 1) + (chunks - 1) * p), both) for stage in range(p)]


_Pairs = list[tuple[tuple[int, int], tuple[int, int]]]


def _alternating(ahead: int, pairs: _Pairs) -> list[_Item]:
    """``ahead`` forwards, then forward and backward in turn, then the backwards that are left."""
    order: list[_Item] = []
    for n, (forward, _) in enumerate(pairs):
        order.append(("forward", *forward))
        if n >= ahead:
            order.append(("backward", *pairs[n - ahead][1]))
    order += [("backward", *backward) for _, backward in pairs[max(0, len(pairs) - ahead) :]]
    return order
