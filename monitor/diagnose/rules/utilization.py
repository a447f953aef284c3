"""Rules about GPUs that do nothing: one of several in use, fewer processes than GPUs, idle for ten minutes or more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from monitor.analyze.devices import InUse, Processes, at_a_ceiling, fewer_than_peers, processes_per_host, within
from monitor.analyze.single_gpus import in_use
from monitor.analyze.utilization import IDLE_PCT, Stretch, longest_idle
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.rules import progress
from monitor.diagnose.stakes import WORK
from monitor.diagnose.words.devices import fewest_points, money_of, pipeline_degree, seen_in_use, share_of, span
from monitor.diagnose.words.report import lost_words
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.words import capitalised, duration, nodes, percent

# The sum of one GPU at work for most of the time; below that it may be all of them, hardly used.
ONE_AT_WORK_PCT = 85.0
LEAST_BUSY_PCT = 10.0
CPU_FULL_PCT = 90.0
IDLE_MINUTES = 10.0
# A stretch that ended so shortly before the last minutes that are judged goes on.
_STILL = timedelta(minutes=5)
# Where neither a step nor a busy minute marks the beginning, startup may still be under way for a while.
IDLE_MINUTES_FROM_START = 30.0
# Steps that go on in an idle stretch: a few reports at least, spread over most of it.
FEWEST_REPORTS = 3


@rule("one-gpu-in-use", needs="metrics", silenced_by=("stall", "nccl-timeout", "gpu-binding"))
def one_gpu_in_use(case: Case) -> Finding | None:
    """Only one GPU of a multi-GPU host works; the others are paid for and idle.

    What it means: the host's GPU utilization, summed over its GPUs, never passes that of one GPU, and the summed GPU
    memory fits one GPU, in nearly every minute after the first step. If the launcher starts several processes, or the
    CPU is full, only a sum that stays near that of one full GPU counts: such a host may also be using all its GPUs a
    little.

    Why it matters: the whole instance is billed; with one of eight GPUs in use, seven eighths of the bill buy nothing.

    What to do: start one process per GPU (torchrun --nproc_per_node, or the distribution's processes_per_host) and
    let each take its own (torch.cuda.set_device with LOCAL_RANK), or move to an instance with one GPU.

    Source: CloudWatch reports GPU metrics of training jobs as sums over the host's GPUs (SageMaker developer guide,
    monitoring-cloudwatch); thresholds are this project's: a sum of at most 110 % in 95 % of the minutes.
    """
    told = processes_per_host(case.run.job, case.run.events)
    cpu = case.pooled.get("cpu_utilization")
    found = [
        one
        for one in within(case.by_minute, _gpus(case), 1, fewest_points(case))
        if one.busy_sum >= LEAST_BUSY_PCT
        and (
            one.busy_sum >= ONE_AT_WORK_PCT
            or not _may_be_all(case, one, told, cpu is not None and cpu.p95 > CPU_FULL_PCT)
        )
    ]
    # Where the profiler tells, nothing is guessed from a sum.
    told_by_gpu = in_use(case.gpus)
    found = [one for one in found if len(told_by_gpu.get(one.node, ((0,), ()))[0]) <= 1]
    if not found or case.window is None:
        return None
    first, hit = found[0], [one.node for one in found]
    seen = seen_in_use(case, first.node)
    several = told is not None and told.each > 1
    savings = _idle(share_of(case, (one.gpus - 1 for one in found)))
    return Finding(
        "one-gpu-in-use",
        "warning",
        "high" if seen or (first.busy_sum >= 50 and not several) else "medium",
        f"One of {first.gpus} GPUs in use",
        f"{'Only' if seen else 'It looks as if only'} one of {first.gpus} GPUs is in use "
        f"{nodes(hit, len(case.run.job.nodes))} since {case.clock(case.window.start)}: the GPUs together reach "
        f"{percent(first.busy_sum)} (one full GPU is "
        f"100 %), their memory {percent(first.held_sum)}. The other {first.gpus - 1} are paid for and "
        f"idle.{seen}{money_of(case, savings, 'of idle GPUs')}"
        + (f" {told.each} processes run on each host and seem to share one GPU." if told and several else ""),
        _sums(case, first) + _evidence(told),
        Recommendation(
            "Let each process take its own GPU: torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) before anything is "
            "allocated."
            if several
            else f"Start {first.gpus} processes on each host (torchrun --nproc_per_node={first.gpus}, or "
            f"processes_per_host={first.gpus}); if the work fits on one GPU, use an instance with one.",
            parameter=None if several else "processes_per_host",
            from_value=None if several else 1,
            to_value=None if several else first.gpus,
            source="CloudWatch's GPU figures are sums over a host's GPUs",
        ),
        not_checked=() if seen else ("which GPU is in use: CloudWatch has no figures for single GPUs",),
        savings=savings,
    )


def _may_be_all(case: Case, one: InUse, told: Processes | None, cpu_full: bool) -> bool:
    """Whether a sum that is less than one full GPU may well be that of all GPUs, hardly used."""
    if told is not None:
        return told.each > 1
    ranks = case.run.steps.loc[case.run.steps["node"] == one.node, "rank"].nunique()
    return cpu_full or ranks > 1


@rule(
    "unused-gpus",
    needs="metrics",
    silenced_by=("stall", "nccl-timeout", "one-gpu-in-use", "gpu-binding"),
    explains=("slow-node",),
)
def unused_gpus(case: Case) -> Finding | None:
    """There are fewer processes than GPUs, so some GPUs have no work.

    What it means: the launcher starts fewer processes on a host than it has GPUs, and GPU utilization and memory,
    summed over the host, fit that many GPUs; or both stay at the same k/g of what its peers reach; or both stay just
    below what k of g full GPUs would give. Memory or utilization alone is not enough: pipeline stages differ for good
    reason.

    Why it matters: the whole instance is billed, and the GPUs without a process do nothing from the first step to the
    last.

    What to do: set processes_per_host (or torchrun --nproc_per_node) to the number of GPUs; if it already is, look
    for a rank that died or never started.

    Source: CloudWatch's GPU figures are sums over a host's GPUs; the toolkit starts as many processes as the distribution's
    processes_per_host says (SageMaker training toolkit); tolerances are this project's: 10 points of the sum, 2 % of a ratio.
    """
    told = processes_per_host(case.run.job, case.run.events)
    table, gpus = case.by_minute, _gpus(case)
    found: tuple[InUse, ...] = ()
    if told is not None:
        found = within(table, gpus, told.each, fewest_points(case))
    if told is None or any(count == told.each for count in gpus.values()):
        found = found or _by_metrics(case, told)
    if found := tuple(_as_seen(case, found)):
        return _unused(case, found, told)
    return _unused_unseen(case, told)


def _as_seen(case: Case, found: tuple[InUse, ...]) -> Iterator[InUse]:
    """With the number of GPUs that the profiler shows in use, where it tells; nodes where all are in use are left out."""
    shown = in_use(case.gpus)
    for one in found:
        used, empty = shown.get(one.node, ((), ()))
        if not used:
            yield one
        elif empty:
            yield replace(one, used=len(used))


def _by_metrics(case: Case, told: Processes | None) -> tuple[InUse, ...]:
    if pipeline_degree(case) > 1:
        return ()
    table, gpus = case.by_minute, _gpus(case)
    kinds = {node.name: node.instance_type or "" for node in case.run.job.nodes}
    found = fewer_than_peers(table, gpus, kinds, fewest_points(case))
    # Where all processes are there, a sum below the ceiling is just a sum.
    return found or (() if told is not None else at_a_ceiling(table, gpus))


def _unused(case: Case, found: tuple[InUse, ...], told: Processes | None) -> Finding | None:
    first, hit = found[0], [one.node for one in found]
    savings = _idle(share_of(case, (one.gpus - one.used for one in found)))
    idle, seen = first.gpus - first.used, seen_in_use(case, first.node)
    why = {
        "peers": f"both are {first.used}/{first.gpus} of what peers of the same type reach",
        "ceiling": f"both stay just below what {first.used} full GPUs would give",
    }.get(
        first.against, f"that fits {first.used} GPUs, and no more processes run there ({told.said_by if told else ''})"
    )
    return Finding(
        "unused-gpus",
        "warning",
        "high" if seen else ("high" if told and told.certain else "medium") if first.against != "ceiling" else "low",
        f"{idle} of {first.gpus} GPUs unused",
        f"{idle} of {first.gpus} GPUs seem{'s' if idle == 1 else ''} to have no work "
        f"{nodes(hit, len(case.run.job.nodes))} since "
        f"{case.clock(case.window.start) if case.window else 'the start'}: summed over the host, GPU utilization is "
        f"{percent(first.busy_sum)} and GPU memory utilization {percent(first.held_sum)} ({100 * first.gpus} % "
        f"would be all of them): {why}.{seen}{money_of(case, savings, 'of idle GPUs')}",
        _sums(case, first) + _evidence(told),
        _start_all(first.used, first.gpus, told),
        not_checked=() if seen else ("which GPUs are idle: CloudWatch has no figures for single GPUs",),
        savings=savings,
    )


def _unused_unseen(case: Case, told: Processes | None) -> Finding | None:
    """By the launcher alone, where no metrics tell otherwise; one process may drive several GPUs by itself."""
    hosts = [node for node in case.run.job.nodes if node.gpus and told is not None and node.gpus > told.each]
    alone = told is not None and told.each == 1 and case.run.job.smp_version is None
    seen = (case.run.metrics["metric"] == "gpu_utilization").any()
    if told is None or not told.certain or not hosts or alone or seen:
        return None
    gpus = hosts[0].gpus or 0
    savings = _idle(share_of(case, ((node.gpus or 0) - told.each for node in hosts)))
    return Finding(
        "unused-gpus",
        "warning",
        "medium",
        f"{gpus - told.each} of {gpus} GPUs without a process",
        f"{told.each} processes run on each host ({told.said_by}), and the hosts have {gpus} GPUs "
        f"{nodes([node.name for node in hosts], len(case.run.job.nodes))}: {gpus - told.each} of them get no work."
        f"{money_of(case, savings, 'of idle GPUs')}",
        (Evidence("processes on each host", float(told.each), f"of {gpus} GPUs", hosts[0].name), *_evidence(told)),
        _start_all(told.each, gpus, told),
        not_checked=("GPU utilization: no metrics could be read", "whether one process drives several GPUs"),
        savings=savings,
    )


def _start_all(used: int, gpus: int, told: Processes | None) -> Recommendation:
    known = told is not None and told.each < gpus
    text = (
        f"Set processes_per_host to {gpus} (torchrun --nproc_per_node={gpus}), and adjust the parallel degrees and "
        "the batch to match."
        if known
        else f"Check that {gpus} processes run on each host (processes_per_host, --nproc_per_node), and that none "
        f"of them has died."
    )
    return Recommendation(text, "processes_per_host", used, gpus, "SageMaker training toolkit: processes_per_host")


@rule("idle-gpus", needs="metrics", silenced_by=("stall", "nccl-timeout", "one-gpu-in-use", "unused-gpus"))
def idle_gpus(case: Case) -> Finding | None:
    """GPUs are idle for ten minutes or more after training began.

    What it means: GPU utilization of a node stays below 5 % for at least 10 minutes in a row after the first step, outside
    checkpoints, evaluations and restarts.

    Why it matters: all instances keep billing while nothing is computed: a hung process, a waiting data loader, a
    model that was never moved to the GPU, or an export or upload that runs on the CPU.

    What to do: read the log lines from that time; stop the job if nothing happens; move long CPU work to a job
    without GPUs.

    Source: thresholds are this project's; paying for idle GPUs is among users' most frequent complaints.
    """
    if case.window is None:
        return None
    if case.window.since == "training start" and progress.long_initialization.check(case) is not None:
        return None  # nothing has begun yet: that has a name of its own
    least = IDLE_MINUTES_FROM_START if case.window.since == "training start" else IDLE_MINUTES
    spans = [one for one in longest_idle(case.metrics, case.set_aside) if one.minutes >= least]
    if not spans:
        return None
    worst = max(spans, key=lambda one: one.minutes)
    of = {node.name: node.gpus or 0 for node in case.run.job.nodes}
    idle_gpu_min = sum(one.minutes * of.get(one.node, 0) for one in spans)
    whole = sum(of.values()) * case.window.minutes
    hit = [one.node for one in spans]
    still = sum(of.get(one.node, 0) for one in spans if case.window.end - one.end <= _STILL)
    savings: tuple[Saving, ...] = ()
    if whole:
        idle_s = 60 * case.window.minutes * min(1.0, idle_gpu_min / whole)
        savings = (Saving(WORK, most_s=idle_s, kind="idle", goes_on=still / sum(of.values())),)
    money = f" {capitalised(f'{spent} was billed for that')}" if (spent := lost_words(case.bill, savings)) else ""
    return Finding(
        "idle-gpus",
        "warning",
        "high" if case.window.since == "first step" else "medium",
        f"GPUs idle for {duration(worst.minutes * 60)}"
        + ("" if len(hit) == case.gpu_nodes else f" {nodes(hit, case.gpu_nodes or len(hit))}"),
        f"GPUs are idle {nodes(hit, case.gpu_nodes or len(case.run.job.nodes))}: below {IDLE_PCT:.0f} % for "
        f"{worst.minutes:.0f} minutes in a row{f' on {worst.node}' if len(hit) > 1 else ''}, "
        f"{case.clock(worst.start)} to {case.clock(worst.end)}, after training had "
        f"begun.{_meanwhile(case, worst, hit)} The instances are billed all the same.{money}",
        (
            Evidence(
                f"GPU utilization below {IDLE_PCT:.0f} %",
                worst.minutes,
                "min in a row",
                worst.node,
                worst.start,
                worst.end,
                view="gpu_utilization",
            ),
        ),
        Recommendation(_what_next(case, worst), source="rule idle-gpus"),
        not_checked=("what the processes did during that time: no trace is taken",)
        if case.window.since == "first step"
        else ("when the first step was: no step line was recognized",)
        if case.run.logs.lines
        else ("steps, checkpoints and evaluations: the logs were not read",),
        savings=savings,
    )


def _meanwhile(case: Case, worst: Stretch, hit: list[str]) -> str:
    """What else was seen in the stretch: steps, the CPU, the other nodes."""
    said = ""
    if _steps_go_on(case, worst):
        said += " Steps continue during that time."
    elif not case.run.job.is_running and not (case.journal["at"] > worst.start).any() and len(case.journal):
        said += " That is after the last step."
    rows = case.metrics[(case.metrics["timestamp"] >= worst.start) & (case.metrics["timestamp"] < worst.end)]
    cpu = rows.loc[(rows["metric"] == "cpu_utilization") & (rows["node"] == worst.node), "value_pct"]
    if len(cpu):
        said += f" The CPU of {worst.node} is at {percent(float(cpu.median()))}."
    others = rows[(rows["metric"] == "gpu_utilization") & ~rows["node"].isin(hit)]["value_pct"]
    if len(others):
        said += f" The GPUs of the other nodes are at {percent(float(others.median()))}."
    return said


def _what_next(case: Case, worst: Stretch) -> str:
    if _steps_go_on(case, worst):
        return (
            "Check that the model and its batches are on the GPU (next(model.parameters()).device) in this version "
            "of the script: steps continue while its GPUs are idle."
        )
    return (
        f"Read what {worst.node} logged from {case.clock(worst.start)} on. If the job is hung, stop it; if it "
        "evaluates, exports or uploads on the CPU, do that in a job without GPUs."
    )


def _steps_go_on(case: Case, worst: Stretch) -> bool:
    at = case.journal["at"].dropna()
    inside = at[(at >= worst.start) & (at < worst.end)]
    return len(inside) >= FEWEST_REPORTS and bool(inside.max() - inside.min() >= (worst.end - worst.start) / 2)


def _idle(share: float | None) -> tuple[Saving, ...]:
    """What GPUs without work are of all; an instance is billed whole."""
    return (Saving(WORK, share, kind="idle"),) if share else ()


def _gpus(case: Case) -> dict[str, int]:
    return {node.name: node.gpus or 0 for node in case.run.job.nodes}


def _sums(case: Case, one: InUse) -> tuple[Evidence, ...]:
    unit = f"% of {one.gpus * 100}"
    return (
        Evidence(
            "GPU utilization, sum over the host, median",
            one.busy_sum,
            unit,
            one.node,
            *span(case),
            view="gpu_utilization",
        ),
        Evidence(
            "GPU memory, sum over the host, median",
            one.held_sum,
            unit,
            one.node,
            *span(case),
            view="gpu_memory_utilization",
        ),
    )


def _evidence(facts: Processes | None) -> tuple[Evidence, ...]:
    return (
        ()
        if facts is None
        else (Evidence("processes on each host", float(facts.each), facts.said_by, line=facts.line),)
    )
