"""Does the Fleet page stay below a second a view with 100,000 archived jobs? Its queries, the page itself, and in a browser.

FLEET_JOBS of them (100000), each of some days, buckets and findings, over a year and twelve teams. The page is run as Streamlit
runs it (a view is a click: all of the page, drawn anew), then clicked in Chromium, where one is installed: from the click until
the new figures stand there. ``busy`` is the machine's load a core.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from streamlit.testing.v1 import AppTest

from monitor.archive.fleet_parts import FactStore
from monitor.fleet.facts import BilledTime, FindingFact, JobFacts, Owners, use_of
from monitor.fleet.summing import BEFORE, fleet_report
from monitor.fleet.window import DateWindow, since
from monitor.installed import APP
from monitor.review.fleet_facts import FleetDatabase
from monitor.settings import ARCHIVE_SHOWN, Settings
from monitor.show import data_fleet
from tests.browser.started import CHROMIUM, chromium, running_dashboard

Row = tuple[str, str, str]
T = TypeVar("T")
#: Of a view, in seconds.
MOST_S = 1.0
_NOW = datetime.now(UTC).replace(microsecond=0)
_BUCKETS = ("image", "initialization", "productive", "checkpoint", "slow-excess", "stall", "idle-tail")
_TOUCHED_NS = 1_795_000_000_000_000_000
_failed: list[str] = []


def rows() -> list[Row]:
    """The table."""
    number = int(os.environ.get("FLEET_JOBS", "100000"))
    _failed.clear()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = folder / "archive"
        store = FactStore.of(folder / "cache" / "trainwatch", str(archive))
        spent, _ = _timed(lambda: _fill(store, number, archive))
        size = sum(part.stat().st_size for part in store.parts) / 2**20
        out: list[Row] = [
            ("what", "time", "may be"),
            (f"{number:,} jobs made and kept, {size:.0f} MiB; busy {_busy()}", f"{spent:.1f} s", ""),
        ]
        out += _queries(store)
        environment = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA", "STATE")}
        environment[ARCHIVE_SHOWN] = str(archive)
        out += _page(environment)
        out += _browser(environment, str(archive))
    return out


def _queries(store: FactStore) -> Iterator[Row]:
    """The sums alone, and the report of the command line."""
    took, database = _timed(lambda: FleetDatabase.of(store, Settings()))
    yield "the tables in memory, in the background, after each night", f"{took:.2f} s", ""
    for days in (7, 28, 364):
        window = since(timedelta(days=days), _NOW)
        took, tables = _timed(lambda window=window: database.tables(window, "team"))  # type: ignore[misc]
        yield _row(f"the sums of {days} days, {tables.jobs:,} jobs", took)
        took, _ = _timed(lambda window=window: database.jobs(window, "team", "team-3", ("idle",)))  # type: ignore[misc]
        yield _row(f"the jobs behind a part of {days} days", took)
    week = DateWindow(_NOW.date() - timedelta(days=8), _NOW.date() - timedelta(days=1))
    took, _ = _timed(store.stamps)
    yield "what is known already, before new jobs are read", f"{took:.2f} s", ""
    took, jobs = _timed(lambda: store.load(week.start - BEFORE, _NOW.date()))
    yield f"loading {len(jobs):,} jobs for the report of a week", f"{took:.2f} s", ""
    took, _ = _timed(lambda: fleet_report("archive", jobs, week, _NOW, "team", Owners().team))
    yield "the report of a week", f"{took:.2f} s", ""


def _page(environment: dict[str, str]) -> Iterator[Row]:
    """The page's own path: what Streamlit runs at a visit, and at each click."""
    os.environ.update(environment)
    page = AppTest.from_file(str(APP), default_timeout=300)
    page.switch_page("pages/fleet.py")
    # What is loaded once, whatever the page shows.
    page.run()
    data_fleet._fleet.cache_clear()
    took, _ = _timed(page.run)
    if not _answers(page):
        _failed.append("the first visit says nothing")
    yield _row(f"the page, first visit after a start; busy {_busy()}", took)
    for what, change in (
        ("13 weeks", {"time": "13w"}),
        ("52 weeks", {"time": "52w"}),
        ("52 weeks by project", {"by": "project"}),
        ("the jobs of one project", {"owner": "project-7"}),
        ("what was idle in them", {"use": "idle"}),
        ("7 days, by account", {"time": "7d", "by": "account"}),
    ):
        for each, value in change.items():
            page.query_params[each] = value
        took, _ = _timed(page.run)
        if page.exception or not _answers(page):
            _failed.append(f"the page says nothing for {what}")
        yield _row(f"  a click: {what}", took)


def _answers(page: AppTest) -> bool:
    return any("bought nothing" in each.value for each in page.markdown)


def _browser(environment: dict[str, str], archive: str) -> Iterator[Row]:
    if CHROMIUM is None:
        return
    with running_dashboard(environment, "--archive", archive) as address, chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(300_000)
        page.goto(f"{address}/thresholds")
        to_fleet = page.get_by_role("link", name="Fleet", exact=True).first
        to_fleet.wait_for()
        page.wait_for_timeout(5000)
        answer = page.get_by_role("heading", name=re.compile("bought nothing"))
        begun = time.perf_counter()
        to_fleet.click()
        answer.wait_for()
        yield _row(f"in Chromium: first visit after a start; busy {_busy()}", time.perf_counter() - begun)
        page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)').nth(1).wait_for(state="attached")
        page.wait_for_timeout(3000)
        for name in ("13 weeks", "52 weeks", "Project", "7 days"):
            before = answer.inner_text()
            begun = time.perf_counter()
            page.get_by_role("radio", name=name, exact=True).click()
            page.wait_for_function("old => document.querySelector('h3').innerText !== old", arg=before)
            yield _row(f"in Chromium: {name}; busy {_busy()}", time.perf_counter() - begun)
            page.wait_for_timeout(2000)


def _busy() -> str:
    return f"{os.getloadavg()[0] / (os.cpu_count() or 1):.1f}"


def failures() -> list[str]:
    """What took too long."""
    return list(_failed)


def _row(what: str, took: float) -> Row:
    if took > MOST_S:
        _failed.append(f"{what} took {took:.2f} s")
    return what, f"{took:.2f} s", f"{MOST_S:g} s"


def _timed(do: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    found = do()
    return time.perf_counter() - begun, found


def _fill(store: FactStore, number: int, archive: Path) -> None:
    """The facts of the jobs, and the files in the archive by which it is seen that nothing is new."""
    chance = random.Random(1)
    for first in range(0, number, 10_000):
        jobs = [_job(chance, place, number) for place in range(first, min(number, first + 10_000))]
        store.keep(jobs)
        for job in jobs:
            path = archive / job.key
            path.parent.mkdir(parents=True)
            path.write_bytes(b"x")
            os.utime(path, ns=(_TOUCHED_NS, _TOUCHED_NS))


def _job(chance: random.Random, place: int, number: int) -> JobFacts:
    created = _NOW - timedelta(days=365 * (1 - place / number))
    nodes = chance.choice((1, 1, 2, 4, 8, 16))
    length = timedelta(hours=chance.expovariate(1 / 9))
    days = [created.date() + timedelta(days=day) for day in range(1 + length.days)]
    shares = tuple(
        BilledTime(day, bucket, use_of(bucket), nodes * chance.uniform(60, 9000)) for day in days for bucket in _BUCKETS
    )
    billed_s = sum(share.instance_s for share in shares)
    return JobFacts(
        key=f"runs/region=us-east-1/month={created:%Y-%m}/job=run-{place}/run-{place:010d}.json",
        stamp=f"{_TOUCHED_NS} 1",
        name=f"run-{place}",
        base=f"model-{place % 400}",
        arn=f"arn:aws:sagemaker:us-east-1:111122223333:training-job/run-{place}",
        account="111122223333",
        region="us-east-1",
        status=chance.choice(("Completed",) * 8 + ("Failed", "Stopped")),
        created=created,
        started=created,
        ended=created + length,
        reviewed_at=created + length,
        instance_type=chance.choice(("ml.p4d.24xlarge", "ml.p5.48xlarge", "ml.g5.12xlarge")),
        instances=nodes,
        gpus=8 * nodes,
        spot=place % 9 == 0,
        price_usd=36.0,
        usd=billed_s * 36 / 3600,
        training_s=length.total_seconds(),
        billable_s=length.total_seconds(),
        cause=chance.choice((None,) * 9 + ("script-error", "cuda-out-of-memory", "nccl-timeout")),
        queued_s=chance.expovariate(1 / 600),
        stepped_at=created + timedelta(minutes=9),
        recoverable_share=chance.random() / 3,
        gpu_utilization_pct=chance.uniform(20, 99),
        step_median_s=1.0,
        step_p10_s=0.9,
        step_p90_s=1.2,
        step_reports=500,
        tags={"team": f"team-{place % 12}", "project": f"project-{place % 60}"},
        configuration=json.loads('{"batch_size": "32", "pipeline_parallel_degree": "2", "microbatches": "8"}'),
        findings=(FindingFact("raise-active-microbatches", "Window too small", "Raise it.", 0.2),),
        shares=shares,
    )
