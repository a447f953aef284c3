"""Rules about what a job could do without: features of model parallelism, instances, a type that does not suit them, or
on-demand prices."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.analyze.checkpoints import Cadence, Save, cadence, saves
from monitor.analyze.phases import beginning, billed_seconds
from monitor.diagnose.advised import (
    SMP_PRACTICES,
    gain,
    has_room,
    memory_evidence,
    memory_p95,
    memory_words,
    prediction,
    read,
    saved,
    sound,
)
from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.rules.bubble import pipeline_bubble
from monitor.diagnose.rules.low_utilization import low_mfu
from monitor.diagnose.rules.memory_to_spare import needless_sharding
from monitor.diagnose.rules.precision import full_precision
from monitor.diagnose.stakes import WORK
from monitor.diagnose.words.devices import distributions, enough
from monitor.diagnose.words.report import saved_words
from monitor.model import Evidence, Finding, Recommendation, Saving
from monitor.predict.layout import sharding_of
from monitor.predict.outcome import FULLEST, Outcome, what_if
from monitor.predict.spread import MACHINES, cost_a_sample, pace_words, speed
from monitor.words import count, duration, percent, usd
from monitor.words import usd as usd_words

# GPU memory of so little leaves room to do with less of what saves it.
_EMPTY_PCT = 50.0
# With half of the nodes both must still fit.
_HALF_BUSY_PCT = 42.0
_SMALL_GPU_GIB = 24.0
# Of GPUs that are as busy as this the pace of the GPU decides; and what a move must save at least.
_BUSY_PCT = 70.0
_WORTH = 0.05
_ADVISED = ("raise-active-microbatches", "raise-microbatches", "small-batch")
_BROKEN = ("stall", "nccl-timeout", "one-gpu-in-use", "unused-gpus", "idle-gpus", "invalid-configuration")


@rule(
    "fewer-features",
    needs="metrics",
    silenced_by=(
        *(*_ADVISED, *_BROKEN, "cuda-out-of-memory", "sharding-across-nodes"),
        *("tensor-parallel-degree", "tensor-parallel-across-nodes"),
    ),
    whole_log=True,
)
def fewer_features(case: Case) -> Finding | None:
    """GPU memory is half empty, but the job pays for a memory-saving feature.

    What it means: tensor parallelism, activation checkpointing or offloading is in use while GPU memory stays below 50 % at
    its 95th percentile, and with less of it the predicted memory stays below 92 %.

    Why it matters: recomputing costs about a quarter of each step, and tensor parallelism costs collectives; if the
    model fits without them, that buys nothing.

    What to do: scale the feature back one degree or one layer group at a time, and compare the step times.

    Source: SMP v1 best practices (a model that fits with a subset of the features seldom gains from more); published pairs
    with and without recomputation.
    """
    memory = memory_p95(case)
    if memory is None or memory >= _EMPTY_PCT or not enough(case):
        return None
    best = next(_less(case), None)
    if best is None:
        return None
    parameter, now, to, words, found = best
    return Finding(
        "fewer-features",
        "info",
        "medium",
        f"Fewer memory-saving features would do: peak GPU memory {percent(memory)}",
        f"Peak GPU memory is {percent(memory)} (p95 of the fullest node), and {words}: the model would also fit "
        f"with less of that; {memory_words(found)}.",
        (
            *read(case, parameter),
            *memory_evidence(case),
        ),
        Recommendation(
            f"Try {parameter} {_plain(to)} instead of {_plain(now)} and compare the step times.{saved(case, found)}",
            parameter,
            now,
            to,
            SMP_PRACTICES,
        ),
        prediction(found),
        () if case.gpus["memory_pct"].notna().any() else ("individual GPUs: CloudWatch has one figure per host",),
        savings=gain(found, "waiting" if parameter == "tensor_parallel_degree" else "computing"),
    )


def _less(case: Case) -> Iterator[tuple[str, object, object, str, Outcome]]:
    """(parameter, from, to, what is in use, outcome) of what may be taken back, what gains most first."""
    setup, memory = case.setup, memory_p95(case) or 100.0
    if setup.flag("offload_activations") and setup.framework == "smp1":
        found = what_if(setup, {"offload_activations": False})
        if has_room(found):
            yield "offload_activations", True, False, "activations are offloaded to the host", found
    if setup.flag("activation_checkpointing"):
        found = what_if(setup, {"activation_checkpointing": False})
        if has_room(found):
            yield (
                "activation_checkpointing",
                True,
                False,
                "every forward pass is done twice (activation checkpointing)",
                found,
            )
    t = setup.tensor_degree or 1
    if t > 1 and t % 2 == 0:
        found = what_if(setup, {"tensor_parallel_degree": t // 2})
        # What one GPU holds at most doubles.
        may = sound(setup, {"tensor_parallel_degree": t // 2})
        if may and (has_room(found) or (found.memory.change_gib is None and 2 * memory < 92)):
            yield "tensor_parallel_degree", t, t // 2, f"layers are split over {t} GPUs", found


@rule(
    "instance-type",
    needs="metrics",
    silenced_by=(*_ADVISED, *_BROKEN, "cpu-bottleneck", "sharding-across-nodes"),
    whole_log=True,
)
def instance_type(case: Case) -> Finding | None:
    """The instances do not suit the job: slow network or small GPUs for model parallelism, or more than it uses.

    What it means: model-parallel groups (pipeline, tensor or full sharding) span nodes of a type without EFA, or with
    GPUs of 24 GiB or less; or GPU and GPU memory are so little used that half the nodes would be enough; or the GPUs are
    busy, and by the price list and published ratios of throughput a sample costs at least 5 % less on another type.

    Why it matters: model parallelism over a slow network, or in many small parts, spends its time on traffic; idle
    nodes cost as much as busy ones.

    What to do: compare the cost per sample on an instance type with EFA and larger GPUs, or on half as many nodes.

    Source: SMP v1 best practices (EFA classes such as p4d for large models); MosaicML's tables of llm-foundry for the pace of
    GPUs; the estimate for half-idle nodes is this project's.
    """
    return _unsuited(case) or _half_idle(case) or _cheaper(case)


def _unsuited(case: Case) -> Finding | None:
    setup, hosts = case.setup, [node for node in case.run.job.nodes if node.gpus]
    each, sharded = setup.gpus_per_node, sharding_of(setup)
    if len(hosts) < 2 or each is None:
        return None
    group = (setup.pipeline_degree or 1) * (setup.tensor_degree or 1)
    if sharded is not None and sharded[0] == "full":
        group = max(group, sharded[1])
    without_efa = all(node.efa is False for node in hosts)
    small = [node.gpu_memory_gib for node in hosts if node.gpu_memory_gib and node.gpu_memory_gib <= _SMALL_GPU_GIB]
    if group <= each or not (without_efa or len(small) == len(hosts)):
        return None
    lacks = [
        *(["has no EFA"] if without_efa else []),
        *([f"has GPUs of {small[0]:g} GiB"] if len(small) == len(hosts) else []),
    ]
    name = hosts[0].instance_type or "this type"
    return Finding(
        "instance-type",
        "info",
        "medium",
        f"Model parallelism across {len(hosts)} nodes of {name}",
        f"Groups of {group} GPUs span nodes of {each}, and {name} {' and '.join(lacks)}: layers wait for the network.",
        read(
            case, "pipeline_parallel_degree", "tensor_parallel_degree", "sharded_data_parallel_degree", "gpus_per_node"
        ),
        Recommendation(
            "Compare the cost per sample on fewer, larger GPUs with EFA (ml.p4d.24xlarge, ml.p4de.24xlarge, "
            "ml.p5.48xlarge): a short run of each will tell.",
            "instance_type",
            setup.text("instance_type"),
            "ml.p4d.24xlarge",
            SMP_PRACTICES,
        ),
        None,
        ("the cost per sample on another type: it has not been measured",),
    )


def _half_idle(case: Case) -> Finding | None:
    gpu, memory = case.pooled.get("gpu_utilization"), memory_p95(case)
    nodes = case.run.job.instance_count
    if gpu is None or memory is None or nodes is None or nodes < 2 or not enough(case):
        return None
    if case.window is None or case.window.since == "training start":
        return None
    if gpu.p95 > _HALF_BUSY_PCT or memory > _HALF_BUSY_PCT:
        return None
    savings = (Saving(WORK, 0.5),)
    money = f", {less} less" if (less := saved_words(case.bill, savings)) else ""
    half = count(nodes // 2, "node")
    return Finding(
        "instance-type",
        "info",
        "low",
        f"{nodes} nodes are less than half used",
        f"GPU p95 {percent(gpu.p95)} and GPU memory p95 {percent(memory)}: {half} with twice the work each would be "
        f"enough{money}.",
        distributions(case),
        Recommendation(
            f"Run on {half} with twice the batch size per device, or on a smaller instance type; the global batch "
            "stays the same.",
            "instance_count",
            nodes,
            nodes // 2,
            "arithmetic from the utilization",
        ),
        None,
        ("why the GPUs wait: fewer nodes do not fix a slow loader or network",),
        savings=savings,
    )


def _cheaper(case: Case) -> Finding | None:
    """Another type on which a sample costs less, even by the least favorable of the published ratios."""
    gpu, memory, price = case.pooled.get("gpu_utilization"), memory_p95(case), case.price
    kinds = {group.instance_type for group in case.run.job.instance_groups}
    if gpu is None or memory is None or price is None or len(kinds) != 1 or not enough(case) or gpu.p50 < _BUSY_PCT:
        return None
    if any(each.check(case) for each in (low_mfu, pipeline_bubble, full_precision, needless_sharding)):
        return None  # what only looks busy is no faster on a faster GPU
    (now,) = kinds
    found = [
        (cost, name)
        for name, usd in price.others.items()
        if (cost := cost_a_sample(now, name, price.usd_per_instance_hour, usd)) is not None
        and cost[2] <= 1 - _WORTH
        and memory * MACHINES[now].gpu_memory_gib <= FULLEST * 100 * MACHINES[name].gpu_memory_gib
    ]
    if not found:
        return None
    (low, middle, high), other = min(found)
    pace = speed(now, other)
    assert pace is not None
    usd_other = price.others[other]
    than = f"{pace[1]:.2g} times as fast ({pace[0]:.3g} to {pace[2]:.3g})"
    return Finding(
        "instance-type",
        "info",
        "low",
        f"A sample would cost {percent(100 * (1 - middle))} less on {other} ({100 * (1 - high):.0f} to {100 * (1 - low):.0f} %)",
        f"{now} costs {usd_words(price.usd_per_instance_hour)} an hour ({price.source}), {other} {usd_words(usd_other)}; its "
        f"{MACHINES[other].gpu} are {than} as {MACHINES[now].gpu} in published training runs of transformers: "
        f"{pace_words(now, other)}. The GPUs are busy, so their pace decides.",
        (
            *distributions(case),
            Evidence("cost of a sample there, of that here", middle, "ratio"),
        ),
        Recommendation(
            f"Run some steps on {other} with the same batch and compare the cost per sample; GPU memory p95 of "
            f"{percent(memory)} fits there. Quotas and capacity differ.",
            "instance_type",
            now,
            other,
            "MosaicML llm-foundry training benchmarks; price list",
        ),
        None,
        ("models other than transformers, and lower precision: the ratios are of bf16",),
    )


def _plain(value: object) -> str:
    return str(value).lower()


# Shorter jobs save little, and wait for capacity as long as others.
LEAST_S = 2 * 3600.0
# An interruption that costs more than this share of the job is not worth advising.
MOST_LOST = 0.1
#: What the developer guide gives as the most that managed spot training saves.
MOST_SAVED = 0.9


@rule(
    "managed-spot",
    needs="steps",
    silenced_by=("checkpoint-overdue", "lost-work", "stall"),
    about="risk",
    whole_log=True,
)
def managed_spot(case: Case) -> Finding | None:
    """The job runs on demand, though it saves regularly to S3 and could go on after an interruption.

    What it means: the job has no managed spot training, trained for two hours or more, and saved at least three times at a
    regular interval to the folder that its checkpoint configuration copies to S3; starting again and half an interval of
    work are less than a tenth of its time.

    Why it matters: managed spot training is billed at what the capacity costs, which is up to 90 % less than on demand.

    What to do: set EnableManagedSpotTraining and a MaxWaitTimeInSeconds, make sure that the script loads the newest
    checkpoint at its start, and try it with one job; large GPU types may wait long for spot capacity.

    Source: SageMaker developer guide, managed spot training (up to 90 %); the limits are this project's.
    """
    job = case.run.job
    if job.spot or not job.outputs.checkpoints or job.source == "logs" or job.warm_pool_billable_seconds is not None:
        return None
    trained_s = billed_seconds(case.phases)
    known = saves(case.journal, case.run.events)
    usual = cadence(known) if known else None
    if usual is None or trained_s < LEAST_S or job.status in {"Failed", "Stopped"}:
        return None
    begun = beginning(case.run, case.journal, case.now)
    start_s = begun.seconds(case.now) if begun is not None and begun.first_step is not None else None
    if start_s is None or start_s + usual.seconds / 2 > MOST_LOST * trained_s:
        return None
    return _finding(case, known, usual, trained_s, start_s)


def _finding(case: Case, known: tuple[Save, ...], usual: Cadence, trained_s: float, start_s: float) -> Finding:
    job, price = case.run.job, case.usd_per_hour
    each_s = start_s + usual.seconds / 2
    money = f" ({usd(price * each_s / 3600)})" if price else ""
    total = price * (job.training_seconds or trained_s) / 3600 if price else None
    so_far = " so far" if job.is_running else ""
    most = f"Managed spot would save up to {usd(MOST_SAVED * total)} of {usd(total)}{so_far}. " if total else ""
    return Finding(
        "managed-spot",
        "info",
        "low",
        "On demand, though it could restart: spot saves up to 90 %",
        f"{most}{count(len(known), 'checkpoint')} went to {job.outputs.checkpoints}, one every {duration(usual.seconds)}. "
        f"An interruption would cost about {duration(each_s)} on all instances{money}: {duration(start_s)} to the first step, "
        "and half an interval of work.",
        (
            Evidence("interval between checkpoints, median", usual.seconds, "s"),
            Evidence("from the start of training to the end of the first step", start_s, "s", view="steps"),
            Evidence("billed", trained_s, "s"),
        ),
        Recommendation(
            "Set EnableManagedSpotTraining and MaxWaitTimeInSeconds, and load the newest checkpoint from /opt/ml/checkpoints "
            "at the start. Try it with one job: how long this type waits for spot capacity, and how often it is taken back, "
            "nobody publishes.",
            "EnableManagedSpotTraining",
            False,
            True,
            "SageMaker developer guide, managed spot training (up to 90 %)",
        ),
        None,
        ("spot prices and capacity: AWS publishes none for training", "whether the script loads its checkpoints"),
    )
