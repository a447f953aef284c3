"""Which pair of predicted and measured does a comparison leave behind? Of two finished jobs, and nothing secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from monitor.analyze.mfu import parameters
from monitor.diagnose.comparison.compare import Against, Comparison, is_same
from monitor.model import Pair, PairSide, Report
from monitor.predict.setup import setup_of

_OVER = frozenset({"Completed", "Failed", "Stopped"})
# Numbers and words such as hybrid_shard: no path, no sentence, nothing as long as a key.
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,24}")


def pairs_of(comparison: Comparison, now: datetime) -> tuple[Pair, ...]:
    """The pairs of the first job with each of the others that have both a prediction and a measurement."""
    return tuple(_pairs(comparison, now))


def _pairs(comparison: Comparison, now: datetime) -> Iterator[Pair]:
    first, *others = comparison.reports
    for result, other in zip(comparison.against, others, strict=True):
        predicted, measured = result.predicted.change_pct, result.for_same_samples_pct
        if _is_earlier(other, first):
            continue  # a change goes from the earlier job to the later one
        over = all(report.job.status in _OVER and report.job.source != "logs" for report in (first, other))
        if not over or predicted is None or measured is None or is_same(first, other):
            continue
        setup = setup_of(first.job)
        yield Pair(
            before=_side(first, result, 0),
            after=_side(other, result, 1),
            changed={name: (_text(was), _text(to)) for name, (was, to) in result.predicted.changed.items()},
            predicted=predicted,
            measured=measured,
            method=result.predicted.method,
            framework=setup.framework,
            parameters=parameters(first.job, first.run.events),
            findings=tuple(each.finding for each in result.predicted.followed),
            compared_at=now,
        )


def _is_earlier(a: Report, b: Report) -> bool:
    return a.job.created is not None and b.job.created is not None and a.job.created < b.job.created


def _side(report: Report, result: Against, place: int) -> PairSide:
    job = report.job
    return PairSide(job.name, job.arn, job.created, result.change.steps[place] if result.change else 0)


def _text(value: Any) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if not text or _WORD.fullmatch(text) else "(not kept)"
