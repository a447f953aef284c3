"""What a chart shows, in one sentence above it. For all of a job, or for the part that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo

import numpy as np
import pandas as pd

from monitor.analyze.journal import Losses
from monitor.analyze.stalls import StepAnatomy
from monitor.analyze.timeline import JOB, NOWHERE, Timeline
from monitor.charts.elements import Span, clipped
from monitor.charts.step_time import Changes, WorkTimes, against_peers, node_medians
from monitor.charts.utilization import Measured
from monitor.diagnose.rules.pace import slower_words
from monitor.diagnose.unlike import ODD_POINTS
from monitor.model import Evidence, MetricName, NodeStats, Report, Role
from monitor.model.host_metrics import HOST_METRICS
from monitor.words import (
    ago,
    capitalised,
    count,
    duration,
    instant,
    nodes,
    percent,
    phase,
    sentence,
    step_seconds,
    usd,
    zone_name,
)

_LISTED = ["phase", "minutes", "cost_usd"]


def clock_of(at: datetime, zone: tzinfo, span: Span) -> str:
    """``14:05``; with the day where the span has several, with seconds where it is short."""
    local = at.astimezone(zone)
    days = span[0].astimezone(zone).date() != span[1].astimezone(zone).date()
    form = "%H:%M:%S" if span[1] - span[0] < timedelta(minutes=10) else "%H:%M"
    return f"{local:{'%d %b, ' if days else ''}{form}}".lstrip("0") if days else f"{local:{form}}"


def stretch(part: Span, zone: tzinfo) -> str:
    """``14:05 to 14:20 CEST``."""
    start, end = (clock_of(at, zone, part) for at in part)
    return f"{start} to {end} {zone_name(part[1], zone)}"


def utilization_sentence(report: Report, metric: MetricName, rows: Measured, part: Span | None, zone: tzinfo) -> str:
    """``GPU 46 % on all 4 nodes since 14:05; algo-3 is 17 points lower.`` Of a part its means; else those of the work."""
    means, when = rows.within(part).means(), "" if part is None else f" from {stretch(part, zone)}"
    mean = sum(means.values()) / len(means) if means else None
    if part is None:
        since, whole = report.work_since, report.devices.get(metric)
        if whole is not None and since is not None:
            means = {
                each.node.name: found.mean for each in report.nodes if (found := getattr(each, metric)) is not None
            }
            span = (since, report.job.ended or report.reviewed_at)
            mean, when = whole.mean, f" since {clock_of(since, zone, span)} {zone_name(since, zone)}"
        else:
            when = " on average (too short for a one-minute average of the work)"
    name, names = HOST_METRICS[metric].device, [name for name in rows.names if name in means]
    if not means or mean is None:
        return f"{name}: no data from {stretch(part, zone)}." if part else f"{name}: no data."
    where = nodes(names, len(rows.names)) if len(names) == len(rows.names) else _some(names, rows.names)
    return sentence(f"{name} {percent(mean)} {where}{when}{_odd(means)}{_missing(names, rows.names)}")


def _some(names: list[str], every: tuple[str, ...]) -> str:
    return f"on {len(names)} of {len(every)} nodes"


def _missing(names: list[str], every: tuple[str, ...]) -> str:
    lost = [name for name in every if name not in names]
    if not lost:
        return ""
    return f"; {lost[0]} has no data" if len(lost) == 1 else f"; {count(len(lost), 'node')} without data"


def _odd(means: Mapping[str, float]) -> str:
    """The node furthest from the median node, and how many others are far from it."""
    if len(means) < 2:
        return ""
    middle = float(np.median(list(means.values())))
    far = sorted(
        (name for name in means if abs(means[name] - middle) >= ODD_POINTS), key=lambda n: -abs(means[n] - middle)
    )
    if not far:
        low, high = min(means.values()), max(means.values())
        return "" if round(low) == round(high) else f"; nodes are much the same, {low:.0f} to {high:.0f} %"
    name, points = far[0], means[far[0]] - middle
    more = len(far) - 1
    others = f"; so {'is' if more == 1 else 'are'} {count(more, 'other node')}" if more else ""
    return f"; {name} is {abs(points):.0f} points {'lower' if points < 0 else 'higher'}{others}"


def changes_of(report: Report) -> Changes:
    """When the pace changed for good, as the finding has it."""
    return tuple((at, f"{words} from here") for at, words in _slower_since(report))


def _slower_since(report: Report) -> list[tuple[datetime, str]]:
    """When steps became slower for good, and ``Steps take 1.31 x as long``."""
    out = []
    for before, since in zip(_facts(report, "pace before"), _facts(report, "pace since"), strict=True):
        if since.start is not None and isinstance(before.value, float) and isinstance(since.value, float):
            # Where lines print no times it is so many steps, or samples, a second.
            ratio = since.value / before.value if since.unit == "s" else before.value / since.value
            out.append((since.start, slower_words(ratio)))
    return out


def _facts(report: Report, role: Role) -> list[Evidence]:
    return [fact for finding in report.findings for fact in finding.evidence if fact.role == role]


def slow_node(report: Report) -> str | None:
    """The node that a finding calls slow by its steps, the slowest of several; no other is named as such."""
    return next((fact.node for fact in _facts(report, "step time")), None)


def steps_sentence(report: Report, work: WorkTimes, part: Span | None, zone: tzinfo) -> str:
    """``A step takes 4.10 s (p10 to p90 4.05 to 4.21 s); algo-5 takes 2.63 s, 1.31 x the median of its peers.``"""
    shown = work.within(part)
    when = "" if part is None else f" from {stretch(part, zone)}"
    if not len(shown):
        return sentence(f"No steps were logged{when}")
    p10, median, p90 = (float(value) for value in np.percentile(shown.seconds, [10, 50, 90]))
    if part is None and report.steps is not None and report.steps.median_s is not None:
        median = report.steps.median_s
        p10, p90 = report.steps.p10_s or p10, report.steps.p90_s or p90
    said = f"A step takes {step_seconds(median)}{when} (p10 {step_seconds(p10)}, p90 {step_seconds(p90)})"
    span = part or (report.job.started or report.reviewed_at, report.job.ended or report.reviewed_at)
    for at, words in _slower_since(report):
        if span[0] <= at <= span[1]:
            said += f"; {words.lower()} since {clock_of(at, zone, span)}"
    return sentence(said + _of_nodes(report, shown, part))


def _of_nodes(report: Report, shown: WorkTimes, part: Span | None) -> str:
    """``; algo-5 takes 2.63 s, 1.31 x the median of its peers`` where a finding says so, of a part by that part's steps;
    else how far apart the nodes are. Empty where fewer than two report."""
    medians, slow = node_medians(shown), slow_node(report)
    if len(medians) < 2:
        return ""
    if slow in medians:
        own, peers = against_peers(medians, slow)
        if part is None:
            own, peers = _value(report, "step time", own), _value(report, "peers' step time", peers)
        return f"; {slow} takes {step_seconds(own)}, {own / peers:.2f} x the median of its peers"
    low, high = (step_seconds(each) for each in (min(medians.values()), max(medians.values())))
    return f"; medians of the nodes are {low} to {high}" if low != high else "; all nodes take the same time"


def _value(report: Report, role: Role, otherwise: float) -> float:
    fact = next(iter(_facts(report, role)), None)
    return fact.value if fact is not None and isinstance(fact.value, float) else otherwise


def loss_sentence(found: Losses, part: Span | None, zone: tzinfo) -> str:
    """``Training loss 2.31 at step 4,500, down from 10.8; 3 reports are NaN or infinite, the first at step 4,420.``"""
    rows, when = _shown(found, part, zone)
    known, bad = rows[rows["loss"].notna()], rows[rows["bad"]]
    said = f"No training loss was logged{when}"
    if len(known):
        first, last = float(known["loss"].iloc[0]), float(known["loss"].iloc[-1])
        way = "down from" if last < first else "up from" if last > first else "the same as at first,"
        said = f"Training loss {last:.4g}{_at_step(known.iloc[-1])}{when}, {way} {first:.4g}"
    if len(bad):
        verb = "is" if len(bad) == 1 else "are"
        said += f"; {count(len(bad), 'report')} {verb} NaN or infinite, the first{_at_step(bad.iloc[0])}"
    return sentence(said)


def rate_sentence(found: Losses, part: Span | None, zone: tzinfo) -> str:
    """``Learning rate 2.8e-05 at step 4,500; its peak was 0.0003.``"""
    rows, when = _shown(found, part, zone)
    known = rows[rows["learning_rate"].notna()]
    if known.empty:
        return sentence(f"No learning rate was logged{when}")
    last, peak = float(known["learning_rate"].iloc[-1]), float(known["learning_rate"].max())
    said = f"Learning rate {last:.3g}{_at_step(known.iloc[-1])}{when}"
    return sentence(said if peak == last else f"{said}; its peak was {peak:.3g}")


def _shown(found: Losses, part: Span | None, zone: tzinfo) -> tuple[pd.DataFrame, str]:
    """The reports of that time, and the words for it."""
    return clipped(found.rows, part, "at", "at"), "" if part is None else f" from {stretch(part, zone)}"


def _at_step(row: pd.Series) -> str:
    return "" if pd.isna(row["step"]) else f" at step {row['step']:,}"


def progress_sentence(report: Report, reached: pd.DataFrame, part: Span | None, zone: tzinfo) -> str:
    """``The last step was 438 at 11:52 CET, 28 min ago.``"""
    if reached.empty:
        return sentence(f"No steps were logged{f' from {stretch(part, zone)}' if part else ''}")
    last = reached.iloc[-1]
    said = f"The last step was {last['step']:,} at {instant(last['at'], zone)}"
    if part is not None:
        return sentence(f"{said}, within {stretch(part, zone)}")
    return sentence(f"{said}, {ago(last['at'], report.reviewed_at)}" if report.job.is_running else said)


_BEFORE_THE_PROGRAM = frozenset({"starting", "downloading", "image"})


def phases_sentence(report: Report, frame: pd.DataFrame) -> str:
    """``Goodput 87 %: of 1 h 14 min billed, 1 h 4 min was training; the longest other part is initialization, 3 min
    ($6.55).``"""
    billed: dict[str, float] = {}
    for each in report.phases:
        billed[each.name] = billed.get(each.name, 0.0) + (each.seconds if each.billed else 0.0)
    if not report.billed_s:
        longest = frame.loc[frame["minutes"].idxmax()]
        return sentence(
            f"Nothing was billed; the longest part is {longest['phase']}, {duration(longest['minutes'] * 60)}"
        )
    whole = f"{duration(report.billed_s)} billed"
    if report.goodput is None and not report.run.logs.complete:
        return sentence(f"{whole}; what it was spent on will show once all log lines are read")
    spent = {name: seconds for name, seconds in billed.items() if seconds > 0}
    if report.goodput is None and spent.keys() <= _BEFORE_THE_PROGRAM and not report.job.is_running:
        longest_part = max(spent, key=lambda each: spent[each])
        words = f"the longest part is {phase(longest_part)}, {duration(spent[longest_part])}"
        return sentence(f"{whole}, all before the program started; {words}")
    if report.goodput is None:
        return sentence(f"{whole}; what it was spent on is not known: no training step was read")
    said = (
        f"Goodput {percent(100 * report.goodput)}: of {whole}, {duration(billed.get('productive', 0.0))} was training"
    )
    rest = {name: seconds for name, seconds in billed.items() if name != "productive" and seconds > 0}
    if not rest:
        return sentence(said)
    name = max(rest, key=lambda each: rest[each])
    cost = next((bucket.cost_usd for bucket in report.buckets if bucket.name == name), None)
    money = f" ({usd(cost)})" if cost else ""
    return sentence(f"{said}; the longest other part is {phase(name)}, {duration(rest[name])}{money}")


def phases_listed(frame: pd.DataFrame) -> str:
    """``Download 2 min ($1.20) · training 1 h 20 min ($48).``"""
    return capitalised(" · ".join(_bucket_words(*row) for row in frame[_LISTED].itertuples(index=False)))


def sum_words(report: Report, frame: pd.DataFrame) -> str:
    """``1 h 23 min from request to end, 1 h 20 min billed: $5.84.``"""
    whole = f"{duration(frame['minutes'].sum() * 60)} from request to {'now' if report.job.is_running else 'end'}"
    if not report.billed_s:
        return f"{whole}, none of it billed."
    cost, most = report.cost, "at most " if report.cost.at_most else ""
    money = "" if cost.usd is None else f": {most}{usd(cost.usd)}"
    return f"{whole}, {duration(report.billed_s)} billed{money}."


def timeline_words(found: Timeline, report: Report) -> str:
    """What stands out, and how many nodes are not drawn."""
    said = []
    marks = found.marks
    first = marks[marks["kind"] == "first error"]
    if len(first):
        row = first.iloc[0]
        after = int(marks.loc[(marks["kind"] == "error") & (marks["start"] >= row["start"]), "count"].sum())
        said.append(f"The first error is on {row['lane']}" + (f"; {count(after, 'more')} after it" if after else ""))
    elif (marks["kind"] == "error").any():
        said.append(f"{count(int(marks.loc[marks['kind'] == 'error', 'count'].sum()), 'error')} in the logs")
    for kind, saying in (("restart", "restarted or resumed"), ("no step", "logged no step for {}")):
        if many := found.nodes_with.get(kind, 0):
            rows = marks[marks["kind"] == kind]
            longest = (rows["end"] - rows["start"]).max().total_seconds() if len(rows) else 0.0
            who = rows["lane"].iloc[0] if many == 1 and len(rows) else count(many, "node")
            said.append(f"{who} {saying.format(duration(longest) if longest else 'long')}")
    if found.left_out:
        many = found.left_out + sum(lane not in (JOB, NOWHERE) for lane in found.lanes)
        said.append(not_drawn(found.left_out, many, found.left_out_troubled))
    if not said:
        return "No error, restart or long silence in the logs." if report.run.logs.lines else "No log lines were read."
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def not_drawn(left_out: int, of: int, odd: int) -> str:
    """``60 of 64 nodes have nothing unusual (not drawn)``; ``odd``: so many of those left out have something, too."""
    if not left_out:
        return ""
    if odd:
        return f"{left_out} of {of} nodes are not drawn, {odd} of them also unusual"
    return f"{left_out} of {of} nodes have nothing unusual (not drawn)"


def _bucket_words(called: str, minutes: float, cost_usd: float) -> str:
    money = "" if cost_usd != cost_usd else f" ({usd(cost_usd)})" if cost_usd else " (not billed)"
    return f"{called} {duration(minutes * 60)}{money}"


# GPUs nearer to one another than this are alike.
_ALIKE_POINTS = 5.0
_STILL_PCT = 20.0
_LOW_SHARE = 0.6
# A tenth of a step; less may be chance.
_FEWEST_STILL = 2


def gpus_sentence(stats: NodeStats) -> str:
    """``GPU 5 of algo-2 is least busy, 48 %; the others 92 to 95 %``."""
    node = stats.node.name
    busy = {gpu.gpu: gpu.utilization.mean for gpu in stats.gpus if gpu.utilization is not None}
    if not busy:
        return f"How busy the GPUs of {node} are was not sampled"
    least, most = min(busy, key=lambda gpu: busy[gpu]), max(busy, key=lambda gpu: busy[gpu])
    low, high = busy[least], busy[most]
    if len(busy) == 1:
        return f"The GPU of {node} is {percent(low)} busy"
    if high - low < _ALIKE_POINTS:
        return f"All {len(busy)} GPUs of {node} are about as busy: {_range(low, high)}"
    middle = sorted(busy.values())[len(busy) // 2]
    odd, which = (least, "least") if middle - low >= high - middle else (most, "busiest")
    others = [value for gpu, value in busy.items() if gpu != odd]
    word = "least busy" if which == "least" else "busiest"
    return f"GPU {odd} of {node} is {word}, {percent(busy[odd])}; the others {_range(min(others), max(others))}"


def anatomy_sentence(found: StepAnatomy) -> str:
    """``GPUs are at 93 to 96 % throughout the step``, ``GPUs fall to 20 % for 0.4 s of a step of 3.0 s, else 84 %`` or ``GPUs
    stand still for 0.6 s of a step of 2.1 s``."""
    busy = found.pieces["mean_pct"]
    length_s = found.pieces["end_s"] - found.pieces["begin_s"]
    of_step = f"of a step of {found.step_s:.1f} s"
    still = busy < _STILL_PCT
    if still.sum() >= _FEWEST_STILL:
        return f"GPUs stand still for {length_s[still].sum():.1f} s {of_step}"
    low = busy < _LOW_SHARE * busy.median()
    if low.sum() >= _FEWEST_STILL:
        fall = f"GPUs fall to {percent(busy[low].mean())} for {length_s[low].sum():.1f} s {of_step}"
        return f"{fall}, else {percent(busy[~low].mean())}"
    return f"GPUs are at {_range(busy.min(), busy.max())} throughout the step, {percent(busy.mean())} on average"


def _range(low: float, high: float) -> str:
    return percent(low) if round(low) == round(high) else f"{low:.0f} to {percent(high)}"
