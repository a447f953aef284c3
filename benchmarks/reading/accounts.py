"""Jobs that nobody chose: of 2 to 256 nodes and 100 to 500,000 lines, of every trainer and launcher, drawn by number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.account import Written
from benchmarks.planted.draw import FRAMEWORKS, Rng, Wish, ordinary
from benchmarks.planted.failures import FAILURES
from benchmarks.planted.plan import Ending, Launcher, Plan
from benchmarks.planted.scenario import build
from benchmarks.planted.truth import healthy
from benchmarks.reading.served import Served, of_scenario

_SEED = 16
_NODES, _LINES = (2, 256), (100, 500_000)
_ENDS = ("completed", "running", "running", "failed", "stopped")
_LAUNCHERS: tuple[Launcher, ...] = ("torchrun", "mpi", "script")
# Lines that say nothing of the training's pace, with a number that differs.
_CHATTER = (
    "algo-1:{a}:{b} [{c}] NCCL INFO Channel {c:02d}/24 : 0[{a}] -> 1[{b}] [send] via NET/AWS Libfabric/{c}",
    "DEBUG  worker {c} fetched sample {a}{b} from the index, buffer 0x{a:08x}, waited 0.{b}s, retries 0, ok",
    "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py:{b}: UserWarning: positional arguments",
    "[2026-03-04 08:12:{c:02d}.{a:03d}: I loader.py:{b}] shard {a} of {b} is in the cache, queue depth {c}",
    "val: batch {a} of {b}, loss 2.{c}",
    "",
)


def account(number: int, most_lines: int = _LINES[1], most_nodes: int = _NODES[1]) -> Served:
    """The job of this number: always the same."""
    rng = np.random.default_rng((_SEED, number))
    nodes = round(_log_uniform(rng, _NODES[0], most_nodes))
    lines = round(_log_uniform(rng, _LINES[0], most_lines))
    served = of_scenario(build(_plan(rng, number, nodes, lines), healthy("random")))
    if rng.random() < 0.5:
        served = replace(served, streams=_in_one_stream(served.streams))
    return replace(served, streams=_talkative(rng, served.streams, lines))


def _log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _plan(rng: Rng, number: int, nodes: int, lines: int) -> Plan:
    reports = max(12, min(600, lines // 4))
    wish = Wish(
        tuple(FRAMEWORKS), nodes=(nodes,), minutes=(15, 180), step_s=(1.0, 20.0), reports=(reports / 3, reports)
    )
    plan = ordinary(rng, f"random-{number}", number, wish)
    plan = replace(plan, nodes=nodes, launcher=_LAUNCHERS[number % 3] if rng.random() < 0.4 else plan.launcher)
    kind = _ENDS[int(rng.integers(len(_ENDS)))]
    breaks = tuple(sorted(rng.uniform(0.1, 0.8, int(rng.integers(0, 3))).tolist()))
    at = 1.0 if kind == "completed" else float(rng.uniform(max((0.02, *breaks)), 1.0))
    error = tuple(FAILURES)[int(rng.integers(len(FAILURES)))] if kind == "failed" else ""
    ending = Ending(kind, at, error, int(rng.integers(plan.world)), spot_breaks=breaks)  # type: ignore[arg-type]
    view = replace(plan.view, buffered_s=float(rng.choice([0.0, 0.0, 5.0, 30.0])))
    return replace(plan, ending=ending, spot=bool(breaks), view=view)


def _in_one_stream(streams: tuple[Written, ...]) -> tuple[Written, ...]:
    """A launcher that starts its processes again goes on in the stream that there is."""
    whole: dict[str, Written] = {}
    for stream in streams:
        node = stream.name.rpartition("-")[0]
        before = whole.get(node)
        whole[node] = stream if before is None else Written(before.name, before.lines + stream.lines)
    return tuple(
        Written(stream.name, tuple(sorted(stream.lines, key=lambda line: line[0]))) for stream in whole.values()
    )


def _talkative(rng: Rng, streams: tuple[Written, ...], lines: int) -> tuple[Written, ...]:
    """With so much chatter among the lines that there are about as many as wanted; some hosts talk more than others."""
    missing = lines - sum(len(stream.lines) for stream in streams)
    if missing <= 0 or not streams:
        return streams
    counts = rng.multinomial(missing, rng.dirichlet(np.ones(len(streams))))
    out = []
    for stream, count in zip(streams, counts.tolist(), strict=True):
        begin, end = stream.lines[0][0], stream.lines[-1][0]
        moments = rng.integers(begin, end + 1, count).tolist()
        numbers = rng.integers(0, 999, count).tolist()
        more = [
            (at, _CHATTER[n % len(_CHATTER)].format(a=n, b=n + 7, c=n % 24))
            for at, n in zip(moments, numbers, strict=True)
        ]
        out.append(Written(stream.name, tuple(sorted([*stream.lines, *more], key=lambda line: line[0]))))
    return tuple(out)
