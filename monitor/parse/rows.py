"""What one line says, before it is put in relation to any other line."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: How a printed time relates to ONE optimizer step.
#: step: of this step alone; interval: mean over the steps since the last report; smoothed: a moving average (tqdm);
#: running-mean: mean since the start; clock: seconds since some start, to be differenced; either: the line does not
#: tell whether it is a step's time or a clock, its whole series does; stopwatch: the same, but it is likelier one step's
#: than that of all since the last report; part: of one micro-batch, no step by itself;
#: iteration: of one micro-batch as well, of which ``counter`` counts those so far, and ``step`` the steps they make up;
#: span: all the seconds since the last report; remaining: the clock counts down what is left of the run; unnamed: a number
#: in front of the line, which may be a clock; bare: minutes or hours without a name, which may be one; time-of-day: the
#: clock may show it, or the time since an epoch began;
#: of-last: no report, but what the report before it left out.
Meaning = Literal[
    "step", "interval", "smoothed", "running-mean", "clock", "either", "stopwatch", "part", "iteration", "span", "remaining",
    "unnamed", "bare", "time-of-day", "of-last",
]  # fmt: skip


#: Formats of bars that are drawn over again and again; one at 0 is no report.
BARS = frozenset({"tqdm"})
#: Losses that count nothing, which may be those of an evaluation.
UNCOUNTED = "loss-only"
#: The meaning of a time that is what is left of a run or an epoch.
LEFT: Meaning = "remaining"


class Reading(NamedTuple):
    """One report as a recognizer reads it. Times are seconds whatever was printed; None is what the text lacks."""

    format: str
    step: int | None = None
    total: int | None = None
    time_s: float | None = None
    """The printed time (or 1 / printed rate), as ``meaning`` says."""
    meaning: Meaning = "step"
    clock_s: float | None = None
    """A printed clock beside it: seconds since the training loop began."""
    clock_tick_s: float = 0.0
    """Resolution of the clock: 1.0 where whole seconds are printed."""
    throughput: float | None = None
    throughput_unit: str = ""
    loss: float | None = None
    gpu_memory_gib: float | None = None
    rank: int | None = None
    """The global rank that the text itself names."""
    epoch: int | None = None
    """The epoch that an epoch-local step counter belongs to, where the line names it."""
    epoch_share: float | None = None
    """Epochs done so far, with their fraction."""
    counter: int | None = None
    """The global step that a progress bar prints beside its own count; micro-batches so far, for a trainer that prints
    each of them."""
    bar: str = ""
    """For progress bars: the description with its numbers masked; bars of one series share it. Of a report that tells but one
    part of the loss the name of that."""
    nested: bool = False
    local_rank: int | None = None
    """The number of the process on its node, where the text names that."""
    left_s: float | None = None
    """What is left of the run, beside a time that may be one step's or a sum."""
    mean_s: float | None = None
    """The mean of all steps of this epoch or run so far, beside the time of the last one."""
    epoch_total: int | None = None
    """How many steps an epoch has, where the step is one within it."""
    epochs: int | None = None
    """How many epochs there will be."""


#: What a family yields for a line that it knows and that is no step (a validation in the training's own form), so that
#: no generic family takes it for one.
NO_STEP = Reading(format="")


class EventRow(NamedTuple):
    """Something other than a step: a fact printed at startup, an error, a change of status."""

    stream: str
    stream_node: str
    line: int
    part: int
    time_ms: int | None
    rank: int | None
    host: str
    kind: str
    text: str
