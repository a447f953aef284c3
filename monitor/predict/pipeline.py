"""What is a pipeline, and what came of running it? The values that every schedule takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Kind = Literal["forward", "backward"]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``microbatches`` that pass all stages forward and back again, once a step.

    ``forward_s`` and ``backward_s`` hold the time of ONE microbatch on each stage, in seconds or any other unit; with full
    recomputation a backward is about three forwards, without about two. ``hop_s`` is the way to a neighboring stage.
    """

    microbatches: int
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...]
    hop_s: float = 0.0

    def __post_init__(self) -> None:
        if self.microbatches < 1 or not self.forward_s or len(self.forward_s) != len(self.backward_s):
            raise ValueError(
                "a pipeline needs at least one microbatch, and a forward and a backward time for each stage"
            )
        if min((*self.forward_s, *self.backward_s, self.hop_s)) < 0:
            raise ValueError("times are not negative")

    @classmethod
    def equal(
        cls, stages: int, microbatches: int, forward_s: float = 0.25, backward_s: float = 0.75, hop_s: float = 0.0
    ) -> Pipeline:
        """A pipeline whose stages all take the same time."""
        return cls(microbatches, (forward_s,) * stages, (backward_s,) * stages, hop_s)

    @property
    def stages(self) -> int:
        return len(self.forward_s)

    @property
    def ideal_s(self) -> float:
        """The busiest stage with no bubble at all: no schedule is faster."""
        return self.microbatches * max(f + b for f, b in zip(self.forward_s, self.backward_s, strict=True))


@dataclass(frozen=True, slots=True)
class Work:
    """One forward or backward of one microbatch on one stage; ``chunk`` counts a stage's parts where it has several."""

    stage: int
    kind: Kind
    microbatch: int
    start_s: float
    end_s: float
    chunk: int = 0


@dataclass(frozen=True)
class Schedule:
    """What every stage does when, for one step."""

    work: tuple[Work, ...]
    stages: int

    @cached_property
    def seconds(self) -> float:
        """From the first forward to the last backward; optimizer and gradient exchange come on top."""
        return max(work.end_s for work in self.work)

    @cached_property
    def bubble_fraction(self) -> float:
        """The share of all stages' time in which they wait, 0 to 1."""
        busy = sum(work.end_s - work.start_s for work in self.work)
        return 1 - busy / (self.stages * self.seconds) if self.seconds > 0 else 0.0

    @cached_property
    def stored(self) -> tuple[int, ...]:
        """For each stage the most microbatches (or chunks of one) whose activations it holds at once."""
        out = []
        for stage in range(self.stages):
            # Activations are kept from the beginning of a forward to the end of its backward.
            moves = [(work.start_s, 1) for work in self.work if work.stage == stage and work.kind == "forward"]
            moves += [(work.end_s, -1) for work in self.work if work.stage == stage and work.kind == "backward"]
            held = most = 0
            for _, move in sorted(moves):
                held += move
                most = max(most, held)
            out.append(most)
        return tuple(out)
