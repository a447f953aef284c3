"""Rules about what a host does while its GPUs wait, which only the output of a job's profiler shows: one core, disks, network."""

from __future__ import annotations

from monitor.analyze.devices import processes_per_host
from monitor.analyze.stalls import WAITING_PCT, Traffic, Waits, traffic, waits
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.devices import money_of
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import count, percent

# In so many of the waits a core is full, while the others have less to do than this.
_NEARLY_ALWAYS = 0.8
_OTHERS_CALM_PCT = 50.0
# So many cores' worth of I/O wait, and so much more than while the GPUs work.
_LEAST_WAITING_CORES = 1.0
_MORE_THAN_AT_WORK = 2.0
# A connection's headers and pauses take the rest.
NEAR_LIMIT = 0.85
_UNREAD = "minutes that were not read: a profiler's output is read in part"
_OTHER_ENDS = ("stall", "nccl-timeout", "one-gpu-in-use", "gpu-binding")


@rule(
    "busy-core",
    needs="profiler",
    silenced_by=(*_OTHER_ENDS, "cpu-bottleneck"),
    explains=("low-gpu-utilization", "fluctuating-gpu-utilization", "recurring-stalls"),
)
def busy_core(case: Case) -> Finding | None:
    """GPUs wait while one CPU core is full and the others have little to do.

    What it means: in the samples of the job's profiler in which the GPUs of a node are below 60 %, at least one core, and no
    more cores than there are training processes, is above 90 % in at least eight of ten, while the other cores are below
    50 % on average; and the GPUs wait so in a fifth of the samples or more. Where the number of processes is not known, one
    for each GPU is assumed.

    Why it matters: a thread that does everything by itself (a data loader without workers, or the main process) sets the pace,
    and the figure of the whole host shows a CPU that is nearly idle.

    What to do: give the data loader workers (num_workers of 4 to 8 for each process) and let it prefetch; if it has them, look
    for work of the main process at each step: .item() and printing, Python loops over tensors, tokenization, augmentation.

    Source: the profiler's CPUUtilization by core beside its GPUUtilization; the thresholds are this project's.
    """
    told = processes_per_host(case.run.job, case.run.events)
    gpus = {node.name: node.gpus or 1 for node in case.run.job.nodes}
    found = [
        one
        for one in waits(case.gpus, case.hosts)
        if one.full_share >= _NEARLY_ALWAYS
        and one.full_cores <= (told.each if told else gpus.get(one.node, 1))
        and not one.cpu_pct >= _OTHERS_CALM_PCT
    ]
    if not found:
        return None
    worst = found[0]
    cores = f"{count(round(worst.full_cores), 'core')} of {worst.cores}"
    savings = _waiting(worst)
    return Finding(
        "busy-core",
        "warning",
        "medium",
        f"GPUs wait while {cores} {'is' if round(worst.full_cores) == 1 else 'are'} full",
        f"{_where(found)} {_wait(worst)}, and in {percent(100 * worst.full_share)} of these samples {cores} "
        f"{'is' if round(worst.full_cores) == 1 else 'are'} full; the other cores are at {percent(worst.cpu_pct)}. "
        f"A single thread seems to set the pace.{money_of(case, savings, 'of waiting GPUs')}",
        (
            *_evidence(worst),
            Evidence(
                "full cores while GPUs wait", worst.full_cores, f"of {worst.cores}", worst.node, view="gpu_utilization"
            ),
            Evidence("other cores while GPUs wait", worst.cpu_pct, "%", worst.node, view="gpu_utilization"),
        ),
        Recommendation(
            "Give the data loader workers (num_workers of 4 to 8 for each process, with prefetch_factor and "
            "persistent_workers). If it has them, profile the main process of a step: py-spy top shows in a minute what "
            "keeps its core full.",
            source="rule busy-core",
        ),
        not_checked=("which process keeps the core full", "whether a thread only spins while it waits", _UNREAD),
        savings=savings,
    )


@rule(
    "io-wait",
    needs="profiler",
    silenced_by=_OTHER_ENDS,
    explains=("low-gpu-utilization", "fluctuating-gpu-utilization", "recurring-stalls", "busy-core"),
)
def io_wait(case: Case) -> Finding | None:
    """GPUs wait while CPU cores wait for disks or file systems.

    What it means: in the samples of the job's profiler in which the GPUs of a node are below 60 %, I/O wait of its cores sums
    up to one core or more at the median, and to at least twice of what it is while the GPUs work; and the GPUs wait so in a
    fifth of the samples or more.

    Why it matters: neither CPU nor GPU figures of CloudWatch show it; a faster instance would wait just as long.

    What to do: read fewer and larger files, put the data on a faster file system (FSx for Lustre, instance storage), prefetch
    more, or write checkpoints in the background.

    Source: the profiler's I/OWaitPercentage by core beside its GPUUtilization; the thresholds are this project's.
    """
    found = [
        one
        for one in waits(case.gpus, case.hosts)
        if one.waiting_cores >= _LEAST_WAITING_CORES
        # NaN where they were never seen at work: then there is nothing that it could be as much as.
        and not one.waiting_cores < _MORE_THAN_AT_WORK * one.waiting_cores_at_work
    ]
    if not found:
        return None
    worst = found[0]
    unit = f"of {worst.cores}"
    savings = _waiting(worst)
    return Finding(
        "io-wait",
        "warning",
        "medium",
        f"GPUs wait while {worst.waiting_cores:.1f} cores wait for I/O",
        f"{_where(found)} {_wait(worst)}, and meanwhile {worst.waiting_cores:.1f} of {worst.cores} cores wait for I/O"
        f"{_at_work(worst)}: disk or file system seem to be too slow."
        f"{money_of(case, savings, 'of waiting GPUs')}",
        (
            *_evidence(worst),
            Evidence(
                "cores in I/O wait while GPUs wait", worst.waiting_cores, unit, worst.node, view="gpu_utilization"
            ),
            *(
                (
                    Evidence(
                        "cores in I/O wait while GPUs work",
                        worst.waiting_cores_at_work,
                        unit,
                        worst.node,
                        view="gpu_utilization",
                    ),
                )
                if worst.waiting_cores_at_work == worst.waiting_cores_at_work
                else ()
            ),
        ),
        Recommendation(
            "Read fewer and larger files (shards of 100 MB and more), prefetch more, or put the data on FSx for Lustre or on "
            "the instance's own storage. To check first: train for ten minutes on data cached in memory.",
            source="rule io-wait",
        ),
        not_checked=("which file or disk they wait for", _UNREAD),
        savings=savings,
    )


@rule(
    "network-limit",
    needs="profiler",
    silenced_by=("stall", "nccl-timeout"),
    explains=("low-gpu-utilization", "communication-bound"),
)
def network_limit(case: Case) -> Finding | None:
    """The network of a node is at the limit of its instance type.

    What it means: in four of five samples of the job's profiler, over at least three minutes, a node received or sent at 85 %
    or more of the nominal bandwidth of its type. Types whose bandwidth is not known are not judged.

    Why it matters: steps then take as long as the bytes need, whatever the GPUs could do.

    What to do: if it is training traffic, reduce it (gradient accumulation, sharding inside the node, compression) or use a
    type with a faster network; if it is input, keep the data on the instance (File mode, a cache) or store it smaller.

    Source: the profiler's ReceiveBytesPerSecond and TransmitBytesPerSecond of the host, against the network performance that
    EC2 gives for the type. Whether traffic through EFA, which bypasses the kernel, is counted is not documented.
    """
    limits = {node.name: node.network_gbps for node in case.run.job.nodes if node.network_gbps}
    found = traffic(case.hosts, limits, NEAR_LIMIT)
    if not found:
        return None
    worst = found[0]
    limit, type_of = limits[worst.node], {node.name: node.instance_type for node in case.run.job.nodes}
    return Finding(
        "network-limit",
        "warning",
        "medium",
        f"Network at {100 * worst.gbps / limit:.0f} % of the limit of {type_of.get(worst.node) or 'its type'}",
        f"The network of {_named(found)} carries {worst.gbps:.1f} Gbit/s at the median, and the type has {limit:g}: near "
        f"that limit in {percent(100 * worst.share_near_limit)} of {worst.samples:,} samples.",
        (
            Evidence("network, busier direction, p50", worst.gbps, "Gbit/s", worst.node),
            Evidence("nominal bandwidth of the type", limit, "Gbit/s", worst.node),
        ),
        Recommendation(
            "If it is training traffic, send less of it (gradient accumulation, sharding inside the node) or use a type with "
            "a faster network; if it is input, keep the data on the instance or store it smaller.",
            source="rule network-limit",
        ),
        not_checked=("what the traffic is: gradients, input or checkpoints", _UNREAD),
    )


def _waiting(one: Waits) -> tuple[Saving, ...]:
    return (Saving(STEPS, one.share * (1 - one.gpu_pct / 100)),)


def _at_work(one: Waits) -> str:
    return f", against {one.waiting_cores_at_work:.1f} while the GPUs work" if one.waiting_cores_at_work >= 0 else ""


def _wait(one: Waits) -> str:
    return (
        f"wait in {percent(100 * one.share)} of the samples (below {WAITING_PCT:.0f} %, at "
        f"{percent(one.gpu_pct)} usually)"
    )


def _where(found: list[Waits]) -> str:
    return f"The GPUs of {_named(found)}"


def _named(found: list[Waits] | tuple[Traffic, ...]) -> str:
    more = len(found) - 1
    return found[0].node if not more else f"{found[0].node} (and of {count(more, 'more node')})"


def _evidence(one: Waits) -> tuple[Evidence, ...]:
    return (
        Evidence("samples in which GPUs wait", 100 * one.share, "%", one.node, view="gpu_utilization"),
        Evidence("GPU utilization in them, p50", one.gpu_pct, "%", one.node, view="gpu_utilization"),
    )
