"""What there is to report that has not been reported yet. A look at a job is compared with the ledger: new alerts,
and their ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from monitor.alert.conditions import AlertRule, FindingCondition, Threshold
from monitor.alert.evaluate import Crossing, RuleVerdict, missing
from monitor.alert.history import COOL_DOWN_S, by_key, is_refuted
from monitor.alert.ledger import Ledger, LedgerEntry
from monitor.alert.message import Kind, Message, id_of, iso, message_of
from monitor.alert.series import came_by_words
from monitor.model import Job, Report
from monitor.model.document import Forms, document

# A finding that is missed for so long is over: one look may be on the edge of its rule.
_MISSED_S = 180.0
# What the ledger keeps of an alert, to tell of its end.
_NOTED: Forms = {Crossing: "node finding value limit unit"}


@dataclass(frozen=True, slots=True)
class AlertContext:
    """One look at a job."""

    report: Report
    now: datetime
    public_url: str = ""
    cool_down_s: float = COOL_DOWN_S
    where: str = ""
    """The job's account and region, where several are looked at: ``research in us-east-1``."""

    @property
    def job(self) -> Job:
        return self.report.job

    @property
    def job_id(self) -> str:
        """Of the job among all jobs that were ever looked at."""
        return f"{self.job.arn or self.job.name} {iso(self.job.created) or ''}".strip()

    @property
    def now_s(self) -> float:
        return self.now.timestamp()


def news(
    ledger: Ledger, context: AlertContext, verdicts: Sequence[RuleVerdict], sinks: dict[str, tuple[str, ...]]
) -> tuple[Message, ...]:
    """The new messages, written down for the sinks of their rules (by rule name, in the ledger's words) in one step."""
    out: list[Message] = []
    with ledger.change():
        for verdict in verdicts:
            rule = verdict.rule
            for message in _RuleNews(ledger, context, rule).messages(verdict):
                out.append(message)
                for sink in sinks.get(rule.name, ()):
                    ledger.add(message, sink, context.now_s)
    return tuple(out)


class _RuleNews:
    """One rule of one look."""

    def __init__(self, ledger: Ledger, context: AlertContext, rule: AlertRule) -> None:
        self._ledger = ledger
        self._context = context
        self._rule = rule
        self._id = f"{rule.name}\n{rule.when}"
        self._entries = ledger.newest(context.job_id, self._id)
        self._out: list[Message] = []

    def messages(self, verdict: RuleVerdict) -> list[Message]:
        when = self._rule.when
        first = self._ledger.first_check(self._context.job_id, self._id, self._context.now_s)
        if isinstance(when, FindingCondition):
            self._findings(verdict, when)
        else:
            self._episodes(when, verdict, first)
        if not self._context.job.is_running:
            self._end_of_job()
        return self._out

    def _episodes(self, when: Threshold, verdict: RuleVerdict, first: float) -> None:
        context, running = self._context, self._context.job.is_running
        found = by_key(context.report, when, context.now, context.cool_down_s)
        known = set(self._entries)
        latest = {firing.node or "": firing for firing in verdict.firing}
        for key, mine in found.items():
            for episode in mine:
                if running or key in known:
                    self._episode(key, episode, first, latest.get(key))
        if not running:
            for firing in verdict.firing:
                if (firing.node or "") not in known:
                    self._open(firing.node or "", firing, firing.since)
        for key, entry in self._entries.items():
            if entry.closed is not None or any(each.until is None for each in found.get(key, ())):
                continue
            if key in found and self._is_refuted(when, key, entry):
                self._close(key, entry, context.now, "resolved")

    def _is_refuted(self, when: Threshold, key: str, entry: LedgerEntry) -> bool:
        """Whether late figures show that there was nothing; missing ones show nothing."""
        if entry.since is None or entry.fired is None:
            return True  # nothing tells of time, so all that is seen counts
        return is_refuted(self._context.report, when, self._context.now, key, entry.since, entry.fired)

    def _episode(self, key: str, episode: Crossing, first: float, latest: Crossing | None) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry.closed is None:
            if episode.until is not None and _after(episode.until, entry.fired):
                self._close(key, entry, episode.until, "resolved")
            return
        if entry is not None and not _after(episode.fired, entry.cleared):
            return  # said, and over
        if entry is None and episode.until is not None and not _after(episode.fired, first):
            return  # over before anybody asked
        # Who is told late is told how it is now.
        self._open(key, _now(episode, latest if episode.until is None else None), episode.fired)
        entry = self._entries[key]
        if episode.until is not None and entry.closed is None:
            self._close(key, entry, episode.until, "resolved")

    def _findings(self, verdict: RuleVerdict, when: FindingCondition) -> None:
        present = {firing.finding: firing for firing in verdict.firing}
        for key, firing in present.items():
            entry = self._entries.get(key)
            if entry is not None and entry.closed is None:
                if entry.absent is not None:
                    self._ledger.miss(self._context.job_id, self._id, key, entry.number, None)
            elif entry is None or self._may_return(entry):
                self._open(key, firing, self._context.now)
        if missing(self._context.report, when.subject):
            return
        for key, entry in self._entries.items():
            if key in present or entry.closed is not None:
                continue
            if entry.absent is None:
                self._ledger.miss(self._context.job_id, self._id, key, entry.number, self._context.now_s)
            elif self._context.now_s - entry.absent >= _MISSED_S:
                self._close(key, entry, datetime.fromtimestamp(entry.absent, UTC), "resolved")

    def _may_return(self, entry: LedgerEntry) -> bool:
        """Whether a finding that was over is to be said again."""
        ended = self._context.job.ended
        if not self._context.job.is_running:
            return ended is not None and (entry.closed or 0.0) < ended.timestamp()
        return self._context.now_s >= (entry.cleared or 0.0) + self._context.cool_down_s

    def _end_of_job(self) -> None:
        """What is still open ends with the job; that of a finding that is said at the end stands for itself."""
        for key, entry in self._entries.items():
            if entry.closed is None:
                self._close(key, entry, self._context.job.ended or self._context.now, "ended")

    def _open(self, key: str, about: Crossing, fired: datetime | None) -> None:
        context, entry = self._context, self._entries.get(key)
        number = 1 if entry is None else entry.number + 1
        since, at = _seconds(about.since), _seconds(fired)
        noted = json.dumps(document(about, _NOTED))
        self._ledger.open(context.job_id, self._id, key, number, since, at, context.now_s, noted)
        closed = cleared = None
        if not context.job.is_running:
            # Nobody waits for the end of what is first said when the job is over.
            closed, cleared = context.now_s, (context.job.ended or context.now).timestamp()
            self._ledger.end(context.job_id, self._id, key, number, cleared, closed)
        self._entries[key] = LedgerEntry(number, since, at, None, closed, cleared, noted)
        self._add("firing", key, number, about)

    def _close(self, key: str, entry: LedgerEntry, cleared: datetime, kind: Kind) -> None:
        context = self._context
        at = cleared.timestamp()
        self._ledger.end(context.job_id, self._id, key, entry.number, at, context.now_s)
        self._entries[key] = LedgerEntry(entry.number, entry.since, entry.fired, None, context.now_s, at, entry.about)
        self._add(kind, key, entry.number, _remembered(entry, cleared))

    def _add(self, kind: Kind, key: str, number: int, about: Crossing) -> None:
        context, when = self._context, self._rule.when
        if isinstance(when, Threshold):
            about = replace(about, came_by=came_by_words(context.report, when))
        id = id_of(context.job_id, self._id, key, number, kind)
        self._out.append(
            message_of(kind, id, self._rule, context.job, about, context.now, context.public_url, context.where)
        )


def _after(moment: datetime | None, seconds: float | None) -> bool:
    """Whether it is later; without a clock nothing is, so that nothing is said twice."""
    return moment is not None and (seconds is None or moment.timestamp() > seconds)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _now(episode: Crossing, latest: Crossing | None) -> Crossing:
    """The episode as its beginning is told, with the newest figures."""
    seen = latest or episode
    return replace(episode, until=None, value=seen.value, limit=seen.limit)


def _remembered(entry: LedgerEntry, cleared: datetime) -> Crossing:
    since = None if entry.since is None else datetime.fromtimestamp(entry.since, UTC)
    return Crossing(since=since, until=cleared, **json.loads(entry.about))
