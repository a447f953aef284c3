"""Runs for the rules about devices, memory, disk and network: which must speak, and which must not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from monitor.model import LogCoverage, metrics_frame, steps_frame
from tests.builders import START, metrics, nodes_of, steps
from tests.diagnose.runs import BUSY, LOW, MINUTES, Cases, healthy, run
from tests.diagnose.utilization_runs import (
    FOUR,
    FOUR_NAMES,
    TWO,
    WEEK_S,
    at_minutes,
    hours,
    idle,
    longer_steps,
    one_gpu,
    paused,
    ragged,
    running,
    said,
    shaped,
    tflops,
    with_efa,
)

RAMP = np.linspace(0, 1, MINUTES)
TEETH = (np.arange(MINUTES) % 10) / 10
_DIPS = at_minutes([5, 12, 19, 26, 33, 40, 47, 54], 3.0, 95.0)
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

FIRES: Cases = {
    "one-gpu-in-use": lambda: [
        one_gpu(4, 97.0, 80.0),
        one_gpu(8, 60.0, 40.0),
        # All processes on one GPU, each of them told to be one of four.
        one_gpu(4, 98.0, 90.0, configuration={"processes_per_host": 4}),
    ],
    "unused-gpus": lambda: [
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
    "idle-gpus": lambda: [
        run(idle(40, 60)),
        run(idle(0, 60), steps_frame(), logs=LogCoverage(2, 100)),
        run(idle(10, 40, ["algo-3"]), nodes=FOUR, step_frame=steps(FOUR_NAMES, 1700, 2.0)),
        # An evaluation does not explain what comes half an hour after it.
        run(
            idle(40, 56), paused(600, 300), events=said([(10.1, "evaluation-begin", "***** Running Evaluation *****")])
        ),
        run(shaped(BUSY, minutes=12, period_s=300, noise=0.1, of_node={n: {"gpu_utilization": 1.0} for n in TWO})),
    ],
    "small-batch": lambda: [
        run(metrics(TWO, MINUTES, LOW)),
        # There is nothing but sockets on a type without EFA.
        run(metrics(TWO, MINUTES, LOW), nodes=with_efa(efa=False), events=said([_SOCKET])),
    ],
    "low-gpu-utilization": lambda: [
        run(metrics(TWO, MINUTES, LOW), ragged(2.0)),
        run(metrics(TWO, MINUTES, LOW), configuration={"pipeline_parallel_degree": 4, "microbatches": 8}),
        run(metrics(TWO, MINUTES, LOW), steps_frame(), logs=LogCoverage(2, 100)),
        run(metrics(TWO, MINUTES, LOW), configuration={"dataloader_num_workers": 0}),
    ],
    "cpu-bottleneck": lambda: [
        run(shaped({**LOW, "cpu_utilization": 96.0})),
        # The hosts without GPUs feed the others.
        run(
            shaped(LOW, of_node={"algo-2": {"cpu_utilization": 97.0}, "algo-1": {"cpu_utilization": 12.0}}),
            nodes=(nodes_of(1)[0], replace(nodes_of(2)[1], gpus=0, instance_type="ml.c5.18xlarge")),
        ),
    ],
    "fluctuating-gpu-utilization": lambda: [run(shaped({**BUSY, "gpu_utilization": _DIPS}))],
    "gpu-memory-pressure": lambda: [
        run(shaped({**BUSY, "gpu_memory_utilization": 96.0}), _STUMBLES),
        run(shaped({**BUSY, "gpu_memory_utilization": 96.0})),
        run(events=said(_FLUSHES)),
    ],
    "gpu-memory-growth": lambda: [
        run(shaped({**BUSY, "gpu_memory_utilization": 60 + 35 * RAMP})),
        running(shaped({**BUSY, "gpu_memory_utilization": 40 + 25 * RAMP})),
    ],
    "host-memory-growth": lambda: [
        run(shaped({**BUSY, "memory_utilization": 50 + 45 * RAMP})),
        running(
            shaped({**BUSY, "memory_utilization": 40 + 20 * RAMP + 10 * (np.arange(MINUTES) % 6 / 6)}),
            max_runtime_s=8 * 3600,
        ),
    ],
    "disk-nearly-full": lambda: [
        run(shaped({**BUSY, "disk_utilization": 94.0})),
        running(shaped({**BUSY, "disk_utilization": 30 + 40 * np.floor(RAMP * 10) / 10}, noise=0.05)),
    ],
    "efa-not-in-use": lambda: [
        run(nodes=with_efa(), events=said([_SOCKET])),
        run(nodes=with_efa(), events=said([_NO_OFI])),
        run(nodes=with_efa(), events=said([(0.5, "transport", "NET/Socket/0")])),
        run(nodes=with_efa(), events=said([(0.5, "network", "NCCL INFO NET/OFI Selected Provider is tcp")])),
    ],
    "communication-bound": lambda: [
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

SILENT: Cases = {
    "one-gpu-in-use": lambda: [
        one_gpu(4, 380.0, 300.0),
        one_gpu(1, 97.0, 80.0),
        one_gpu(4, 90.0, 250.0),  # memory of several GPUs is held
        one_gpu(4, 50.0, 60.0, configuration={"processes_per_host": 4}),  # four that are hardly used
        one_gpu(4, 60.0, 60.0, cpu=97.0),
        hours(one_gpu(4, 97.0, 80.0)),
    ],
    "unused-gpus": lambda: [
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
    "idle-gpus": lambda: [
        run(idle(52, 60)),
        run(metrics(["algo-1"], MINUTES, {"cpu_utilization": 80.0}), nodes=nodes_of(1, gpus=0)),
        # A long evaluation on the CPU, told by its first line alone.
        run(
            idle(20, 40),
            paused(1200, 1200),
            events=said([(20.1, "evaluation-begin", "***** Running Evaluation *****")]),
        ),
        # One that is still under way.
        run(
            idle(40, 60),
            steps(TWO, 1200, 2.0),
            status="InProgress",
            events=said([(40.5, "evaluation-begin", "***** Running Evaluation *****")]),
            logs=LogCoverage(2, 5000, START + timedelta(minutes=59)),
        ),
        hours(run(idle(40, 60))),
    ],
    "small-batch": lambda: [
        run(metrics(TWO, MINUTES, {**LOW, "gpu_memory_utilization": 85.0})),
        run(metrics(TWO, MINUTES, LOW), ragged(2.0)),
        run(metrics(TWO, MINUTES, LOW), configuration={"partitions": 2}),
        run(metrics(TWO, MINUTES, LOW), configuration={"num_workers": 0}),
        # 16 of 96 cores are busy, as many as there are loader workers.
        run(shaped({**LOW, "cpu_utilization": 16.7}, noise=0.2), configuration={"num_workers": 2}),
        # What waits for TCP in place of EFA is no small batch.
        run(shaped(LOW), nodes=with_efa(), events=said([_SOCKET])),
    ],
    "low-gpu-utilization": lambda: [
        run(metrics(TWO, MINUTES, {"gpu_utilization": 72.0})),
        one_gpu(4, 97.0, 80.0),
        run(metrics(["algo-1"], MINUTES, {"cpu_utilization": 20.0}), nodes=nodes_of(1, gpus=0)),
        run(shaped({**LOW, "cpu_utilization": 96.0})),
        run(shaped(LOW, minutes=8), ragged(2.0)),
    ],
    "cpu-bottleneck": lambda: [
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
        run(shaped({**LOW, "cpu_utilization": at_minutes(range(0, 60, 10), 97.0, 25.0)})),
    ],
    "fluctuating-gpu-utilization": lambda: [
        healthy(),
        run(shaped({**BUSY, "gpu_utilization": at_minutes(range(2, 8), 3.0, 95.0)})),
        # Dips in which the disk fills are checkpoints.
        run(
            shaped({**BUSY, "gpu_utilization": _DIPS, "disk_utilization": 20 + np.cumsum(_DIPS < 10) * 2.0}, noise=0.01)
        ),
        # Evaluations that the log tells of.
        run(
            shaped({**BUSY, "gpu_utilization": at_minutes([20, 21, 40, 41, 42], 3.0, 95.0)}),
            paused(1200, 90),
            events=said([(20.05, "evaluation-begin", "***** Running Evaluation *****")]),
        ),
    ],
    "gpu-memory-pressure": lambda: [healthy(), run(shaped({**BUSY, "gpu_memory_utilization": 90.0}), _STUMBLES)],
    "gpu-memory-growth": lambda: [
        run(shaped({**BUSY, "gpu_memory_utilization": 94.0})),
        # Taken once, in the middle; and a level that settles.
        run(shaped({**BUSY, "gpu_memory_utilization": np.where(RAMP < 0.6, 60.0, 90.0)})),
        run(shaped({**BUSY, "gpu_memory_utilization": 60 + 30 * (1 - np.exp(-RAMP * 12))})),
        # Longer sequences need longer steps.
        run(shaped({**BUSY, "gpu_memory_utilization": 60 + 30 * RAMP}), longer_steps()),
        running(shaped({**BUSY, "gpu_memory_utilization": 40 + 25 * RAMP}), max_runtime_s=3700),
    ],
    "host-memory-growth": lambda: [
        healthy(),
        run(shaped({**BUSY, "memory_utilization": 60 + 30 * TEETH})),
        run(shaped({**BUSY, "memory_utilization": np.minimum(30 + 150 * RAMP, 80)})),
        running(shaped({**BUSY, "memory_utilization": 40 + 2 * RAMP}), max_runtime_s=WEEK_S),
    ],
    "disk-nearly-full": lambda: [
        healthy(),
        run(shaped({**BUSY, "disk_utilization": 60 + 25 * TEETH})),
        running(shaped({**BUSY, "disk_utilization": 60 + 25 * TEETH}), max_runtime_s=WEEK_S),
        running(shaped({**BUSY, "disk_utilization": np.minimum(30 + 200 * RAMP, 60)})),
    ],
    "efa-not-in-use": lambda: [
        run(nodes=with_efa(), events=said([_EFA])),
        run(nodes=with_efa(), events=said([_NO_OFI, _EFA])),
        run(nodes=with_efa(efa=False), events=said([_SOCKET])),
        run(nodes=with_efa(efa=None), events=said([_SOCKET])),
        run(nodes=with_efa(1), events=said([_SOCKET])),
        run(nodes=with_efa(), events=said([(0.5, "nccl-setting", "NCCL version 2.20.5+cuda12.4")])),
    ],
    "communication-bound": lambda: [
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(), events=said([_EFA])),
        run(shaped(_P4D), tflops(150.0), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(_P4D), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(LOW), tflops(40.0), nodes=with_efa(), events=said([_SOCKET])),
        run(shaped(_P4D), tflops(40.0), nodes=with_efa(), events=said([_SOCKET]), configuration={"bf16": False}),
    ],
}
