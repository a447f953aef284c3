"""One night: new jobs are archived, saved rules judge those that have ended, the week's report is sent on Mondays, as messages
for the sinks that alerts have, each with an id of its own.

Every step may be done again without harm, and says it is done only afterward: a night that is killed is taken up by the next
one. Days off are caught up: jobs since the last night, and those that ran then; weeks that were not reported. What a night needs
to know of those before is in a small file beside the log, which appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from monitor.accounts import AccountRegion
from monitor.alert.conditions import AlertRule
from monitor.alert.delivery import DeliveryResult, RuleSinks, deliver, write_down
from monitor.alert.evaluate import evaluate
from monitor.alert.ledger import Ledger
from monitor.alert.locks import taking_turns
from monitor.alert.message import Message, id_of
from monitor.alert.news import AlertContext
from monitor.alert.sinks.names import Sink
from monitor.archive.store import Store
from monitor.aws.calls import metered, side_by_side
from monitor.errors import CannotDo, TrainwatchError
from monitor.export.layout import fleet_markdown
from monitor.faults import fault
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline
from monitor.fleet.window import DateWindow, monday_of
from monitor.model.job import account_of, region_of
from monitor.review.across import AT_ONCE
from monitor.review.archived import ArchiveSource, Source, instant_of
from monitor.review.archiving import STATES, Archiver, ArchiveRequest
from monitor.review.fleet_facts import made
from monitor.review.reviewer import Reviewer
from monitor.settings import Settings

RULE = "fleet report"


def message_of(report: FleetReport, public_url: str, now: datetime) -> Message:
    """One message a window, archive, choice of jobs and kind of owner: whoever makes the report again sends nothing again."""
    first, *others = headline(report)
    window = report.window
    return Message(
        id=id_of("fleet", report.archive, window.start, window.end, report.by, *filter(None, [report.only])),
        kind="report",
        job="",
        status=None,
        rule=RULE,
        when=f"{window.name} by {report.by}",
        severity="info",
        node=None,
        finding=None,
        since=window.begins.isoformat(),
        at=now.isoformat(),
        value=None,
        limit=None,
        unit="",
        title=f"GPU-hours {window.name}: {first}",
        text="\n".join([*others, "", fleet_markdown(report)]),
        link=f"{public_url}/fleet" if public_url else None,
    )


def trouble_of(archive: str, day: date, troubles: tuple[str, ...], now: datetime) -> Message:
    """What went wrong in a night; the same trouble is said once a day."""
    return Message(
        id=id_of("nightly", archive, day, *sorted(troubles)),
        kind="report",
        job="",
        status=None,
        rule="nightly",
        when=day.isoformat(),
        severity="warning",
        node=None,
        finding=None,
        since=None,
        at=now.isoformat(),
        value=None,
        limit=None,
        unit="",
        title=f"nightly of {day.isoformat()} did not do everything: {troubles[0]}",
        text="\n".join(troubles[1:]),
        link=None,
    )


#: Jobs appear in the list a moment after they are created; clocks differ.
OVERLAP = timedelta(days=1)
#: Of jobs that cannot be archived, so long they are tried again each night.
TRIED_FOR = timedelta(days=15)
#: Weeks that are caught up at most.
MOST_WEEKS = 4
_EVERY_JOB = 1_000_000
_WEEK = timedelta(days=7)


#: An account and region of the settings file; None for the one that boto3 finds by itself.
Where = AccountRegion | None


@dataclass(frozen=True, slots=True)
class NightlyPlan:
    """What a night works on."""

    open: Callable[[Where], Source]
    store: Store
    settings: Settings
    folder: NightlyFolder
    ledger: Path
    rules: tuple[AlertRule, ...] = ()
    notify: tuple[Sink, ...] = ()
    by: str = "team"
    first: timedelta = timedelta(days=14)
    """How far back the first night looks."""
    max_usd: float | None = None
    places: tuple[Where, ...] = (None,)
    """The accounts and regions whose jobs are archived."""


@dataclass(slots=True)
class Night:
    """What became of one."""

    places: int = 0
    """Accounts and regions that were read."""
    archived: int = 0
    unchanged: int = 0
    judged: int = 0
    alerts: int = 0
    reports: list[str] = field(default_factory=list)
    sent: int = 0
    troubles: list[str] = field(default_factory=list)
    calls: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    killed_before: str | None = None
    """When a night began of which the end is not known."""

    def document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Night.__slots__}


def night(
    plan: NightlyPlan,
    now: Callable[[], datetime],
    progress: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Night:
    """Does all of it; a step that fails does not keep the others from being done. CannotDo where another one is at work."""
    begun = now()
    out = Night()
    with plan.folder.alone(), metered(plan.max_usd) as tally:
        out.killed_before = plan.folder.unfinished()
        state = plan.folder.state()
        if state.reported_until is None:
            # Which week is the first one hangs on the day of the first night, even if that is killed.
            state = replace(state, reported_until=_first_week(begun))
            plan.folder.keep(state)
        plan.folder.write("begun", begun, {})
        _step(out, "archiving", lambda: _archive(plan, out, now, progress))
        if plan.rules:
            _step(out, "judging", lambda: _judge(plan, out, _since(plan, state.judged_until, begun), begun, progress))
        _step(out, "reporting", lambda: _report(plan, out, begun, progress))
        if out.troubles:
            _step(
                out,
                "telling",
                lambda: _record(plan, trouble_of(plan.store.label, begun.date(), tuple(out.troubles), begun)),
            )
        _step(out, "sending", lambda: _send(plan, out, sleep))
        bill = tally.bill()
        out.calls, out.usd = sum(bill.calls.values()), bill.estimated_usd
        out.seconds = (now() - begun).total_seconds()
        plan.folder.write("ended", now(), out.document())
    return out


def _step(out: Night, name: str, do: Callable[[], None]) -> None:
    try:
        do()
    except TrainwatchError as error:
        out.troubles.append(f"{name}: {error}")
    except Exception as error:
        out.troubles.append(f"{name}: {fault(error, name.capitalize())}")


def _since(plan: NightlyPlan, until: datetime | None, now: datetime) -> datetime:
    return now - plan.first if until is None else until - OVERLAP


def _first_week(now: datetime) -> date:
    """The first one to be reported: on a Monday the one before it, else the one that has begun."""
    today = now.astimezone(UTC).date()
    return today - _WEEK if today == monday_of(today) else monday_of(today)


def _archive(plan: NightlyPlan, out: Night, now: Callable[[], datetime], progress: Callable[[str], None]) -> None:
    """What is new in each account and region; one that refuses is told, and looked at from where it was the next night."""
    begun, marks = now(), plan.folder.state().archived_until
    asked: dict[tuple[Where, str], ArchiveRequest] = {}
    read: dict[Where, tuple[Source, datetime]] = {}

    def listed(where: Where) -> tuple[Source, JobQueryResult] | TrainwatchError:
        since = _since(plan, marks.get(_key(where)), begun)
        try:
            source = plan.open(where)
            return source, source.find(JobQuery(created_after=since, limit=_EVERY_JOB))
        except TrainwatchError as error:
            return error

    for where, answer in zip(plan.places, side_by_side(listed, plan.places, AT_ONCE), strict=True):
        at = f"archiving {where}" if where else "archiving"
        if isinstance(answer, TrainwatchError):
            out.troubles.append(f"{at}: {answer}")
            continue
        source, found = answer
        if found.broken_off:
            out.troubles.append(f"{at}: {found.broken_off}")
        else:
            out.places += 1
            read[where] = source, _since(plan, marks.get(_key(where)), begun)
        asked |= {(where, job.name): ArchiveRequest.of(source, job, where and where.account) for job in found.jobs}
    # Those that ran when they were archived, however long ago they were created.
    for row in ArchiveSource(plan.store).rows()[0]:
        if row["is_final"] or not row["arn"]:
            continue
        its = next(((where, source) for where, (source, _) in read.items() if _has(source, row["arn"])), None)
        if its is not None:
            where, name = its[0], str(row["job_name"])
            asked.setdefault((where, name), ArchiveRequest(its[1], name, where and where.account))
    if asked:
        plan.store.make_ready()
    done = 0

    def told(job: str, text: str) -> None:
        nonlocal done
        done += text in STATES
        progress(f"{done:,} of {len(asked):,} jobs archived")

    outcomes = Archiver(plan.store, plan.settings).archive_all(asked.values(), now, told)
    out.archived = sum(each.state == "archived" for each in outcomes)
    out.unchanged = sum(each.state in {"unchanged", "kept"} for each in outcomes)
    failed = [(where, each) for (where, _), each in zip(asked, outcomes, strict=True) if each.error]
    for where, each in failed:
        if not each.why:
            out.troubles.append(f"archiving {each.name}{f' of {where}' if where else ''}: {each.error}")
    again = {where for where, _ in failed}
    until = {
        _key(where): max(since + OVERLAP, begun - TRIED_FOR) if where in again else begun
        for where, (_, since) in read.items()
    }
    plan.folder.keep(replace(plan.folder.state(), archived_until={**marks, **until}))


def _key(where: Where) -> str:
    return "" if where is None else str(where)


def _has(source: Source, arn: str) -> bool:
    """Whether a job may be that source's, as far as anybody says which account it is."""
    clients = source.clients
    if clients is None:
        return True
    return region_of(arn) == clients.region and clients.account_number() in {None, account_of(arn)}


def _judge(plan: NightlyPlan, out: Night, since: datetime, now: datetime, progress: Callable[[str], None]) -> None:
    """Each job that ended since the last night once, as it was when it was archived."""
    source, left = ArchiveSource(plan.store), len(out.troubles)
    sinks = RuleSinks(plan.rules, [sink.text for sink in plan.notify], plan.ledger)
    book = Ledger(plan.ledger)
    for row in source.rows()[0]:
        ended = instant_of(row["ended"])
        # One of which something cannot be read is never final.
        if ended is None or ended < since or not (row["is_final"] or ended < now - OVERLAP):
            continue
        mark = f"nightly {plan.store.label} {row['arn'] or row['job_name']} {row['created']}"
        if book.mark(mark) is not None:
            continue
        progress(f"judging {row['job_name']}")
        try:
            report = Reviewer(source, row["arn"] or str(row["job_name"]), plan.settings).review(now)
            verdicts = evaluate(report, plan.rules, report.reviewed_at)
        except TrainwatchError as error:
            out.troubles.append(f"judging {row['job_name']}: {error}")
            continue
        where = f"{row['account_name'] or row['account']} in {region_of(row['arn'] or '')}" if plan.places[1:] else ""
        sinks.record(AlertContext(report, report.reviewed_at, plan.settings.public_url, where=where), verdicts)
        if sinks.trouble:
            out.troubles.append(f"judging {row['job_name']}: {sinks.trouble}")
            continue
        out.judged += 1
        out.alerts += sum(verdict.state == "firing" for verdict in verdicts)
        # Said after it was written down: whoever is killed in between writes the same down again, under the same ids.
        book.set_mark(mark, now.timestamp())
    if len(out.troubles) == left:
        plan.folder.keep(replace(plan.folder.state(), judged_until=now))
    out.sent += sum(each.sent for each in sinks.deliver())


def _report(plan: NightlyPlan, out: Night, now: datetime, progress: Callable[[str], None]) -> None:
    """The weeks that are over and not reported; the facts are brought up to date each night, so that Mondays are quick."""
    state = plan.folder.state()
    monday = monday_of(now.astimezone(UTC).date())
    start = max(state.reported_until or monday, monday - MOST_WEEKS * _WEEK)

    while True:
        due = start < monday
        window = DateWindow(start, start + _WEEK) if due else DateWindow(monday, monday + _WEEK)
        found = made(plan.store, window, now, plan.by, plan.settings, progress=progress)
        out.troubles += [f"reading: {trouble}" for trouble in found.read.unread]
        if not due:
            break
        _record(plan, message_of(found.report, plan.settings.public_url, now))
        out.reports.append(window.name)
        start += _WEEK
        plan.folder.keep(replace(plan.folder.state(), reported_until=start))
        if start >= monday:
            return
    plan.folder.keep(replace(plan.folder.state(), reported_until=start))


def _record(plan: NightlyPlan, message: Message) -> None:
    """Writes it down for the sinks; what was written down before stays as it is."""
    if plan.notify:
        write_down(Ledger(plan.ledger), message, plan.notify, datetime.fromisoformat(message.at).timestamp())


def _send(plan: NightlyPlan, out: Night, sleep: Callable[[float], None]) -> None:
    if not plan.notify:
        return
    book = Ledger(plan.ledger)
    outcomes: Sequence[DeliveryResult] = [deliver(book, sink, sleep, what="nightly") for sink in plan.notify]
    out.sent += sum(each.sent for each in outcomes)
    for each in outcomes:
        if each.waiting:
            out.troubles.append(
                f"sending: {each.sink.shown} has not taken {each.waiting} ({each.trouble or each.holder})"
            )
        if each.refused:
            out.troubles.append(f"sending: {each.sink.shown} refused {len(each.refused)} ({each.refused[0].why})")


_MARKS = ("judged_until", "reported_until")
#: The log is cut to its newer half beyond this.
MOST_LOG_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class NightlyState:
    """Of one archive."""

    archived_until: Mapping[str, datetime] = field(default_factory=dict)
    """Account and region, "" for the one that boto3 finds -> jobs created before that are archived, but for those that were
    running then; none before its first night."""
    judged_until: datetime | None = None
    """Jobs that ended before it are judged: apart from the above, as a night may be killed in between."""
    reported_until: date | None = None
    """Weeks that begin before it are reported."""


class NightlyFolder:
    """Where state, lock and log of one archive are."""

    def __init__(self, folder: Path, archive: str) -> None:
        self._name = hashlib.sha256(archive.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.folder = folder

    @property
    def log(self) -> Path:
        return self.folder / "nightly.log"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds the lock, which dies with its process. CannotDo where another night of this archive is at work."""
        with self._telling():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with taking_turns(self._path("lock"), "nightly", 0.0) as turn:
            if not turn.mine:
                raise CannotDo(f"Another nightly of this archive is at work: {turn.holder}.", "Let it finish.")
            yield

    def state(self) -> NightlyState:
        """As it was left; empty where nothing, or nothing sound, is there: all that follows can be done again."""
        try:
            told = json.loads(self._path("json").read_text(encoding="utf-8"))
            archived, judged, reported = (told[name] for name in ("archived_until", "judged_until", "reported_until"))
            return NightlyState(
                {where: datetime.fromisoformat(at) for where, at in archived.items()},
                None if judged is None else datetime.fromisoformat(judged),
                None if reported is None else date.fromisoformat(reported),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return NightlyState()

    def keep(self, state: NightlyState) -> None:
        """In one move."""
        told: dict[str, Any] = {name: (at := getattr(state, name)) and at.isoformat() for name in _MARKS}
        told["archived_until"] = {where: at.isoformat() for where, at in state.archived_until.items()}
        target = self._path("json")
        beside = target.with_suffix(f".{os.getpid()}.unfinished")
        with self._telling():
            beside.write_text(json.dumps(told), encoding="utf-8")
            beside.replace(target)

    def unfinished(self) -> str | None:
        """When the last night of this archive began, if its end is not in the log: it was killed."""
        last: Mapping[str, Any] | None = None
        try:
            with self.log.open(encoding="utf-8") as lines:
                for line in lines:
                    try:
                        told = json.loads(line)
                    except ValueError:
                        continue  # a line that a killed process could not finish
                    if isinstance(told, dict) and told.get("archive") == self._name:
                        last = told
        except OSError:
            return None
        return str(last["at"]) if last is not None and last.get("event") == "begun" else None

    def write(self, event: str, at: datetime, details: Mapping[str, Any]) -> None:
        """A line of the log, in one write."""
        line = json.dumps({"at": at.isoformat(), "event": event, "archive": self._name, "pid": os.getpid(), **details})
        with self._telling():
            self._make_room()
            handle = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # What a killed process left of a line must not take this one with it.
                os.write(handle, f"\n{line}\n".encode())
            finally:
                os.close(handle)

    def _make_room(self) -> None:
        if self.log.exists() and self.log.stat().st_size > MOST_LOG_BYTES:
            data = self.log.read_bytes()[-MOST_LOG_BYTES // 2 :]
            beside = self.log.with_suffix(".unfinished")
            beside.write_bytes(data.partition(b"\n")[2])
            beside.replace(self.log)

    def _path(self, kind: str) -> Path:
        return self.folder / f"nightly-{self._name}.{kind}"

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CannotDo(
                f"The state of nightly cannot be kept in {self.folder}: {error.strerror}.",
                "Check its rights and its space.",
            ) from None
