"""``from monitor import compare, jobs, plan``: what the commands of these names give, as values that show themselves.

With ``review`` they are what other programs may rely on; docs/library.md says which of their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

from monitor.archive.comparison import comparison_document
from monitor.diagnose.comparison import compare as compared
from monitor.diagnose.comparison.compare import Comparison
from monitor.diagnose.comparison.rows import verdict_lines
from monitor.errors import BadCall
from monitor.export.layout import comparison_markdown
from monitor.fetch.source import job_query
from monitor.inert import inert
from monitor.model import JobSummary, Report
from monitor.predict.presets import PRESETS, Preset
from monitor.predict.presets import preset as preset_of
from monitor.predict.spread import promise_words
from monitor.review import planning
from monitor.review.archived import archive_source
from monitor.review.notebook import account, review
from monitor.review.planning import Plan, plan_document


@dataclass(frozen=True, slots=True, repr=False)
class ShownComparison(Comparison):
    """A comparison with the ways in which a notebook and a prompt show it."""

    def document(self) -> dict[str, Any]:
        """What ``compare --format json`` prints."""
        return comparison_document(self)

    def _repr_markdown_(self) -> str:
        return comparison_markdown(self, None)

    def __repr__(self) -> str:
        """The jobs by their letters, and the verdicts."""
        names = [f"{compared.letter(place)} = {job.name}" for place, job in enumerate(self.jobs)]
        return inert("\n".join([*names, *verdict_lines(self)]))


@dataclass(frozen=True, slots=True, repr=False)
class ShownPlan(Plan):
    """A plan with the way in which a prompt shows it."""

    def document(self) -> dict[str, Any]:
        """What ``plan --format json`` prints."""
        return plan_document(self)

    def __repr__(self) -> str:
        """The change, what it does, and a line for each problem."""
        change, memory = self.step_time_change_pct, self.outcome.memory
        does = "not predicted" if change is None else f"{change[1]:+.0f} % ({change[0]:+.0f} to {change[2]:+.0f})"
        if change is not None and change[2] - change[0] >= 0.05:
            does += f"; the range {promise_words(self.outcome.time.promise)}"
        size = "" if memory.expected_gib is None else f", {memory.expected_gib:.1f} GiB"
        lines = [
            ", ".join(f"{name}={value}" for name, value in self.changes.items()) or "no change",
            f"step time {does}" if self.asked else "the start, as far as it is known",
            f"fits: {memory.fits}{size}",
            *(f"- {each.severity}: {each.title} ({each.id})" for each in self.problems),
        ]
        return inert("\n".join(lines))


def jobs(
    status: str | None = None,
    name_contains: str | None = None,
    since: str | None = None,
    limit: int = 100,
    *,
    region: str | None = None,
    profile: str | None = None,
    archive: str | None = None,
) -> tuple[JobSummary, ...]:
    """The training jobs that match, newest first; those of an archive where ``archive`` names its root.

    ``status`` is one of SageMaker's, or "running"; ``since`` an age such as "7d". Nothing is reviewed.
    """
    if limit < 1:
        raise BadCall(f"limit={limit} lists nothing.", "Give a number of at least 1.")
    query = job_query(status, name_contains, since, datetime.now(UTC), limit)
    source = account(region, profile) if archive is None else archive_source(archive, region, profile)
    return source.with_instances(source.jobs(query))


def compare(*jobs: str | Report, region: str | None = None, profile: str | None = None) -> ShownComparison:
    """The jobs against the first one; each is a name as ``review`` takes it, or a report."""
    if len(jobs) < 2:
        raise BadCall(f"compare takes two jobs or more, not {len(jobs)}.", "The first one is the baseline.")
    now = datetime.now(UTC)

    @cache
    def read(job: str) -> Report:
        return review(job, now=now, region=region, profile=profile)

    found = compared.compare([read(job) if isinstance(job, str) else job for job in jobs])
    return ShownComparison(**{field.name: getattr(found, field.name) for field in fields(found)})


def plan(
    job: str | Report | None = None,
    change: Mapping[str, Any] | None = None,
    *,
    start: Mapping[str, Any] | None = None,
    preset: str | None = None,
    region: str | None = None,
    profile: str | None = None,
) -> ShownPlan:
    """What ``change`` does to a job, to a published configuration (``preset``), or to the parameters in ``start``.

    ``start`` states what a job or a preset does not tell, or tells wrongly.
    """
    given, wanted = dict(start or {}), dict(change or {})
    if job is not None:
        if preset is not None:
            raise BadCall(f"Both a job and the preset {preset} were given.", "Start from one of them.")
        report = review(job, region=region, profile=profile) if isinstance(job, str) else job
        advice, ran = planning.advice_of(report), len(report.run.steps) > 0
        found = planning.plan(planning.start_of(report, given, "start"), wanted, advice, ran)
    else:
        chosen = _preset(preset)
        if chosen is None and not (given or wanted):
            raise BadCall("There is nothing to start a plan from.", "Give a job, a preset, or parameters in start.")
        library = planning.start_from({**given, **wanted}).framework
        found = planning.plan(planning.start_from(given, chosen, library, "start"), wanted)
    return ShownPlan(**{field.name: getattr(found, field.name) for field in fields(found)})


def _preset(name: str | None) -> Preset | None:
    if name is None:
        return None
    if (found := preset_of(name)) is None:
        raise BadCall(f"There is no preset {name}.", f"Presets are {', '.join(each.name for each in PRESETS)}.")
    return found
