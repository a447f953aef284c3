"""What does a chart show, in one sentence that stands above it? For all of a job, or for the part of it that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo

import numpy as np
import pandas as pd

from monitor.analyze.losses import Losses
from monitor.analyze.timeline import JOB, NOWHERE, Timeline
from monitor.analyze.window import work_window
from monitor.charts.measured import Measured
from monitor.charts.phases import KIND_OF
from monitor.charts.step_buckets import Work, slowest
from monitor.charts.step_time import Changes
from monitor.charts.time_axis import Span, cut
from monitor.diagnose.odd_nodes import ODD_POINTS
from monitor.diagnose.pace import SINCE
from monitor.model import Cost, Report
from monitor.words import ago, count, duration, instant, nodes, percent, sentence, step_seconds, usd, zone_name

#: Sum and bill differ by this share at most where they are the same money: the bill is of whole seconds.
SAME_BILL = 0.005
NAMES = {
    "gpu_utilization": "GPU",
    "gpu_memory_utilization": "GPU memory",
    "cpu_utilization": "CPU",
    "memory_utilization": "Memory",
}


_LISTED = ["name", "minutes", "cost_usd"]


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


def utilization_said(report: Report, metric: str, rows: Measured, part: Span | None, zone: tzinfo) -> str:
    """``GPU 46 % on all 4 nodes since 14:05; algo-3 is 17 points lower.`` Of a part its means; else those of the work."""
    means, when = rows.within(part).means(), "" if part is None else f" from {stretch(part, zone)}"
    if part is None:
        at_work = {each.node.name: found.mean for each in report.nodes if (found := getattr(each, metric)) is not None}
        window = work_window(report.run, report.reviewed_at)
        if at_work and window is not None:
            whole = (window.start, report.job.ended or report.reviewed_at)
            means, when = at_work, f" since {clock_of(window.start, zone, whole)} {zone_name(window.start, zone)}"
        else:
            when = " on average (too short for a one-minute average of the work)"
    name, names = NAMES[metric], [name for name in rows.names if name in means]
    if not means:
        return f"{name}: no data from {stretch(part, zone)}." if part else f"{name}: no data."
    mean = sum(means.values()) / len(means)
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
    return tuple(
        (fact.start, f"{finding.title.partition(' since ')[0]} from here")
        for finding in report.findings
        if finding.id == "step-time-regression"
        for fact in finding.evidence
        if fact.what == SINCE and fact.start is not None
    )


def steps_said(report: Report, work: Work, part: Span | None, zone: tzinfo) -> str:
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
    for at, words in changes_of(report):
        if span[0] <= at <= span[1]:
            said += f"; {words.removesuffix(' from here').lower()} since {clock_of(at, zone, span)}"
    slow = slowest(shown)
    if slow is not None and slow.stands_out:
        said += f"; {slow.node} takes {step_seconds(slow.median_s)}, {slow.times:.2f} x the median of its peers"
    elif slow is not None:
        said += "; no node is more than 3 % slower than its peers"
    return sentence(said)


def loss_said(found: Losses, part: Span | None, zone: tzinfo) -> str:
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


def rate_said(found: Losses, part: Span | None, zone: tzinfo) -> str:
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
    return cut(found.rows, part, "at", "at"), "" if part is None else f" from {stretch(part, zone)}"


def _at_step(row: pd.Series) -> str:
    return "" if pd.isna(row["step"]) else f" at step {row['step']:,}"


def progress_said(report: Report, reached: pd.DataFrame, part: Span | None, zone: tzinfo) -> str:
    """``The last step was 438 at 11:52 CET, 28 min ago.``"""
    if reached.empty:
        return sentence(f"No steps were logged{f' from {stretch(part, zone)}' if part else ''}")
    last = reached.iloc[-1]
    said = f"The last step was {last['step']:,} at {instant(last['at'], zone)}"
    if part is not None:
        return sentence(f"{said}, within {stretch(part, zone)}")
    return sentence(f"{said}, {ago(last['at'], report.reviewed_at)}" if report.job.is_running else said)


def phases_said(frame: pd.DataFrame) -> str:
    """``93 % of 1 h 34 min was productive; the longest other part is initialization, 3 min ($6.55).``"""
    total = float(frame["minutes"].sum())
    useful = float(frame.loc[frame["name"] == "productive", "minutes"].sum())
    rest = frame[frame["name"] != "productive"]
    whole = duration(total * 60)
    dark = float(frame.loc[frame["name"] == "unknown", "minutes"].sum())
    if dark and not useful:
        # Nobody saw a step: that is not the same as no training.
        return sentence(f"What {duration(dark * 60)} of {whole} were spent on is not known: no training step was read")
    said = f"{percent(100 * useful / total)} of {whole} was productive" if useful else f"None of {whole} was productive"
    if rest.empty:
        return sentence(said)
    longest = rest.loc[rest["minutes"].idxmax()]
    name = (
        longest["name"]
        if KIND_OF.get(longest["name"], "not known") != "not known"
        else f"not known ({longest['name']})"
    )
    cost = longest["cost_usd"]
    money = f" ({usd(cost)})" if cost == cost and cost > 0 else ""
    return sentence(f"{said}; the longest other part is {name}, {duration(longest['minutes'] * 60)}{money}")


def phases_listed(frame: pd.DataFrame) -> str:
    """``Downloading 2 min ($1.20), productive 1 h 20 min ($48).``"""
    return sentence(", ".join(_bucket_words(*row) for row in frame[_LISTED].itertuples(index=False)))


def sum_words(frame: pd.DataFrame, cost: Cost) -> str:
    """``Together 1 h 23 min and $5.84, the bill.``: AWS bills whole seconds, so cents may part them."""
    together = f"Together {duration(frame['minutes'].sum() * 60)}"
    known = frame["cost_usd"].dropna()
    if known.empty:
        return sentence(together)
    summed, most = float(known.sum()), "at most " if cost.at_most else ""
    if cost.usd is None:
        return f"{together} and {most}{usd(summed)}."
    if abs(summed - cost.usd) <= max(0.01, SAME_BILL * cost.usd):
        return f"{together} and {most}{usd(cost.usd)}, the bill."
    return f"{together} and {most}{usd(summed)} of {usd(cost.usd)} billed."


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
        return f"{left_out} of {of} nodes are not drawn, {odd} of them unusual too"
    return f"{left_out} of {of} nodes have nothing unusual (not drawn)"


def _bucket_words(name: str, minutes: float, cost_usd: float) -> str:
    money = "" if cost_usd != cost_usd else f" ({usd(cost_usd)})" if cost_usd else " (not billed)"
    return f"{name} {duration(minutes * 60)}{money}"
