"""Sums over the facts of an archive's jobs by DuckDB, for pages: 100,000 jobs in well under a second.

The same definitions as ``monitor.fleet.summing``, which a test holds against these; a page asks for other windows and owners
at every click, a report once a week.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from monitor.archive.fleet_parts import FactStore
from monitor.fleet.window import Window
from monitor.settings import Settings

#: Jobs that a table shows at most.
MOST_JOBS = 200
# Of a key that was written twice (a process was killed between two moves) the newest row counts.
_JOBS = """
create temp view jobs as
select *, list_sum(list_transform(shares, lambda x: x.instance_s)) as billed_s
from read_parquet({pattern}, filename = true)
qualify row_number() over (partition by key order by filename desc) = 1
"""
_SHARES = """
create temp table shares as
select key, {owner} as owner, s.day as day, s.bucket as bucket, s.use as use,
       s.instance_s / 3600 as instance_hours,
       s.instance_s * coalesce(gpus, 0) / instances / 3600 as gpu_hours,
       coalesce(s.instance_s * usd / billed_s, 0) as usd
from jobs, unnest(shares) as t(s)
where last_day >= {first} and first_day < {end} and s.day >= {first} and s.day < {end} and billed_s > 0
"""
_SUMS = "sum(instance_hours) as instance_hours, sum(gpu_hours) as gpu_hours, sum(usd) as usd"
_BY_OWNER = f"select owner, use, {_SUMS}, count(distinct key) as jobs from shares group by all order by owner, use"
_BY_CAUSE = f"select bucket, use, {_SUMS}, count(distinct key) as jobs from shares group by all order by usd desc, gpu_hours desc"
_BY_WEEK = f"select strftime(day, '%G-W%V') as week, use, {_SUMS} from shares group by all order by week, use"
_FAILURES = """
select cause, count(*) as jobs, sum(coalesce(failed.gpu_hours, 0)) as gpu_hours, sum(coalesce(failed.usd, 0)) as usd
from jobs left join (
    select key, sum(gpu_hours) as gpu_hours, sum(usd) as usd from shares where use = 'failed' group by key
) as failed using (key)
where cause is not null and ended >= {begins} and ended < {ends}
group by cause order by jobs desc, usd desc, cause
"""
_DRILLED = f"""
with chosen as (
    select key, owner, {_SUMS} from shares
    where ({{owner}} is null or owner = {{owner}}) and list_contains({{uses}}, use)
    group by key, owner order by usd desc, gpu_hours desc, instance_hours desc, key limit {MOST_JOBS}
)
select name as job, owner, status, instance_type, instances, created, cause, account, region,
       instance_hours, gpu_hours, chosen.usd as usd
from chosen join jobs using (key)
order by chosen.usd desc, gpu_hours desc, instance_hours desc, name
"""


@dataclass(frozen=True, slots=True)
class FleetTables:
    """The sums of one window as frames; each has ``instance_hours gpu_hours usd``, and what it is by."""

    by_owner: pd.DataFrame
    by_cause: pd.DataFrame
    by_week: pd.DataFrame
    failures: pd.DataFrame
    jobs: int
    """With any time in the window."""


def fleet_tables(facts: FactStore, window: Window, by: str, settings: Settings) -> FleetTables:
    """The sums of a window, by team, project or account."""
    with _opened(facts, window, by, settings) as ask:
        return FleetTables(
            ask(_BY_OWNER),
            ask(_BY_CAUSE),
            ask(_BY_WEEK),
            ask(_FAILURES.format(begins=_text(window.begins), ends=_text(window.ends))),
            int(ask("select count(distinct key) as jobs from shares")["jobs"][0]),
        )


def fleet_jobs(
    facts: FactStore, window: Window, by: str, settings: Settings, owner: str | None, uses: tuple[str, ...]
) -> pd.DataFrame:
    """The jobs with the most time in some uses, of one owner or of all; at most ``MOST_JOBS``."""
    listed = f"[{', '.join(map(_text, uses))}]"
    with _opened(facts, window, by, settings) as ask:
        return ask(_DRILLED.format(owner="null" if owner is None else _text(owner), uses=listed))


class _opened:  # noqa: N801 - reads as a word of what it does
    """A database in memory with the jobs and the shares of a window; asked by what it gives."""

    def __init__(self, facts: FactStore, window: Window, by: str, settings: Settings) -> None:
        # Imported late: only those who look at a fleet need it.
        import duckdb

        self._db = duckdb.connect(":memory:")
        owners = {
            "team": _tag(settings.team_tag),
            "project": _tag(settings.project_tag),
            "account": "coalesce(nullif(concat_ws(' ', account, region), ''), 'no account')",
        }
        self._db.execute(_JOBS.format(pattern=_text(facts.pattern)))
        first, end = (f"date {_text(day.isoformat())}" for day in (window.start, window.end))
        self._db.execute(_SHARES.format(owner=owners[by], first=first, end=end))

    def __enter__(self) -> _opened:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def __call__(self, query: str) -> pd.DataFrame:
        found: pd.DataFrame = self._db.sql(query).to_arrow_table().to_pandas()
        return found


def _tag(name: str) -> str:
    return f"coalesce(nullif(map_extract_value(tags, {_text(name)}), ''), 'untagged')"


def _text(value: Any) -> str:
    """A literal; views take no parameters."""
    return "'" + str(value).replace("'", "''") + "'"
