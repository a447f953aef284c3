"""What is there to report that has not been reported yet? A look at a job is compared with the ledger: new alerts,
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
class Look:
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
    ledger: Ledger, look: Look, verdicts: Sequence[RuleVerdict], sinks: dict[str, tuple[str, ...]]
) -> tuple[Message, ...]:
    """The new messages, written down for the sinks of their rules (by rule name, in the ledger's words) in one step."""
    out: list[Message] = []
    with ledger.change():
        for verdict in verdicts:
            rule = verdict.rule
            for message in _Teller(ledger, look, rule).say(verdict):
                out.append(message)
                for sink in sinks.get(rule.name, ()):
                    ledger.add(message, sink, look.now_s)
    return tuple(out)


class _Teller:
    """One rule of one look."""

    def __init__(self, ledger: Ledger, look: Look, rule: AlertRule) -> None:
        self._ledger = ledger
        self._look = look
        self._rule = rule
        self._id = f"{rule.name}\n{rule.when}"
        self._told = ledger.newest(look.job_id, self._id)
        self._out: list[Message] = []

    def say(self, verdict: RuleVerdict) -> list[Message]:
        when = self._rule.when
        first = self._ledger.first_look(self._look.job_id, self._id, self._look.now_s)
        if isinstance(when, FindingCondition):
            self._findings(verdict, when)
        else:
            self._episodes(when, verdict, first)
        if not self._look.job.is_running:
            self._end_of_job()
        return self._out

    def _episodes(self, when: Threshold, verdict: RuleVerdict, first: float) -> None:
        look, running = self._look, self._look.job.is_running
        found = by_key(look.report, when, look.now, look.cool_down_s)
        known = set(self._told)
        latest = {firing.node or "": firing for firing in verdict.firing}
        for key, mine in found.items():
            for episode in mine:
                if running or key in known:
                    self._episode(key, episode, first, latest.get(key))
        if not running:
            for firing in verdict.firing:
                if (firing.node or "") not in known:
                    self._open(firing.node or "", firing, firing.since)
        for key, told in self._told.items():
            if told.closed is not None or any(each.until is None for each in found.get(key, ())):
                continue
            if key in found and self._is_refuted(when, key, told):
                self._close(key, told, look.now, "resolved")

    def _is_refuted(self, when: Threshold, key: str, told: LedgerEntry) -> bool:
        """Whether late figures show that there was nothing; missing ones show nothing."""
        if told.since is None or told.fired is None:
            return True  # nothing tells of time, so all that is seen counts
        return is_refuted(self._look.report, when, self._look.now, key, told.since, told.fired)

    def _episode(self, key: str, episode: Crossing, first: float, latest: Crossing | None) -> None:
        told = self._told.get(key)
        if told is not None and told.closed is None:
            if episode.until is not None and _after(episode.until, told.fired):
                self._close(key, told, episode.until, "resolved")
            return
        if told is not None and not _after(episode.fired, told.cleared):
            return  # said, and over
        if told is None and episode.until is not None and not _after(episode.fired, first):
            return  # over before anybody asked
        # Who is told late is told how it is now.
        self._open(key, _now(episode, latest if episode.until is None else None), episode.fired)
        told = self._told[key]
        if episode.until is not None and told.closed is None:
            self._close(key, told, episode.until, "resolved")

    def _findings(self, verdict: RuleVerdict, when: FindingCondition) -> None:
        present = {firing.finding: firing for firing in verdict.firing}
        for key, firing in present.items():
            told = self._told.get(key)
            if told is not None and told.closed is None:
                if told.absent is not None:
                    self._ledger.miss(self._look.job_id, self._id, key, told.number, None)
            elif told is None or self._may_return(told):
                self._open(key, firing, self._look.now)
        if missing(self._look.report, when.subject):
            return
        for key, told in self._told.items():
            if key in present or told.closed is not None:
                continue
            if told.absent is None:
                self._ledger.miss(self._look.job_id, self._id, key, told.number, self._look.now_s)
            elif self._look.now_s - told.absent >= _MISSED_S:
                self._close(key, told, datetime.fromtimestamp(told.absent, UTC), "resolved")

    def _may_return(self, told: LedgerEntry) -> bool:
        """Whether a finding that was over is to be said again."""
        ended = self._look.job.ended
        if not self._look.job.is_running:
            return ended is not None and (told.closed or 0.0) < ended.timestamp()
        return self._look.now_s >= (told.cleared or 0.0) + self._look.cool_down_s

    def _end_of_job(self) -> None:
        """What is still open ends with the job; that of a finding that is said at the end stands for itself."""
        for key, told in self._told.items():
            if told.closed is None:
                self._close(key, told, self._look.job.ended or self._look.now, "ended")

    def _open(self, key: str, about: Crossing, fired: datetime | None) -> None:
        look, told = self._look, self._told.get(key)
        number = 1 if told is None else told.number + 1
        since, at = _seconds(about.since), _seconds(fired)
        noted = json.dumps(document(about, _NOTED))
        self._ledger.open(look.job_id, self._id, key, number, since, at, look.now_s, noted)
        closed = cleared = None
        if not look.job.is_running:
            # Nobody waits for the end of what is first said when the job is over.
            closed, cleared = look.now_s, (look.job.ended or look.now).timestamp()
            self._ledger.end(look.job_id, self._id, key, number, cleared, closed)
        self._told[key] = LedgerEntry(number, since, at, None, closed, cleared, noted)
        self._say("firing", key, number, about)

    def _close(self, key: str, told: LedgerEntry, cleared: datetime, kind: Kind) -> None:
        look = self._look
        at = cleared.timestamp()
        self._ledger.end(look.job_id, self._id, key, told.number, at, look.now_s)
        self._told[key] = LedgerEntry(told.number, told.since, told.fired, None, look.now_s, at, told.about)
        self._say(kind, key, told.number, _remembered(told, cleared))

    def _say(self, kind: Kind, key: str, number: int, about: Crossing) -> None:
        look, when = self._look, self._rule.when
        if isinstance(when, Threshold):
            about = replace(about, came_by=came_by_words(look.report, when))
        id = id_of(look.job_id, self._id, key, number, kind)
        self._out.append(message_of(kind, id, self._rule, look.job, about, look.now, look.public_url, look.where))


def _after(moment: datetime | None, seconds: float | None) -> bool:
    """Whether it is later; without a clock nothing is, so that nothing is said twice."""
    return moment is not None and (seconds is None or moment.timestamp() > seconds)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _now(episode: Crossing, latest: Crossing | None) -> Crossing:
    """The episode as its beginning is told, with the newest figures."""
    seen = latest or episode
    return replace(episode, until=None, value=seen.value, limit=seen.limit)


def _remembered(told: LedgerEntry, cleared: datetime) -> Crossing:
    since = None if told.since is None else datetime.fromtimestamp(told.since, UTC)
    return Crossing(since=since, until=cleared, **json.loads(told.about))
