"""``from monitor import review; review("my-job")``: a report that shows itself in a notebook, and is a Report for code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from monitor.archive.cache import Cache, user_cache
from monitor.archive.document import report_document
from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.verdict import judge
from monitor.errors import BadCall
from monitor.export.layout import markdown
from monitor.faults import fault, shape_of_report
from monitor.inert import inert
from monitor.model import Report
from monitor.review.archived import Source, log_files, source_of
from monitor.review.muted import mutes, with_mutes
from monitor.review.reviewer import Reviewer
from monitor.settings import Settings, read
from monitor.words import sentence

#: The page scrolls within it.
HEIGHT_PX = 760


@dataclass(frozen=True, slots=True, repr=False)
class ShownReport(Report):
    """A report with the ways in which IPython asks a value to show itself."""

    def _repr_html_(self) -> str:
        """The page of ``report --format html``, in a frame of its own, so that neither page's style reaches the other."""
        try:
            # Imported late: what draws charts is large, and a program that only reads figures has no use for it.
            from monitor.export.layout import html

            page = html(self, datetime.now(UTC))
        except Exception as error:  # a notebook shows a traceback in place of a report otherwise
            told = fault(error, "Drawing the page", shape_of_report(self))
            return f"<p>{escape(str(told))}</p><pre>{escape(repr(self))}</pre>"
        return (
            f'<iframe title="Trainwatch: {escape(self.job.name)}" sandbox srcdoc="{escape(page)}" '
            f'style="width: 100%; height: {HEIGHT_PX}px; border: 0"></iframe>'
        )

    def document(self) -> dict[str, Any]:
        """What ``report --format json`` prints."""
        return report_document(self)

    def _repr_markdown_(self) -> str:
        return markdown(self)

    def __repr__(self) -> str:
        """What it was, the verdict, and a line for each finding."""
        lines = [
            self.job.name,
            " · ".join([status_word(self.job.status), *facts(self)]),
            sentence(judge(self).headline),
            *(f"- {finding.severity}: {finding.title} ({finding.id})" for finding in self.findings),
        ]
        return inert("\n".join(lines))


def review(
    job: str = "",
    source: Source | None = None,
    now: datetime | None = None,
    *,
    region: str | None = None,
    profile: str | None = None,
    logs: str | Path | Sequence[str | Path] | None = None,
) -> ShownReport:
    """The report of one job as of ``now`` (this moment where it is not given).

    ``job`` is a training job's name, ``logs:PATH`` or ``archive:PATH``. ``logs`` names log files or folders to read in
    place of AWS; ``region`` and ``profile`` say which account. An error of ``monitor.errors`` says in one sentence why
    there is no report.
    """
    settings, cache = read(), None
    if logs is not None:
        if job or source is not None:
            raise BadCall(f"Both a job ({job or 'of a source'}) and logs were given.", "Give one of them.")
        source, job = log_files([str(path) for path in ([logs] if isinstance(logs, str | Path) else logs)])
    elif not job:
        raise BadCall("No job was named.", 'Give a training job\'s name, or log files: review(logs="algo-1.log").')
    elif source is None:
        cache = user_cache(settings.cache_bytes)
        source, job = source_of(job, lambda: account(region, profile), region, profile)
    return _shown(source, job, settings, cache, now or datetime.now(UTC))


def _shown(source: Source, job: str, settings: Settings, cache: Cache | None, now: datetime) -> ShownReport:
    report = with_mutes(Reviewer(source, job, settings, cache=cache).review(now), mutes())
    return ShownReport(**{field.name: getattr(report, field.name) for field in fields(report)})


def account(region: str | None, profile: str | None) -> Source:
    """The AWS account that a call names."""
    # Imported late: log files need no AWS, and boto3 takes a third of a second.
    from monitor.aws.clients import Clients
    from monitor.fetch.account import AwsSource
    from monitor.fetch.prices import user_prices

    return AwsSource(Clients(region, profile), user_prices())
