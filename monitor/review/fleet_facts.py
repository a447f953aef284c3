"""The facts of all jobs of an archive, and its report for a window: what is new there is read, what was read before is kept; for
pages their sums by DuckDB, 100,000 jobs in well under a second.

Exactly once: a job is told by its place and the stamp of its file there, so a run that was killed goes on where it was, and a
second one reads nothing but what was archived since.

The same definitions as ``monitor.fleet.summing``, which a test holds against these; a page asks for other windows and owners
at every click, a report once a week.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from monitor.archive import reading as manifests
from monitor.archive.fleet_parts import UNFINISHED, FactStore, days_of
from monitor.archive.layout import RUNS, to_frame, to_rows
from monitor.archive.store import Store
from monitor.aws.calls import side_by_side
from monitor.choices import BY
from monitor.errors import NoData
from monitor.fleet.facts import NO_ACCOUNT, UNTAGGED, USES, FleetAccount, JobFacts, Only, Owners, facts_of
from monitor.fleet.report import FleetReport
from monitor.fleet.summing import BEFORE, fleet_report
from monitor.fleet.window import DateWindow
from monitor.review.run_names import base_of
from monitor.settings import Settings, cache_folder

# Jobs a part: what a kill can cost.
_BATCH = 1000
# Of a far archive, jobs that are read at the same time.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Read:
    """What a look at the archive brought."""

    jobs: int
    """In the archive."""
    new: int
    """Read now."""
    unread: tuple[str, ...]
    """What could not be read, in words."""


class FleetFacts:
    """The facts of the jobs of one archive; ``store_of_facts`` is where they outlive the process, None for nowhere."""

    def __init__(self, store: Store, store_of_facts: FactStore | None) -> None:
        self._store = store
        self._kept = store_of_facts
        self._here: dict[str, JobFacts] = {}

    def update(self, progress: Callable[[str], None] = lambda text: None) -> Read:
        """Reads what is new; ``progress`` gets how far it is, in words."""
        listed = self._store.listed(RUNS)
        known = self._kept.stamps() if self._kept is not None else {}
        fresh = {path: stamp for path, stamp in listed.items() if known.get(path) != stamp}
        unread: list[str] = []
        done = 0
        todo = list(fresh.items())
        for batch in (todo[place : place + _BATCH] for place in range(0, len(todo), _BATCH)):
            found = list(self._of(batch))
            facts = [each for each in found if isinstance(each, JobFacts)]
            unread += [each for each in found if isinstance(each, str)]
            if self._kept is not None:
                self._kept.keep(facts)
            else:
                self._here |= {each.key: each for each in facts}
            done += len(batch)
            progress(f"{done:,} of {len(fresh):,} new jobs of the archive read")
        if self._kept is not None and (fresh or known.keys() - listed.keys()):
            self._kept.settle(listed)
        return Read(len(listed), len(fresh), tuple(unread))

    def load(self, first: date, last: date) -> list[JobFacts]:
        """Those of the jobs that were there on any of these days, and at least those."""
        return list(self._here.values()) if self._kept is None else self._kept.load(first, last)

    def days(self) -> tuple[date, date] | None:
        """The first and the last on which any job was there; None where no job is."""
        if self._kept is not None:
            return self._kept.days()
        found = sorted(day for facts in self._here.values() for day in days_of(facts))
        return (found[0], found[-1]) if found else None

    def _of(self, batch: Iterable[tuple[str, str]]) -> Iterable[JobFacts | str | None]:
        read = side_by_side(self._one, batch, _AT_ONCE) if self._store.is_far else map(self._one, batch)
        return list(read)

    def _one(self, listed: tuple[str, str]) -> JobFacts | str | None:
        path, stamp = listed
        data = self._store.read(path)
        if data is None:
            return None  # deleted since
        called = f"{self._store.label}/{path}"
        try:
            return facts_in(path, stamp, data, self._store.read, called)
        except NoData as error:
            return str(error)


def facts_in(path: str, stamp: str, run: bytes, read: Callable[[str], bytes | None], called: str) -> JobFacts:
    """The facts of the job whose record (in ``runs/``) is ``run``; ``read`` gives the other files of the archive. NoData where
    they are damaged. Whoever has the files may call it: it is the same on one machine and on many."""
    row = manifests.row_of(run, called)
    folder, _, file = path.removeprefix(RUNS).rpartition("/")
    id = file.removeprefix("run-").removesuffix(".json")
    try:
        document = _document(read(f"reports/{folder}/report-{id}.json"))
        findings = _rows(read(f"findings/{folder}/part-{id}.parquet"))
        failed = row.get("status") == "Failed" and row.get("step_reports")
        saved_at = _saved_at(read(f"events/{folder}/part-{id}.parquet")) if failed else None
        return facts_of(path, stamp, base_of(str(row["job_name"])), row, document, findings, saved_at)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OSError) as error:
        raise NoData(
            f"{called}: its report or its findings are damaged ({error}).", "Archive the job again."
        ) from error


def _document(data: bytes | None) -> Mapping[str, Any]:
    if data is None:
        raise ValueError("the report is missing")
    document: Mapping[str, Any] = json.loads(data)
    return document


def _rows(data: bytes | None) -> Sequence[Mapping[str, Any]]:
    if data is None:
        raise ValueError("the findings are missing")
    return to_rows(data)


def _saved_at(data: bytes | None) -> datetime | None:
    """When the log last said that a checkpoint was saved."""
    if data is None:
        return None
    events = to_frame(data)
    at = events.loc[events["kind"] == "checkpoint-end", "timestamp"].dropna()
    return at.max().to_pydatetime() if len(at) else None


@dataclass(frozen=True, slots=True)
class Made:
    """A report, and what was read for it."""

    report: FleetReport
    read: Read


def fact_store(archive: str) -> FactStore | None:
    """Where the facts of an archive are kept; None where caches are turned off."""
    folder = cache_folder()
    return None if folder is None else FactStore.of(folder, archive)


def owners_of(settings: Settings) -> Owners:
    """How the settings tell whose a job is."""
    members = {
        each.number: FleetAccount(each.name, each.team, each.project) for each in settings.accounts if each.number
    }
    return Owners(settings.team_tag, settings.project_tag, members)


def made(
    store: Store,
    window: DateWindow,
    now: datetime,
    by: str,
    settings: Settings,
    *,
    only: Only = Only(),
    keep: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> Made:
    """The report, and what was read for it; ``progress`` gets how far that is.

    Errors of ``monitor.errors`` where the archive cannot be read.
    """
    facts = FleetFacts(store, fact_store(store.label) if keep else None)
    read = facts.update(progress)
    first = min(window.before.start, window.start - BEFORE)
    # Recoveries come after a window's end, too.
    jobs = facts.load(first, max(window.end, now.date()))
    owner = owners_of(settings).by(by)
    report = fleet_report(store.label, jobs, window, now, by, owner, len(read.unread), only, facts.days())
    return Made(report, read)


_TABLES = "tables-"
#: Jobs that a table shows at most.
MOST_JOBS = 200
# One database is opened or closed at a time: a process has died in there, with other threads at work.
_DOORS = threading.Lock()
# Each database has threads of its own: by default one a core of the machine, of which there can be hundreds.
_THREADS = 4
# Of a key that was written twice (a process was killed between two moves) the newest row counts. Which rows those are is
# asked without their lists, which are most of them.
_JOBS = """
create temp table live as
select filename, file_row_number, row_number() over () as number, count(*) over (partition by name) as twins
from read_parquet({pattern}, filename = true, file_row_number = true)
qualify row_number() over (partition by key order by filename desc) = 1;
create table jobs as
select facts.name as name, key, status, instance_type, instances, created, cause, ended,
       coalesce(account_name, members.called, account, '') as account, coalesce(region, '') as region,
       coalesce({team_tag}, nullif(facts.team, ''), members.its_team, {untagged}) as team,
       coalesce({project_tag}, nullif(facts.project, ''), members.its_project, {untagged}) as project,
       shares, gpus, usd as job_usd,
       list_sum(list_transform(shares, lambda x: x.instance_s)) as billed_s,
       live.number as number, arn, account_name, twins
from read_parquet({pattern}, filename = true, file_row_number = true) as facts join live using (filename, file_row_number)
     left join members on facts.account = members.number
"""
# Numbers and short lists of words instead of texts: every view goes through all of them.
_SHARES = """
create table shares as
select number, team, project, coalesce(nullif(trim(account || ' ' || region), ''), {no_account}) as account,
       s.day as day, s.bucket::varchar as bucket, s.use::{uses} as use,
       s.instance_s / 3600 as instance_hours,
       s.instance_s * coalesce(gpus, 0) / instances / 3600 as gpu_hours,
       coalesce(s.instance_s * job_usd / billed_s, 0) as usd,
       if(job_usd is null, s.instance_s / 3600, 0) as unpriced_instance_hours,
       if(gpus is null, s.instance_s / 3600, 0) as uncounted_instance_hours
from jobs, unnest(shares) as t(s)
where billed_s > 0
order by day
"""
_AMOUNTS = ("instance_hours", "gpu_hours", "usd", "unpriced_instance_hours", "uncounted_instance_hours")
_SUMS = ", ".join(f"sum({name}) as {name}" for name in _AMOUNTS)
# What failed for nothing, and of how much of those jobs nobody knows that.
_OF_FAILURES = ", ".join(f"sum(if(use = 'failed', {name}, 0)) as {name}" for name in _AMOUNTS)
_IN = "day >= date '{start}' and day < date '{end}'"
_PARTS = f"""
select {{by}} as owner, bucket, use::varchar as use, {_SUMS} from shares
where {_IN} group by {{by}}, bucket, use order by owner, use, bucket
"""
_BY_WEEK = f"""
select strftime(day, '%G-W%V') as week, use, {_SUMS} from (
    select day, use::varchar as use, {_SUMS} from shares where {_IN} group by day, use
) group by all order by week, use
"""
_FAILURES = f"""
select cause, count(*) as jobs, sum(coalesce(unknown, 0)) as unknown_instance_hours,
       {", ".join(f"sum(coalesce(failed.{name}, 0)) as {name}" for name in _AMOUNTS)}
from jobs left join (
    select number, {_OF_FAILURES}, sum(if(use = 'unknown', instance_hours, 0)) as unknown
    from shares where use in ('failed', 'unknown') and {_IN} group by number
) as failed using (number)
where cause is not null and ended >= timestamptz '{{begins}}' and ended < timestamptz '{{ends}}'
group by cause order by jobs desc, usd desc, cause
"""
_DRILLED = f"""
with chosen as (
    select number, any_value({{by}}) as owner, {_SUMS} from shares
    where {_IN} and ({{owner}} is null or {{by}} = {{owner}}) and use in ({{uses}})
    group by number order by usd desc, gpu_hours desc, instance_hours desc, number limit {MOST_JOBS}
)
select name as job, owner, status, instance_type, instances, created, cause, account, region, arn, account_name, twins,
       {", ".join(_AMOUNTS)}
from chosen join jobs using (number)
order by usd desc, gpu_hours desc, instance_hours desc, name
"""


@dataclass(frozen=True)
class FleetTables:
    """The sums of one window as frames; each has the amounts of ``monitor.fleet.report.Sum``, and what it is by. Failures also
    have ``unknown_instance_hours``: of how much of those jobs nobody knows whether it was for nothing."""

    parts: pd.DataFrame
    """By owner, bucket and use: all others are sums of it."""
    by_week: pd.DataFrame
    failures: pd.DataFrame
    jobs: int
    """With any time in the window."""

    @cached_property
    def by_owner(self) -> pd.DataFrame:
        return self.parts.groupby(["owner", "use"], as_index=False)[list(_AMOUNTS)].sum()


class FleetDatabase:
    """Tables of the facts; made once for many views, and safe to share between threads.

    They are a file beside the facts where one can be written, so that the first view after a start needs not wait for them.
    """

    def __init__(self, connection: Any) -> None:
        self._db = connection

    @classmethod
    def of(cls, facts: FactStore, settings: Settings) -> FleetDatabase:
        """The facts as they are now."""
        if not facts.parts:
            facts.keep_none()
        script = _script(facts, settings)
        file = _file(facts, script)
        return cls(_opened(file) or _opened(_made(file, script)) or _in_memory(script))

    @classmethod
    def opened(cls, facts: FactStore, settings: Settings) -> FleetDatabase | None:
        """The facts as they were when tables were made last; None where none were."""
        made = facts.folder.glob(f"{_name(_script(facts, settings))}*.duckdb")
        opened = next(filter(None, map(_opened, made)), None)
        return None if opened is None else cls(opened)

    def tables(self, window: DateWindow, by: str) -> FleetTables:
        """The sums of a window, by team, project or account."""
        given = {"by": by if by in BY else BY[0], "start": window.start, "end": window.end}
        moments = {"begins": window.begins, "ends": window.ends}
        parts, by_week = (self._query(query.format(**given)) for query in (_PARTS, _BY_WEEK))
        jobs = self._query(f"select count(distinct number) as jobs from shares where {_IN.format(**given)}")
        return FleetTables(parts, by_week, self._query(_FAILURES.format(**given, **moments)), int(jobs["jobs"][0]))

    def jobs(self, window: DateWindow, by: str, owner: str | None, uses: tuple[str, ...]) -> pd.DataFrame:
        """The jobs with the most time in some uses, of one owner or of all; at most ``MOST_JOBS``."""
        return self._query(
            _DRILLED.format(
                by=by if by in BY else BY[0],
                owner="null" if owner is None else _text(owner),
                uses=", ".join(map(_text, uses)),
                start=window.start,
                end=window.end,
            )
        )

    def _query(self, query: str) -> pd.DataFrame:
        found: pd.DataFrame = self._db.cursor().sql(query).to_arrow_table().to_pandas()
        return found


def _script(facts: FactStore, settings: Settings) -> str:
    """What makes the tables; another text for other facts."""
    owners = owners_of(settings)
    rows = ", ".join(f"({', '.join(map(_text, (number, *member)))})" for number, member in owners.members.items())
    given = {"pattern": _text(facts.pattern), "untagged": _text(UNTAGGED), "no_account": _text(NO_ACCOUNT)}
    statements = (
        "create table members (number varchar, called varchar, its_team varchar, its_project varchar)",
        f"insert into members values {rows}" if rows else "",
        _JOBS.format(team_tag=_tag(owners.team_tag), project_tag=_tag(owners.project_tag), **given),
        _SHARES.format(uses=f"enum({', '.join(map(_text, USES))})", **given),
        "alter table jobs drop shares",
    )
    return ";\n".join(filter(None, statements))


def _file(facts: FactStore, script: str) -> Path:
    """Where the tables of these facts are."""
    return facts.folder / f"{_name(script)}{_digest(*(part.name for part in facts.parts))}.duckdb"


def _name(script: str) -> str:
    """How the names of those begin that were made in this way, of whatever facts there were."""
    # Imported late: only those who look at a fleet need it.
    import duckdb

    return f"{_TABLES}{_digest(duckdb.__version__, script)}-"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _opened(file: Path | None) -> Any:
    """A connection; None where there is no such file, or it is damaged."""
    import duckdb

    if file is None or not file.exists():
        return None
    try:
        return _connection(str(file), read_only=True)
    except duckdb.Error:
        with suppress(OSError):
            file.unlink()
        return None


def _made(file: Path, script: str) -> Path | None:
    """The file, whole, in the place of those of other facts; None where it cannot be written."""
    import duckdb

    beside = file.parent / f"{UNFINISHED}{os.urandom(4).hex()}"
    try:
        database = _connection(str(beside))
        try:
            database.execute(script)
        finally:
            with _DOORS:
                database.close()
        beside.chmod(0o600)
        beside.replace(file)
        for other in file.parent.glob(f"{_TABLES}*"):
            if other != file:
                # Who has it open keeps it, or, on Windows, the file stays until the next one is made.
                with suppress(OSError):
                    other.unlink()
    except (OSError, duckdb.IOException):
        return None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return file


def _in_memory(script: str) -> Any:
    database = _connection(":memory:")
    database.execute(script)
    return database


def _connection(path: str, read_only: bool = False) -> Any:
    import duckdb

    with _DOORS:
        return duckdb.connect(path, read_only, {"threads": min(_THREADS, os.cpu_count() or 1)})


def _tag(name: str) -> str:
    return f"nullif(map_extract_value(tags, {_text(name)}), '')"


def _text(value: Any) -> str:
    """A literal."""
    return "null" if value is None else "'" + str(value).replace("'", "''") + "'"
