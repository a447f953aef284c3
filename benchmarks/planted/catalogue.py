"""Which jobs are there? Every fault by its finding's id, several draws of each; and healthy ones by number."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.planted import faults_ended, faults_profiled, faults_progress, faults_use, faults_useful, remarks
from benchmarks.planted.draw import Rng
from benchmarks.planted.faults_ended import Planted
from benchmarks.planted.healthy import draw, sort_of
from benchmarks.planted.scenario import Scenario, build

FAULTS: dict[str, Callable[[Rng, str, int], Planted]] = {
    "cuda-out-of-memory": faults_ended.cuda_out_of_memory,
    "host-out-of-memory": faults_ended.host_out_of_memory,
    "nccl-timeout": faults_ended.nccl_timeout,
    "spot-interruption": faults_ended.spot_interruption,
    "capacity": faults_ended.capacity,
    "access-denied": faults_ended.access_denied,
    "data-error": faults_ended.data_error,
    "script-error": faults_ended.script_error,
    "nan-loss": faults_ended.nan_loss,
    "max-runtime": faults_ended.max_runtime,
    "stopped-by-user": faults_ended.stopped_by_user,
    "stall": faults_progress.stall,
    "long-initialization": faults_progress.long_initialization,
    "long-download": faults_progress.long_download,
    "long-upload": faults_progress.long_upload,
    "slow-node": faults_progress.slow_node,
    "step-time-regression": faults_progress.step_time_regression,
    "slow-steps": faults_progress.slow_steps,
    "checkpoint-stall": faults_progress.checkpoint_stall,
    "checkpoint-overdue": faults_progress.checkpoint_overdue,
    "one-gpu-in-use": faults_use.one_gpu_in_use,
    "unused-gpus": faults_use.unused_gpus,
    "idle-gpus": faults_use.idle_gpus,
    "low-gpu-utilization": faults_use.low_gpu_utilization,
    "fluctuating-gpu-utilization": faults_use.fluctuating,
    "small-batch": faults_use.small_batch,
    "low-mfu": faults_useful.low_mfu,
    "pipeline-bubble": faults_useful.pipeline_bubble,
    "full-precision": faults_useful.full_precision,
    "small-microbatch": faults_useful.small_microbatch,
    "needless-sharding": faults_useful.needless_sharding,
    "cpu-bottleneck": faults_use.cpu_bottleneck,
    "communication-bound": faults_use.communication_bound,
    "gpu-memory-pressure": faults_use.gpu_memory_pressure,
    "gpu-memory-growth": faults_use.gpu_memory_growth,
    "host-memory-growth": faults_use.host_memory_growth,
    "disk-nearly-full": faults_use.disk_nearly_full,
    "efa-not-in-use": faults_use.efa_not_in_use,
    "unlike-gpu": faults_profiled.unlike_gpu,
    "gpu-binding": faults_profiled.gpu_binding,
    "recurring-stalls": faults_profiled.recurring_stalls,
    "busy-core": faults_profiled.busy_core,
    "io-wait": faults_profiled.io_wait,
    "network-limit": faults_profiled.network_limit,
    "node-timing-unobservable": remarks.node_timing_unobservable,
    "no-step-lines": remarks.no_step_lines,
    "metrics-unavailable": remarks.metrics_unavailable,
    "logs-unavailable": remarks.logs_unavailable,
    "coarse-metrics": remarks.coarse_metrics,
}


#: Healthy jobs that look like a fault to a profiler, by the name of the fault.
TWINS: dict[str, Callable[[Rng, str, int], Planted]] = {
    "unlike-gpu-twin": faults_profiled.alike_gpus,
    "gpu-binding-twin": faults_profiled.first_gpu_holds_more,
    "recurring-stalls-twin": faults_profiled.short_dips,
    "busy-core-twin": faults_profiled.spinning_core,
    "io-wait-twin": faults_profiled.reading_ahead,
    "network-limit-twin": faults_profiled.busy_network,
}


@dataclass(frozen=True, slots=True)
class Ticket:
    """What names one job: a finding's id or a twin's name, or None for a healthy one, and a number."""

    planted: str | None
    number: int

    @property
    def name(self) -> str:
        return f"{self.planted or 'healthy'}-{self.number}"


def tickets(seeds: int, healthy: int) -> Iterator[Ticket]:
    """``seeds`` jobs of each fault, and so many healthy ones."""
    for planted in (*FAULTS, *TWINS):
        for number in range(seeds):
            yield Ticket(planted, number)
    for number in range(healthy):
        yield Ticket(None, number)


def scenario(ticket: Ticket) -> Scenario:
    """The job of a ticket: always the same."""
    seed = zlib.crc32(f"{ticket.planted}/{ticket.number}".encode()) % 1_000_000_007
    rng = np.random.default_rng(seed)
    if ticket.planted is None:
        plan, truth = draw(rng, ticket.name, seed, sort_of(ticket.number))
    else:
        plan, truth = (FAULTS | TWINS)[ticket.planted](rng, ticket.name, seed)
    return build(plan, truth)
