"""Short sentences of a report, the same on every screen: a fact behind a finding, the model FLOP utilization, a muted
finding, where a job reads and writes, and how it differs from the run before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

from monitor.diagnose.comparison.differences import Difference
from monitor.model import Evidence, Job, Mute, Utilized
from monitor.words import count, instant, percent, sentence


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


def like_words(name: str, different: Sequence[Difference]) -> str:
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
