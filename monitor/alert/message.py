"""What an alert says, one value for every sink: as a sentence, a few lines, or JSON; and verdicts and backtests as the documents
of ``alert --format json``, whose form is a contract with users."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from monitor.alert.conditions import AlertRule, Threshold
from monitor.alert.evaluate import Crossing, RuleVerdict, figure
from monitor.alert.history import Backtested, BacktestedAlert, BacktestedJob
from monitor.diagnose.headline import status_word
from monitor.model import Job
from monitor.model.document import Forms, document
from monitor.model.job import account_of, region_of
from monitor.words import clock, duration

SCHEMA = 1


def alert_document(job: str, verdicts: Sequence[RuleVerdict], now: datetime) -> dict[str, Any]:
    """Plain JSON types; what is unknown is null, instants are ISO 8601 UTC."""
    return {
        "schema": SCHEMA,
        "evaluated_at": iso(now),
        "job": job,
        "rules": _document(verdicts),
    }


def iso(at: datetime | None) -> str | None:
    """``2026-09-25T14:05:00Z``."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def rounded(value: float | None) -> float | None:
    """A number that JSON has, without the dust of floating point."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.9g}")


def backtest_document(jobs: Sequence[BacktestedJob]) -> dict[str, Any]:
    """Plain JSON types."""
    rules = len(jobs[0].rules) if jobs else 0
    return {
        "schema": SCHEMA,
        "evaluated_at": iso(max((job.judged_until for job in jobs), default=None)),
        "rules": [_rule([job.rules[place] for job in jobs]) for place in range(rules)],
        "jobs": _document(jobs),
    }


def _rule(over: Sequence[Backtested]) -> dict[str, Any]:
    """One rule over all jobs: firing where it would have fired in any; no data where no job had any."""
    firing = [tested for tested in over if tested.state == "firing"]
    worst = firing[0] if firing else next((tested for tested in over if tested.state == "ok"), over[0])
    first = worst.said[0] if worst.said else None
    return {
        "name": worst.rule.name,
        "when": worst.rule.text,
        "state": worst.state,
        "severity": worst.rule.severity,
        "node": first.episode.node if first else None,
        "since": iso(first.episode.since) if first else None,
        "value": rounded(first.episode.value) if first else None,
        "unit": first.episode.unit if first else "",
        "jobs_firing": len(firing),
        "alerts": sum(len(tested.said) for tested in over),
    }


_FORMS: Forms = {
    RuleVerdict: "name=rule.name when=rule.text state severity=rule.severity node since value unit limit firing came_by? "
    "why=reason?",
    Crossing: "node since until value limit finding?",
    BacktestedJob: "name=job status started ended usd rules",
    Backtested: "name=rule.name state came_by? why? alerts=said",
    BacktestedAlert: "at since=episode.since resolved=episode.until node=episode.node finding=episode.finding? "
    "value=episode.value limit=episode.limit unit=episode.unit seconds_before_end usd_after wasted_usd_after",
}


def _document(value: Any) -> Any:
    return document(value, _FORMS, _scalar)


def _scalar(leaf: Any) -> Any:
    return iso(leaf) if isinstance(leaf, datetime) else rounded(leaf) if isinstance(leaf, float) else leaf


Kind = Literal["firing", "resolved", "ended", "report"]
#: Of the form in which messages are kept; a message of another one is left alone.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Message:
    """One alert, or the word that it has ended. All fields are JSON's own types; what is not known is None."""

    id: str
    """The same whenever the same thing is said again: receivers may drop the second."""
    kind: Kind
    """``ended``: the job has ended, and what was alerted held to its end. ``report``: one of many jobs; ``job`` is empty."""
    job: str
    status: str | None
    rule: str
    when: str
    severity: str
    node: str | None
    finding: str | None
    since: str | None
    at: str
    """When it was said."""
    value: float | None
    limit: float | None
    unit: str
    title: str
    """One line."""
    text: str
    """What more there is to say; may be empty."""
    link: str | None
    """The job's page."""
    account: str | None = None
    """The job's account by its number, and its region: names repeat."""
    region: str | None = None

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def lines(self) -> str:
        """Title, text and link."""
        return "\n".join(filter(None, (self.title, self.text, self.link)))


def message_of(
    kind: Kind,
    id: str,
    rule: AlertRule,
    job: Job,
    about: Crossing,
    now: datetime,
    public_url: str = "",
    where: str = "",
) -> Message:
    """The message, in words; ``where`` is said of the job where it may be in one of several accounts."""
    return Message(
        id=id,
        kind=kind,
        job=job.name,
        status=job.status,
        rule=rule.name,
        when=rule.text,
        severity=rule.severity,
        node=about.node,
        finding=about.finding or None,
        since=iso(about.since),
        at=iso(now) or "",
        value=rounded(about.value),
        limit=rounded(about.limit),
        unit=about.unit,
        title=f"{_title(kind, rule, job, about)}{f' of {where}' if where else ''}",
        text=_text(kind, rule, job, about),
        link=link_of(job, public_url),
        account=account_of(job.arn),
        region=region_of(job.arn),
    )


def stored(message: Message) -> dict[str, Any]:
    """The message as the ledger keeps it."""
    return {"version": VERSION, **message.document()}


def message_from(data: dict[str, Any]) -> Message:
    """The message that ``stored`` made ``data`` of. ValueError, as "has an odd title", where it is something else."""
    if data.get("version", VERSION) != VERSION:
        raise ValueError("is of a version that this program does not know")
    for field in fields(Message):
        if not _fits(str(field.type), data.get(field.name)):
            raise ValueError(f"has {'an odd' if field.name in data else 'no'} {field.name}")
        if field.name in {"at", "since"} and data.get(field.name) is not None:
            try:
                datetime.fromisoformat(data[field.name])
            except ValueError:
                raise ValueError(f"has an odd {field.name}") from None
    return Message(**{field.name: data.get(field.name) for field in fields(Message)})  # type: ignore[arg-type]


def _fits(kind: str, value: Any) -> bool:
    """Whether a value is of a field's type, as it is written above."""
    if value is None:
        return kind.endswith("| None")
    if kind.startswith("float"):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, str) and (kind != "Kind" or value in get_args(Kind))


def id_of(*parts: object) -> str:
    """A short digest, the same for the same parts."""
    return hashlib.sha256("\n".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def link_of(job: Job, public_url: str) -> str | None:
    """The address of the job's page; None where the dashboard has no address, or the job is none of the account's."""
    if not public_url or job.source != "aws":
        return None
    parts = {"job": job.name, "region": region_of(job.arn), "account": account_of(job.arn)}
    return f"{public_url}/job?{urlencode({name: text for name, text in parts.items() if text})}"


def _title(kind: Kind, rule: AlertRule, job: Job, about: Crossing) -> str:
    word = {"firing": rule.severity.upper(), "resolved": "RESOLVED", "ended": "ENDED"}.get(kind, "")
    where = f" on {about.node}" if about.node else ""
    what = f" ({about.finding})" if about.finding and about.finding not in rule.name else ""
    return f"{word}: {rule.name}{what}{where}, job {job.name}"


def _text(kind: Kind, rule: AlertRule, job: Job, about: Crossing) -> str:
    since = ""
    if about.since is not None:
        ended = about.until is not None and kind != "firing"
        since = f" since {clock(about.since)}" if not ended else f" from {clock(about.since)} to {clock(about.until)}"  # type: ignore[arg-type]
        if about.since.astimezone(UTC).date() != (about.until or about.since).astimezone(UTC).date():
            since += f" ({about.since.astimezone(UTC):%d %b})"
    value = figure(about.value, rule.when.metric, about.unit) if isinstance(rule.when, Threshold) else ""
    value = ", ".join(filter(None, (value, value and about.came_by)))
    held = f"{rule.text}{since}{f': {value}' if value else ''}."
    if kind == "firing":
        return about.summary or held
    if kind == "resolved":
        lasted = (about.until - about.since).total_seconds() if about.until and about.since else None
        return f"No longer true{f' after {duration(lasted)}' if lasted is not None else ''}: {held}"
    return f"The job has ended ({status_word(job.status)}) with this still true: {held}"
