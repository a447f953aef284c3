"""What is in the account? Frozen values from which everything else follows: the same values, the same account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.account.faults import Faults

if TYPE_CHECKING:
    from benchmarks.account.insights import Insights

MINUTE_MS = 60_000
_NOISE = (
    "algo-{node}:{a}:{b} [{c}] NCCL INFO Channel {c:02d}/24 : 0[{a}] -> 1[{b}] [send] via NET/AWS Libfabric/{c}",
    "[2026-03-04 08:12:{c:02d}.{a:03d}: I loader.py:{b}] shard {a} of {b} is in the cache, queue depth {c}",
    "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py:{b}: UserWarning: positional arguments",
    "DEBUG  worker {c} fetched sample {a}{b} from the index, buffer 0x{a:08x}, waited 0.{b}s, retries 0, ok",
    "[default{c}]:gradient bucket {a} of {b} reduced, norm {c}.{a}, scaler 65536.0, overflow False",
)


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Which lines a text generator is asked for: ``count`` lines of one stream, the first being number ``first``."""

    job: str
    node: int
    attempt: int
    """0, and one more for every restart."""
    first: int
    count: int
    seed: int


Text = Callable[[LineSpan], list[str]]


@dataclass(frozen=True, slots=True)
class Written:
    """A stream whose lines are given one by one."""

    name: str
    """As CloudWatch shows it: ``JOB/algo-N-SECONDS``."""
    lines: tuple[tuple[int, str], ...]
    """(epoch milliseconds, text) in time."""


def step_lines(span: LineSpan) -> list[str]:
    """Every tenth line is a step report, the others are noise of five kinds; each ends in a mark of its own.

    The mark ``id=<node>.<attempt>.<line>`` tells a reader's output which lines of a job it holds.
    """
    noise = [
        form.format(node=span.node, a=(7 * k + span.seed) % 997, b=(13 * k + 101) % 991, c=k % 24)
        for k, form in enumerate(_NOISE * 20)
    ]
    mark = f"id={span.node}.{span.attempt}."
    return [
        f"{noise[line % 100]} {mark}{line}"
        if line % 10
        else f"({line // 6}s), Batch {line // 10} Loss: {2 + 5 / (1 + line):.6f}, "
        f"Speed: {45 + line % 7 * 0.11:.6f} samples/sec, TFLOPS/GPU: 112.{line % 10} {mark}{line}"
        for line in range(span.first, span.first + span.count)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One training job. Its nodes write ``lines_per_minute`` each, from ``started_ms`` for ``minutes``."""

    name: str
    started_ms: int
    """Epoch milliseconds of the start of training; it was created five minutes before."""
    nodes: int = 1
    minutes: float = 30.0
    lines_per_minute: float = 600.0
    text: Text = step_lines
    """A function of a module, since it is sent to the process of the stub."""
    instance_type: str = "ml.p4d.24xlarge"
    status: str = "Completed"
    """TrainingJobStatus once ``minutes`` are over; InProgress before."""
    failure_reason: str = ""
    hyperparameters: tuple[tuple[str, str], ...] = ()
    late_share: float = 0.0
    """Share of the lines that arrive ``late_ms`` later than the others."""
    late_ms: int = 60_000
    disorder_ms: int = 0
    """Events carry times up to this much before their turn, so that they are read in another order than written."""
    restarts: tuple[float, ...] = ()
    """Minutes after the start at which all nodes begin a new stream."""
    late_nodes: tuple[tuple[int, float], ...] = ()
    """Node numbers (from 1) and the minute in which they write their first line."""
    written: tuple[Written, ...] | None = None
    """All streams of the job as they are; None: its nodes write by ``text``."""
    gpu_percent: float = 80.0
    """Mean of one GPU, around which the metrics move."""

    @property
    def ended_ms(self) -> int:
        """Epoch milliseconds of the end of training."""
        return self.started_ms + round(self.minutes * MINUTE_MS)

    @property
    def created_ms(self) -> int:
        return self.started_ms - 5 * MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account in one region, and how its services behave."""

    jobs: tuple[Job, ...] = ()
    region: str = "us-east-1"
    number: str = "123456789012"
    seed: int = 0
    now_ms: int | None = None
    """Where the account's clock stands, in epoch milliseconds; None: the machine's own clock."""
    clock_rate: float = 0.0
    """How fast the clock runs from ``now_ms`` on: 0 stands still, 1 as the machine's."""
    latency_ms: float = 40.0
    jitter_ms: float = 0.0
    """Up to this much more, evenly spread."""
    quotas: tuple[tuple[str, float], ...] | None = None
    """Operation and calls a second in place of the region's own; an empty tuple: no quota at all."""
    page_events: int = 10_000
    """The most events on a page; fewer than AWS's make many pages of a short log."""
    empty_page_every: int = 0
    """Of a stream's pages every n-th is empty and has a new token; 0: none, else 2 or more."""
    token_ms: int = 24 * 60 * MINUTE_MS
    """How long the tokens of CloudWatch Logs live."""
    last_event_lag_ms: int = 20 * MINUTE_MS
    """How far lastEventTimestamp is behind; AWS says: typically less than an hour."""
    faults: Faults = field(default_factory=Faults)
    insights: Insights | None = None
    """What a query of Logs Insights finds; None: nothing."""
