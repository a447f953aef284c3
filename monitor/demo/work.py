"""What does a sample job do, second by second? Spans of time, drawn from a seed that only the story decides."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from monitor.demo.story import Interruption, OutOfMemory, SlowNode, Stall, Story

Kind = Literal["setup", "step", "checkpoint", "stall", "failure", "exit"]


@dataclass(frozen=True, slots=True)
class Span:
    """A contiguous piece of a container's life, in seconds since it began."""

    kind: Kind
    start_s: float
    end_s: float
    step: int = -1
    """Number of the step from 0; of a checkpoint, how many steps it holds."""
    own_s: float = 0.0
    """A step without the wait for a slow node."""
    loss: float = math.nan

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


def spans(story: Story, attempt: int = 0, from_step: int = 0) -> Iterator[Span]:
    """All spans of one attempt, in time and without a gap; a stall lasts for ever."""
    rng = random.Random(f"{story.base_name}/{attempt}")
    yield Span("setup", 0.0, story.setup_s)
    at_s = story.setup_s
    fault = story.fault
    taken_away_s = fault.after_s if isinstance(fault, Interruption) and attempt == 0 else math.inf
    for step in range(from_step, story.steps):
        own_s = _step_s(story, rng, first=step == from_step)
        waited_s = own_s
        if isinstance(fault, SlowNode) and at_s > fault.after_s:
            waited_s = own_s * fault.factor * rng.gauss(1.0, 0.015)
        if at_s + waited_s > taken_away_s:
            return
        if isinstance(fault, Stall) and at_s + waited_s > fault.after_s:
            yield Span("stall", at_s, math.inf)
            return
        if isinstance(fault, OutOfMemory) and at_s > story.setup_s + fault.after_s:
            yield Span("failure", at_s, at_s + 9.0, step)
            return
        yield Span("step", at_s, at_s + waited_s, step, own_s, _loss(story, rng, step))
        at_s += waited_s
        if story.checkpoint_every and (step + 1) % story.checkpoint_every == 0 and step + 1 < story.steps:
            took_s = story.checkpoint_s * rng.uniform(0.9, 1.15)
            if at_s + took_s > taken_away_s:
                return
            yield Span("checkpoint", at_s, at_s + took_s, step + 1)
            at_s += took_s
    yield Span("exit", at_s, at_s + story.exit_s, story.steps)


def _step_s(story: Story, rng: random.Random, first: bool) -> float:
    if first:
        return story.first_step_s
    # Now and then a step is late for reasons of its own: a data shard, the garbage collector, a neighbor.
    late = rng.uniform(1.15, 1.6) if rng.random() < 0.004 else 1.0
    return story.step_s * max(0.9, rng.gauss(1.0, story.step_noise)) * late


def _loss(story: Story, rng: random.Random, step: int) -> float:
    begin, end = story.loss
    falls_over = min(story.steps / 4, 600)
    return (end + (begin - end) * math.exp(-step / falls_over)) * rng.gauss(1.0, 0.008)
