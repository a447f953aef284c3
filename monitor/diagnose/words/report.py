"""Short sentences of a report, the same on every screen: a fact behind a finding, the model FLOP utilization, a muted finding,
where a job reads and writes, what to say next to its costs; and text of others, without secrets and cut to a readable length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

from monitor.diagnose.comparison.comparability import ParameterDifference
from monitor.diagnose.stakes import Bill, stakes_usd
from monitor.masking import MASK, without_secrets
from monitor.model import METRICS, Evidence, Job, Mute, NodeStats, Report, Saving, Utilized
from monitor.model.host_metrics import HOST_METRICS
from monitor.words import DASH, count, instant, percent, sentence, step_seconds, usd, warm_pool

LONGEST = 500


def quoted(line: str) -> str:
    """The line as it may be shown."""
    out = " ".join(without_secrets(line).split())
    return out if len(out) <= LONGEST else out[: LONGEST - 1] + "…"


_NAMED = 6


def hidden(job: Job) -> tuple[str, ...]:
    """The names of the parameters with a masked value, or one in them."""
    shown = {name: text for name, text in job.hyperparameters.items() if name != "mp_parameters"}
    shown |= {name: str(known.value) for name, known in job.configuration.items()}
    return tuple(sorted(name for name, text in shown.items() if MASK in text))


def hidden_words(job: Job) -> str:
    """``2 values look secret and are shown as ***: hf_token and wandb_api_key.``; empty where none is."""
    names = hidden(job)
    if not names:
        return ""
    further = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    which = ", ".join(names[:_NAMED]) + further
    looks = "looks secret and is" if len(names) == 1 else "look secret and are"
    return f"{count(len(names), 'value')} {looks} shown as {MASK}: {which}."


#: What the two figures of money are, for the help beside them.
OVERHEAD_MEANS = "billed time not spent on training: everything but training, evaluation and checkpoints."
RECOVERABLE_MEANS = (
    "what the findings say could be saved, at most; overlapping findings count once, and findings without an "
    "estimate are not included."
)

#: What they say of other prices is no saving that can be counted on.
_OF_PRICE = frozenset({"managed-spot", "instance-type"})


def recoverable_words(report: Report) -> tuple[str, str]:
    """The figure, ``$35 an hour`` of a job that runs and ``$12.40`` of one that has ended, and what stands beside it."""
    cost, per = report.cost, " an hour" if report.job.is_running else ""
    value = stakes_usd(report)
    if value is None or cost.recoverable_usd is None:
        return DASH, "not known"
    bound = "≤ " if cost.at_most and value else ""
    if not cost.recoverable_usd and not value:
        cheaper = any(finding.id in _OF_PRICE and not finding.savings for finding in report.findings)
        return f"$0{per}", "cheaper prices aside" if cheaper else "nothing found to save"
    if per:
        return f"{bound}{usd(value)}{per}", f"{usd(cost.recoverable_usd)} so far"
    return f"{bound}{usd(value)}", f"{percent(100 * value / cost.usd)} of the cost" if cost.usd else "in total"


def _sums(report: Report) -> list[str]:
    """``Cost $118.53, overhead $14.19, recoverable $37.08 (31 % of the cost).``"""
    cost = report.cost
    if cost.usd is None:
        return []
    value, context = recoverable_words(report)
    overhead = "" if cost.overhead_usd is None else f", overhead {usd(cost.overhead_usd)}"
    saved = "not known" if value == DASH else f"{value} ({context})"
    bound = "≤ " if cost.at_most else ""
    return [f"Cost {bound}{usd(cost.usd)}{overhead}, recoverable {saved}."]


def cost_words(report: Report) -> list[str]:
    """A few sentences, one each: what the job cost, and whose price that is."""
    cost, said = report.cost, _sums(report)
    if cost.price_usd_per_instance_hour is not None:
        said.append(f"Price: {usd(cost.price_usd_per_instance_hour)} per instance-hour ({cost.price_source}).")
    elif gaps := [gap for gap in report.run.gaps if gap.what == "price"]:
        said.append(f"Cost unknown: {' '.join(gap.sentence for gap in gaps)}")
    else:
        said.append("Cost unknown: no price is set for this instance type in the settings file.")
    if retained_s := report.job.warm_pool_billable_seconds:
        said.append(warm_pool(retained_s, cost.retained_usd))
    return said


def saved_words(bill: Bill, savings: Iterable[Saving]) -> str:
    """``$35 an hour`` of a job that runs, ``$12.40`` of one that has ended; empty without a price, or where it is nothing."""
    each = tuple(savings)
    if bill.is_running:
        return _amount(bill, bill.saved_usd_per_hour(each), " an hour")
    return lost_words(bill, each)


def lost_words(bill: Bill, savings: Iterable[Saving]) -> str:
    """``$12.40``: of the bill so far, whether the job runs or not; empty without a price, or where it is nothing."""
    return _amount(bill, bill.saved_usd(savings), "")


def _amount(bill: Bill, value: float | None, per: str) -> str:
    return "" if not value else f"{'at most ' if bill.at_most else ''}{usd(value)}{per}"


def fact_value(fact: Evidence) -> str | None:
    """``46 %``, ``1,204 s``; None where the fact has no value."""
    if fact.value is None:
        return None
    value = _three_digits(fact.value) if isinstance(fact.value, float) else fact.value
    return f"{value} {fact.unit}".strip()


def when(fact: Evidence, zone: tzinfo = UTC) -> str | None:
    """``25 Sep 2026, 14:05 CEST to 15:35 CEST``; None where the fact has no time."""
    if fact.start is None and fact.end is None:
        return None
    if fact.start is None or fact.end is None:
        return f"{'from' if fact.start else 'until'} {instant(fact.start or fact.end, zone)}"
    start, end = instant(fact.start, zone), instant(fact.end, zone)
    same_day = start.split(",")[0] == end.split(",")[0]
    return f"{start} to {end.split(', ')[1] if same_day else end}"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def usual_words(found: Utilized) -> str:
    """``46 % is usual``, or that nobody knows what is."""
    if found.usual_pct is None:
        return "of the GPUs' peak"
    return f"{percent(found.usual_pct)} is usual"


def mfu_words(found: Utilized) -> str:
    """A sentence with the figure, what it is of, what is usual, and what it was worked out from."""
    usual = "" if found.usual_pct is None else f"; {percent(found.usual_pct)} or more is usual"
    return f"MFU {percent(found.mfu_pct)} of the half-precision peak of {found.gpu_model}{usual}. From {found.how}."


def muted_words(mute: Mute, zone: tzinfo = UTC) -> str:
    """``Muted: a disk that we know, since 22 Nov 2026, 14:05 CET, for all runs of bert.``"""
    runs = f", for all runs of {mute.job}" if mute.all_runs else ""
    return sentence(f"Muted: {mute.reason.rstrip('.')}, since {instant(mute.since, zone)}{runs}")


#: The columns of a table of nodes as text: name, title. Utilization is a mean in percent of one device.
NODE_TITLES: Mapping[str, str] = {
    "node": "node",
    "instance_type": "instance",
    "gpus": "GPUs",
    **{
        name: f"{each.device.replace('Memory', 'memory').replace('Disk', 'disk')} %"
        for name, each in HOST_METRICS.items()
    },
    "steps": "step time",
}


def node_cells(stats: NodeStats) -> dict[str, str]:
    """A node's cells in these columns, a dash for what is not known; with p5 and p95 of its GPUs."""
    node, gpu = stats.node, stats.gpu_utilization
    means = {name: DASH if (found := getattr(stats, name)) is None else f"{found.mean:.0f}" for name in METRICS}
    if gpu is not None:
        means["gpu_utilization"] += f" ({gpu.p5:.0f}-{gpu.p95:.0f})"
    return {
        "node": node.name,
        "instance_type": node.instance_type or DASH,
        "gpus": DASH if node.gpus is None else str(node.gpus),
        **means,
        "steps": step_seconds(stats.steps.median_s) if stats.steps else DASH,
    }


class FileRow(NamedTuple):
    what: str
    where: str
    how: str


def file_rows(job: Job) -> list[FileRow]:
    """Input channels, then outputs; empty where the job says nothing of either, as a log alone does not."""
    rows = [
        FileRow(f"Input: {channel.name}", channel.uri, ", ".join(filter(None, (channel.mode, channel.content_type))))
        for channel in job.channels
    ]
    outputs = job.outputs
    key = "encrypted with your KMS key" if outputs.own_key else ""
    for what, where, how in (
        ("Output", outputs.path, key),
        ("Model", outputs.model, key),
        ("Checkpoints", outputs.checkpoints, ""),
    ):
        if where:
            rows.append(FileRow(what, where, how))
    if outputs.own_volume_key:
        rows.append(FileRow("Instance volumes", "", "encrypted with your KMS key"))
    return rows


#: So many are named; the rest is counted.
NAMED = 3
_LONGEST = 40


def like_words(name: str, different: Sequence[ParameterDifference]) -> str:
    """``Compared with the previous run gpt-60b-run-6: microbatches 8 → 4``; the previous run's value comes first."""
    if not different:
        return f"Same settings as the previous run, {name}"
    named = [f"{each.parameter} {_value(each.values[0])} → {_value(each.values[1])}" for each in different[:NAMED]]
    more = len(different) - len(named)
    rest = f" and {count(more, 'more parameter')}" if more else ""
    return f"Compared with the previous run {name}: {', '.join(named)}{rest}"


def _value(value: Any) -> str:
    text = "not set" if value is None else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
