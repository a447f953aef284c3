"""Runs for the rules about devices, memory, disk and network: which must speak, and which must not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from monitor.model import Job, LogCoverage, Node, Run, events_frame, metrics_frame, steps_frame
from tests.builders import START, metrics, nodes_of, steps
from tests.diagnose.runs import BUSY, LOW, MINUTES, run

TWO = ("algo-1", "algo-2")
FOUR = nodes_of(4)
FOUR_NAMES = tuple(node.name for node in FOUR)
_SECONDS = 7 * 24 * 3600


def shaped(
    levels: Mapping[str, ArrayLike],
    names: Sequence[str] = TWO,
    minutes: int = MINUTES,
    period_s: int = 60,
    noise: float = 1.0,
    of_node: Mapping[str, Mapping[str, ArrayLike]] | None = None,
) -> pd.DataFrame:
    """A Metrics frame of constants or whole series, a little noisy; ``of_node`` replaces levels of a node."""
    rng = np.random.default_rng(3)
    frames = []
    for name in names:
        for metric, level in {**levels, **(of_node or {}).get(name, {})}.items():
            values = np.clip(np.broadcast_to(level, minutes) + rng.normal(0, noise, minutes), 0, 100)
            times = pd.date_range(START, periods=minutes, freq=f"{period_s}s")
            frames.append(
                pd.DataFrame(
                    {"timestamp": times, "node": name, "metric": metric, "value_pct": values, "period_s": period_s}
                )
            )
    return metrics_frame(pd.concat(frames))


def said(lines: Sequence[tuple[float, str, str]], node: str = "algo-1") -> pd.DataFrame:
    """An Events frame of (minute, kind, text)."""
    return events_frame(
        [
            {
                "timestamp": START + timedelta(minutes=minute),
                "node": node,
                "rank": 0,
                "kind": kind,
                "text": text,
                # Of its own, so that times tell what stands between which steps.
                "stream": f"job/{node}-2",
                "line": number + 1,
            }
            for number, (minute, kind, text) in enumerate(lines)
        ]
    )


def of_job(of: Run, **changes: Any) -> Run:
    """The same run of a job that differs."""
    job: Job = replace(of.job, **changes)
    return replace(of, job=job)


def with_efa(count: int = 2, efa: bool | None = True, **more: Any) -> tuple[Node, ...]:
    """Nodes of a type with EFA."""
    return tuple(replace(node, efa=efa, gpu_model="NVIDIA A100", **more) for node in nodes_of(count))


def _at_minutes(minutes: Sequence[int], low: float, high: float, count: int = MINUTES) -> np.ndarray:
    values = np.full(count, high)
    values[list(minutes)] = low
    return values


def _idle(first: int, last: int, names: Sequence[str] = TWO) -> pd.DataFrame:
    gpu = {"gpu_utilization": _at_minutes(range(first, last), 0.3, 92.0)}
    return shaped(BUSY, FOUR_NAMES if len(names) == 1 else names, noise=0.2, of_node=dict.fromkeys(names, gpu))


def one_gpu(host_gpus: int, busy_sum: float, memory_sum: float, cpu: float = 15.0, **more: Any) -> Run:
    """One host whose GPUs together reach these sums."""
    levels = {
        "gpu_utilization": busy_sum / host_gpus,
        "gpu_memory_utilization": memory_sum / host_gpus,
        "cpu_utilization": cpu,
    }
    hosts = nodes_of(1, "ml.g5.12xlarge", host_gpus)
    return run(metrics(["algo-1"], MINUTES, levels, spread=0.5), nodes=hosts, **more)


def ragged(step_s: float) -> pd.DataFrame:
    """Steps that vary by a tenth: no batch size explains that."""
    rows = steps(TWO, 1700, step_s)
    factor = pd.Series(range(len(rows))).mod(5).mul(0.1).add(0.8)
    return steps_frame(rows.assign(step_time_s=rows["step_time_s"] * factor))


def paused(at_s: float, for_s: float) -> pd.DataFrame:
    """Steps of 2 s on two nodes with one long pause."""
    rows = steps(TWO, 1700, 2.0)
    late = rows["timestamp"] > START + timedelta(seconds=at_s)
    rows = rows.assign(timestamp=rows["timestamp"] + late.astype(int) * pd.Timedelta(seconds=for_s))
    return steps_frame(rows[rows["timestamp"] < START + timedelta(minutes=MINUTES)])


def running(frame: pd.DataFrame, **changes: Any) -> Run:
    """A job that runs for an hour already and has three more to go, by its longest run time; or as told."""
    untold = steps(TWO, 1700, 2.0).assign(total=pd.NA)
    return of_job(run(frame, steps_frame(untold), status="InProgress"), **({"max_runtime_s": 4 * 3600} | changes))


def longer_steps() -> pd.DataFrame:
    """Steps that become longer all the time, by half in all."""
    rows = steps(TWO, 1300, 2.0)
    grown = rows["step_time_s"] * (1 + rows["step"].astype("float64") / 1300 * 0.6)
    times = pd.Timestamp(START) + pd.to_timedelta(grown.groupby(rows["node"]).cumsum(), unit="s")
    return steps_frame(rows.assign(step_time_s=grown, timestamp=times))


RAMP = np.linspace(0, 1, MINUTES)
TEETH = (np.arange(MINUTES) % 10) / 10
_DIPS = _at_minutes([5, 12, 19, 26, 33, 40, 47, 54], 3.0, 95.0)
_P4D = {"gpu_utilization": 96.0, "gpu_memory_utilization": 75.0, "cpu_utilization": 20.0}
_GPT = {"num_layers": 32, "hidden_size": 4096, "vocab_size": 50257, "seq_length": 2048, "bf16": True}
_SOCKET = (0.5, "network", "algo-1:34:90 [0] NCCL INFO Using network Socket")
_EFA = (0.5, "network", "algo-1:34:90 [0] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)")
_NO_OFI = (
    0.5,
    "network-problem",
    "algo-1:34:90 [0] find_ofi_provider:543 NCCL WARN NET/OFI Couldn't find any optimal provider",
)
_FLUSHES = [(minute, "cache-flush", "2 pytorch allocator cache flushes since last step") for minute in range(2, 57)]
_STUMBLES = steps_frame(steps(TWO, 900, 2.0, spikes_every=20))


def _hours(of: Run) -> Run:
    """Old data of the same hour are one mean an hour: too few points to judge by."""
    rows = of.metrics.groupby(["node", "metric"], as_index=False)["value_pct"].mean()
    return replace(of, metrics=metrics_frame(rows.assign(timestamp=START, period_s=3600)), metrics_period_s=3600)


def tflops(value: float) -> pd.DataFrame:
    """Steps that print what each GPU gets."""
    return steps_frame(steps(TWO, 1700, 2.0).assign(throughput=value, throughput_unit="TFLOP/s/GPU"))


FIRES: dict[str, list[Run]] = {
    "one-gpu-in-use": [
        one_gpu(4, 97.0, 80.0),
        one_gpu(8, 60.0, 40.0),
        # All processes on one GPU, each of them told to be one of four.
        one_gpu(4, 98.0, 90.0, configuration={"processes_per_host": 4}),
    ],
    "unused-gpus": [
        run(
            shaped({**BUSY, "gpu_utilization": 46.0, "gpu_memory_utilization": 37.0}),
            configuration={"processes_per_host": 4},
        ),
        run(
            shaped({**BUSY, "gpu_utilization": 46.0, "gpu_memory_utilization": 37.0}),
            events=said([(0.2, "world-size", "initializing with world size 8")]),
        ),
        run(metrics_frame(), configuration={"processes_per_host": 4}),
        # One of four hosts at 7/8 of its peers, in both.
        run(
            shaped(_P4D, FOUR_NAMES, of_node={"algo-3": {"gpu_utilization": 84.0, "gpu_memory_utilization": 65.6}}),
            nodes=FOUR,
        ),
        run(shaped({**BUSY, "gpu_utilization": 87.0, "gpu_memory_utilization": 86.0}, noise=0.1)),
    ],
    "idle-gpus": [
        run(_idle(40, 60)),
        run(_idle(0, 60), steps_frame(), logs=LogCoverage(2, 100)),
        run(_idle(10, 40, ["algo-3"]), nodes=FOUR, step_frame=steps(FOUR_NAMES, 1700, 2.0)),
        # An evaluation does not explain what comes half an hour after it.
        run(
            _idle(40, 56), paused(600, 300), events=said([(10.1, "evaluation-begin", "***** Running Evaluation *****")])
        ),
        run(shaped(BUSY, minutes=12, period_s=300, noise=0.1, of_node={n: {"gpu_utilization": 1.0} for n in TWO})),
    ],
    "small-batch": [
        run(metrics(TWO, MINUTES, LOW)),
        # There is nothing but sockets on a type without EFA.
        run(metrics(TWO, MINUTES, LOW), nodes=with_efa(efa=False), events=said([_SOCKET])),
    ],
    "low-gpu-utilization": [
        run(metrics(TWO, MINUTES, LOW), ragged(2.0)),
        run(metrics(TWO, MINUTES, LOW), configuration={"pipeline_parallel_degree": 4, "microbatches": 8}),
        run(metrics(TWO, MINUTES, LOW), steps_frame(), logs=LogCoverage(2, 100)),
        run(metrics(TWO, MINUTES, LOW), configuration={"dataloader_num_workers": 0}),
    ],
    "cpu-bottleneck": [
        run(shaped({**LOW, "cpu_utilization": 96.0})),
        # The hosts without GPUs feed the others.
        run(
            shaped(LOW, of_node={"algo-2": {"cpu_utilization": 97.0}, "algo-1": {"cpu_utilization": 12.0}}),
            nodes=(nodes_of(1)[0], replace(nodes_of(2)[1], gpus=0, instance_type="ml.c5.18xlarge")),
        ),
    ],
    "fluctuating-gpu-utilization": [run(shaped({**BUSY, "gpu_utilization": _DIPS}))],
    "gpu-memory-pressure": [
        run(shaped({**BUSY, "gpu_memory_utilization": 96.0}), _STUMBLES),
        run(shaped({**BUSY, "gpu_memory_utilization": 96.0})),
        run(events=said(_FLUSHES)),
    ],
    "gpu-memory-growth": [
        run(shaped({**BUSY, "gpu_memory_utilization": 60 + 35 * RAMP})),
        running(shaped({**BUSY, "gpu_memory_utilization": 40 + 25 * RAMP})),
    ],
    "host-memory-growth": [
        run(shaped({**BUSY, "memory_utilization": 50 + 45 * RAMP})),
        running(
            shaped({**BUSY, "memory_utilization": 40 + 20 * RAMP + 10 * (np.arange(MINUTES) % 6 / 6)}),
            max_runtime_s=8 * 3600,
        ),
    ],
    "disk-nearly-full": [
        run(shaped({**BUSY, "disk_utilization": 94.0})),
        running(shaped({**BUSY, "disk_utilization": 30 + 40 * np.floor(RAMP * 10) / 10}, noise=0.05)),
    ],
    "efa-not-in-use": [
        run(nodes=with_efa(), events=said([_SOCKET])),
        run(nodes=with_efa(), events=said([_NO_OFI])),
        run(nodes=with_efa(), events=said([(0.5, "transport", "NET/Socket/0")])),
        run(nodes=with_efa(), events=said([(0.5, "network", "NCCL INFO NET/OFI Selected Provider is tcp")])),
    ],
    "communication-bound": [
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(), configuration={"tensor_parallel_degree": 16}),
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(efa=False), events=said([_SOCKET])),
        run(
            shaped(_P4D),
            nodes=with_efa(),
            events=said([_SOCKET]),
            configuration={**_GPT, "global_batch_size": 16},
        ),
    ],
}

SILENT: dict[str, list[Run]] = {
    "one-gpu-in-use": [
        one_gpu(4, 380.0, 300.0),
        one_gpu(1, 97.0, 80.0),
        one_gpu(4, 90.0, 250.0),  # memory of several GPUs is held
        one_gpu(4, 50.0, 60.0, configuration={"processes_per_host": 4}),  # four that are hardly used
        one_gpu(4, 60.0, 60.0, cpu=97.0),
        _hours(one_gpu(4, 97.0, 80.0)),
    ],
    "unused-gpus": [
        run(configuration={"processes_per_host": 8}),
        # One process that drives all GPUs.
        run(configuration={"processes_per_host": 1}),
        run(metrics_frame(), configuration={"processes_per_host": 1}),
        # Each node trains by itself: its world is its own.
        run(events=said([(0.2, "world-size", "initializing with world size 8")])),
        run(events=said([(0.2, "world-size", "model parallel world size: 4")])),
        # Stages of a pipeline differ by right; a slow node holds as much memory as its peers.
        run(
            shaped(_P4D, FOUR_NAMES, of_node={"algo-3": {"gpu_utilization": 84.0, "gpu_memory_utilization": 65.6}}),
            nodes=FOUR,
            configuration={"pipeline_parallel_degree": 4},
        ),
        run(shaped(_P4D, FOUR_NAMES, of_node={"algo-3": {"gpu_utilization": 84.0}}), nodes=FOUR),
        run(shaped({**BUSY, "gpu_utilization": 87.0, "gpu_memory_utilization": 60.0}, noise=0.1)),
        run(shaped({**BUSY, "gpu_utilization": 87.0, "gpu_memory_utilization": 86.0})),
    ],
    "idle-gpus": [
        run(_idle(52, 60)),
        run(metrics(["algo-1"], MINUTES, {"cpu_utilization": 80.0}), nodes=nodes_of(1, gpus=0)),
        # A long evaluation on the CPU, told by its first line alone.
        run(
            _idle(20, 40),
            paused(1200, 1200),
            events=said([(20.1, "evaluation-begin", "***** Running Evaluation *****")]),
        ),
        # One that is still under way.
        run(
            _idle(40, 60),
            steps(TWO, 1200, 2.0),
            status="InProgress",
            events=said([(40.5, "evaluation-begin", "***** Running Evaluation *****")]),
            logs=LogCoverage(2, 5000, START + timedelta(minutes=59)),
        ),
        _hours(run(_idle(40, 60))),
    ],
    "small-batch": [
        run(metrics(TWO, MINUTES, {**LOW, "gpu_memory_utilization": 85.0})),
        run(metrics(TWO, MINUTES, LOW), ragged(2.0)),
        run(metrics(TWO, MINUTES, LOW), configuration={"partitions": 2}),
        run(metrics(TWO, MINUTES, LOW), configuration={"num_workers": 0}),
        # 16 of 96 cores are busy, as many as there are loader workers.
        run(shaped({**LOW, "cpu_utilization": 16.7}, noise=0.2), configuration={"num_workers": 2}),
        # What waits for TCP in place of EFA is no small batch.
        run(shaped(LOW), nodes=with_efa(), events=said([_SOCKET])),
    ],
    "low-gpu-utilization": [
        run(metrics(TWO, MINUTES, {"gpu_utilization": 72.0})),
        one_gpu(4, 97.0, 80.0),
        run(metrics(["algo-1"], MINUTES, {"cpu_utilization": 20.0}), nodes=nodes_of(1, gpus=0)),
        run(shaped({**LOW, "cpu_utilization": 96.0})),
        run(shaped(LOW, minutes=8), ragged(2.0)),
    ],
    "cpu-bottleneck": [
        run(shaped({**LOW, "gpu_utilization": 92.0, "cpu_utilization": 97.0})),
        # The cache fills, or the text is tokenized, in the first third.
        run(
            shaped(
                {
                    **BUSY,
                    "gpu_utilization": np.where(RAMP < 0.55, 30.0, 92.0),
                    "cpu_utilization": np.where(RAMP < 0.55, 97.0, 40.0),
                }
            )
        ),
        run(shaped({**LOW, "cpu_utilization": _at_minutes(range(0, 60, 10), 97.0, 25.0)})),
    ],
    "fluctuating-gpu-utilization": [
        run(),
        run(shaped({**BUSY, "gpu_utilization": _at_minutes(range(2, 8), 3.0, 95.0)})),
        # Dips in which the disk fills are checkpoints.
        run(
            shaped({**BUSY, "gpu_utilization": _DIPS, "disk_utilization": 20 + np.cumsum(_DIPS < 10) * 2.0}, noise=0.01)
        ),
        # Evaluations that the log tells of.
        run(
            shaped({**BUSY, "gpu_utilization": _at_minutes([20, 21, 40, 41, 42], 3.0, 95.0)}),
            paused(1200, 90),
            events=said([(20.05, "evaluation-begin", "***** Running Evaluation *****")]),
        ),
    ],
    "gpu-memory-pressure": [run(), run(shaped({**BUSY, "gpu_memory_utilization": 90.0}), _STUMBLES)],
    "gpu-memory-growth": [
        run(shaped({**BUSY, "gpu_memory_utilization": 94.0})),
        # Taken once, in the middle; and a level that settles.
        run(shaped({**BUSY, "gpu_memory_utilization": np.where(RAMP < 0.6, 60.0, 90.0)})),
        run(shaped({**BUSY, "gpu_memory_utilization": 60 + 30 * (1 - np.exp(-RAMP * 12))})),
        # Longer sequences need longer steps.
        run(shaped({**BUSY, "gpu_memory_utilization": 60 + 30 * RAMP}), longer_steps()),
        running(shaped({**BUSY, "gpu_memory_utilization": 40 + 25 * RAMP}), max_runtime_s=3700),
    ],
    "host-memory-growth": [
        run(),
        run(shaped({**BUSY, "memory_utilization": 60 + 30 * TEETH})),
        run(shaped({**BUSY, "memory_utilization": np.minimum(30 + 150 * RAMP, 80)})),
        running(shaped({**BUSY, "memory_utilization": 40 + 2 * RAMP}), max_runtime_s=_SECONDS),
    ],
    "disk-nearly-full": [
        run(),
        run(shaped({**BUSY, "disk_utilization": 60 + 25 * TEETH})),
        running(shaped({**BUSY, "disk_utilization": 60 + 25 * TEETH}), max_runtime_s=_SECONDS),
        running(shaped({**BUSY, "disk_utilization": np.minimum(30 + 200 * RAMP, 60)})),
    ],
    "efa-not-in-use": [
        run(nodes=with_efa(), events=said([_EFA])),
        run(nodes=with_efa(), events=said([_NO_OFI, _EFA])),
        run(nodes=with_efa(efa=False), events=said([_SOCKET])),
        run(nodes=with_efa(efa=None), events=said([_SOCKET])),
        run(nodes=with_efa(1), events=said([_SOCKET])),
        run(nodes=with_efa(), events=said([(0.5, "nccl-setting", "NCCL version 2.20.5+cuda12.4")])),
    ],
    "communication-bound": [
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(), events=said([_EFA])),
        run(shaped(_P4D), tflops(150.0), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(_P4D), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(LOW), tflops(40.0), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(), events=said([_SOCKET]), configuration={"bf16": False}),
    ],
}
