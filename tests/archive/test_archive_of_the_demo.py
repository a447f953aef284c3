"""An archive of the sample account: the same reports as live, and every query of the documentation runs on it."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import expressions

from monitor.archive.document import report_document
from monitor.archive.layout import TABLES
from monitor.archive.reading import Archived
from monitor.archive.store import FolderStore
from monitor.archive.writing import Labels, write
from monitor.cli.grammar import parser
from monitor.cli.job_lists import ranked
from monitor.model import Gap, Job, Report
from monitor.review import Reviewer, Watch
from monitor.review.archived import ArchiveSource
from monitor.review.archiving import Archiver, ArchiveRequest
from monitor.settings import Settings
from tests.demo_jobs import DEMO_NOW as NOW
from tests.demo_jobs import reviewed
from tests.drawn import drawn

# The worker that has read the demo for the pages.
pytestmark = pytest.mark.xdist_group("figures")

DOCS = (Path(__file__).parents[2] / "docs" / "archive.md").read_text(encoding="utf-8")
# One of each kind: running, stalled, failed, never started, interrupted, of two groups, and those with a finding.
BASES = (
    "gpt2-10b-smp",
    "llama2-13b-smp2",
    "gptj-6b-smp",
    "gpt2-20b-smp-pp4",
    "llama2-7b-fsdp",
    "llama2-70b-pretrain",
    "bert-large-mlm-spot",
    "whisper-small-finetune",
    "deeplab-hetero",
)


class Live:
    """The reports as they were read from the account, and where they are archived."""

    def __init__(self, folder: Path) -> None:
        self.store = FolderStore(folder)
        self.reports: dict[str, Report] = {}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """The account is gone when this is used: what is read later comes from the archive alone."""
    out = Live(tmp_path_factory.mktemp("archive"))
    for base in BASES:
        report = reviewed()[base]
        out.reports[report.job.name] = report
        write(out.store, report, labels=Labels(team="speech" if base.startswith("whisper") else None))
    return out


def _named(live: Live, base: str) -> str:
    return next(name for name in live.reports if name.startswith(base))


@pytest.mark.parametrize("base", drawn(BASES, 4))
def test_the_report_is_the_live_one_but_for_its_calls(live: Live, base: str) -> None:
    told = live.reports[_named(live, base)]
    # Whenever it is read, with whatever prices are set by then.
    later = Settings(prices={told.job.instance_type or "": 1.0})
    again = Reviewer(ArchiveSource(live.store), told.job.name, later).review(NOW + timedelta(days=300))
    ours, theirs = report_document(again), report_document(told)
    assert ours.pop("api") == {"calls": {}, "estimated_usd": 0.0}
    assert theirs.pop("api")["calls"]
    assert ours == theirs
    for field in ("reviewed_at", "nodes", "steps", "phases", "buckets", "findings", "activities", "cost", "price"):
        assert getattr(again, field) == getattr(told, field), field
    assert (again.goodput, again.at_risk, again.job) == (told.goodput, told.at_risk, told.job)
    for frame in ("steps", "metrics", "events", "gpus", "hosts"):
        pd.testing.assert_frame_equal(getattr(again.run, frame), getattr(told.run, frame), check_exact=True)
    assert again.archive == live.store.label


def test_running_jobs_are_among_them_and_are_not_final(live: Live) -> None:
    rows, unread = ArchiveSource(live.store).rows()
    assert not unread
    assert len(rows) == len(live.reports)
    assert [row["status"] == "InProgress" for row in rows] == [not row["is_final"] for row in rows]
    assert any(row["status"] == "InProgress" for row in rows)


def test_a_price_from_the_settings_counts_where_none_was_known(live: Live, tmp_path: Path) -> None:
    store, name = FolderStore(tmp_path), _named(live, "whisper")
    Archiver(store).archive(ArchiveRequest(_Priceless(live.store), name), NOW)
    kept = ArchiveSource(store).archived(name)
    assert kept.manifest.price is None
    assert [gap.what for gap in kept.run.gaps] == ["price"]
    without = Reviewer(ArchiveSource(store), name).review(NOW)
    assert without.cost.usd is None
    priced = Reviewer(ArchiveSource(store), name, Settings(prices={"ml.g5.12xlarge": 7.09})).review(NOW)
    assert priced.cost.price_usd_per_instance_hour == 7.09
    assert not [gap for gap in priced.run.gaps if gap.what == "price"]
    # A job whose price was not known is final, and archived again once it is.
    assert Archiver(store).archive(ArchiveRequest(_Priceless(live.store), name), NOW).state == "unchanged"
    again = Archiver(store, Settings(prices={"ml.g5.12xlarge": 7.09})).archive(
        ArchiveRequest(_Priceless(live.store), name), NOW
    )
    assert again.state == "archived"
    assert again.manifest is not None
    assert again.manifest.row["cost_usd"] == pytest.approx(priced.cost.usd)


def test_a_bill_that_grew_after_the_end_is_archived_again(live: Live, tmp_path: Path) -> None:
    store, name = FolderStore(tmp_path), _named(live, "whisper")
    source = ArchiveSource(live.store)
    assert [Archiver(store).archive(ArchiveRequest(source, name), NOW).state for _ in range(2)] == [
        "archived",
        "unchanged",
    ]

    class Retained(ArchiveSource):
        def job(self, name: str) -> Job:
            return replace(super().job(name), warm_pool_billable_seconds=900)

    assert Archiver(store).archive(ArchiveRequest(Retained(live.store), name), NOW).state == "archived"


class _Priceless(ArchiveSource):
    def archived(self, name: str) -> Archived:
        kept = super().archived(name)
        gap = Gap("price", "No price list answered.", "Set one.", transient=True)
        return replace(kept, run=replace(kept.run, gaps=(gap,)), manifest=replace(kept.manifest, price=None))


def test_a_watched_job_of_an_archive_is_read_once_even_if_it_ran(live: Live) -> None:
    watch = Watch(ArchiveSource(live.store), refresh_s=0.01)
    name = _named(live, "gpt2-10b")
    until = datetime.now(UTC) + timedelta(seconds=20)
    while not (found := watch.snapshot(name)).is_last and datetime.now(UTC) < until:
        time.sleep(0.01)
    assert found.report is not None
    assert found.report.reviewed_at == NOW
    time.sleep(0.05)
    # Asked again when its time has come, it is not read again.
    assert watch.snapshot(name) is found


def test_an_archive_can_be_copied_into_another(live: Live, tmp_path: Path) -> None:
    name = _named(live, "gpt2-10b")
    outcome = Archiver(FolderStore(tmp_path)).archive(
        ArchiveRequest(ArchiveSource(live.store), name), NOW + timedelta(days=9)
    )
    assert outcome.state == "archived"
    copy, first = (Reviewer(ArchiveSource(store), name).review(NOW) for store in (FolderStore(tmp_path), live.store))
    assert report_document(copy) == report_document(first)


# ---- The documentation: its columns and its queries.


def _blocks(engine: str) -> list[str]:
    return re.findall(rf"<!-- {engine} -->\n```\w+\n(.*?)```", DOCS, re.DOTALL)


def test_the_commands_of_the_page_are_commands() -> None:
    lines = [line.partition("#")[0].partition(">/dev")[0] for line in re.findall(r"python -m monitor (.+)", DOCS)]
    assert len(lines) >= 8
    for line in lines:
        parser().parse_args(line.split())


def test_every_column_is_documented_with_its_type() -> None:
    parts = re.split(r"^### `(\w+)`\n", DOCS, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    for table, columns in TABLES.items():
        rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", sections[table].partition("\n## ")[0], re.MULTILINE)
        assert dict(rows) == columns, table


@pytest.fixture
def engine(live: Live) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    # Views as Athena sees the tables: region and month are their only partitions.
    for table in TABLES:
        files = f"{live.store.label}/{table}/*/*/*/*.parquet"
        connection.execute(
            f"CREATE VIEW athena_{table} AS SELECT * EXCLUDE (job) FROM read_parquet('{files}', hive_partitioning = true)"
        )
    return connection


def _rows(engine: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    found = engine.sql(query)
    return [] if found is None else found.to_arrow_table().to_pylist()


def _queries(engine: duckdb.DuckDBPyConnection, live: Live) -> list[list[dict[str, Any]]]:
    views, *queries = (block.replace("ARCHIVE", live.store.label) for block in _blocks("duckdb"))
    engine.execute(views)
    return [_rows(engine, query) for query in queries]


def test_the_queries_for_duckdb_say_what_the_reports_say(engine: duckdb.DuckDBPyConnection, live: Live) -> None:
    spent, waste, teams, findings, slowest, idle = _queries(engine, live)
    reports = live.reports.values()
    overhead = sum(report.cost.overhead_usd or 0.0 for report in reports)
    assert sum(row["overhead_usd"] or 0.0 for row in spent) == pytest.approx(overhead)
    recoverable = sum(report.cost.recoverable_usd or 0.0 for report in reports)
    assert sum(row["recoverable_usd"] or 0.0 for row in spent) == pytest.approx(recoverable)
    assert sum(row["spent_usd"] or 0.0 for row in spent) == pytest.approx(sum(each.cost.usd or 0.0 for each in reports))
    assert sum(row["usd"] for row in waste) == pytest.approx(overhead)
    # What is null in a bucket is of a job that never started.
    assert sum(row["usd"] for row in teams) == pytest.approx(sum(row["usd"] for row in waste))
    assert {row["team"] for row in teams} == {"untagged", "speech"}
    assert {row["id"] for row in findings} == {each.id for report in reports for each in report.warnings}
    assert slowest[0]["job_name"] == _named(live, "llama2-7b-fsdp")
    assert slowest[0]["slowest"] == "algo-3"
    assert slowest[0]["times_the_median"] == pytest.approx(1.3, abs=0.05)
    assert {row["job_name"] for row in idle} >= {_named(live, "whisper")}


def test_the_ranking_of_the_fleet_is_that_of_the_table(engine: duckdb.DuckDBPyConnection, live: Live) -> None:
    _queries(engine, live)
    rows, _ = ArchiveSource(live.store).rows()
    order = (
        "ORDER BY recoverable_usd DESC NULLS LAST, recoverable_instance_s DESC NULLS LAST, overhead_usd DESC NULLS LAST"
    )
    theirs = [row["job_name"] for row in _rows(engine, f"SELECT job_name FROM jobs {order}")]
    assert [row["job_name"] for row in ranked(rows)] == theirs


_ATHENA_TYPES = {
    "text": expressions.DataType.Type.TEXT,
    "whole": expressions.DataType.Type.BIGINT,
    "number": expressions.DataType.Type.DOUBLE,
    "yes/no": expressions.DataType.Type.BOOLEAN,
    "instant": expressions.DataType.Type.TIMESTAMP,
}


def test_athenas_tables_have_the_columns_that_are_written() -> None:
    tables = [block for block in _blocks("athena") if block.startswith("CREATE")]
    assert len(tables) == 3
    for block in tables:
        made = sqlglot.parse_one(block, read="athena")
        name = made.this.this.name
        columns = {column.name: column.kind.this for column in made.this.expressions}
        assert columns == {column: _ATHENA_TYPES[kind] for column, kind in TABLES[name].items()}, name
        assert (
            f"'storage.location.template' = 's3://BUCKET/PREFIX/{name}/region=${{region}}/month=${{month}}/'" in block
        )
        assert f"LOCATION 's3://BUCKET/PREFIX/{name}/'" in block
        assert "PARTITIONED BY (`region` string, `month` string)" in block


def test_the_queries_for_athena_run_translated(engine: duckdb.DuckDBPyConnection, live: Live) -> None:
    queries = [block for block in _blocks("athena") if block.startswith("SELECT")]
    assert len(queries) == 4
    answers = []
    for query in queries:
        parsed = sqlglot.parse_one(query, read="athena")
        for table in parsed.find_all(expressions.Table):
            table.this.set("this", f"athena_{table.name}")
        answers.append(_rows(engine, parsed.sql(dialect="duckdb")))
    worst, waste, teams, times = answers
    assert {row["team"]: row["jobs"] for row in teams} == {"untagged": len(BASES) - 1, "speech": 1}
    assert sum(row["usd"] for row in teams) == pytest.approx(
        sum(each.cost.usd or 0.0 for each in live.reports.values()), abs=0.05
    )
    assert [row["job_name"] for row in worst[:1]] == [
        max(live.reports.values(), key=lambda each: each.cost.recoverable_usd or 0.0).job.name
    ]
    assert {row["name"] for row in waste} >= {"stall", "initialization"}
    medians = {row["job_name"]: row["median_s"] for row in times if row["timed"]}
    for name, median_s in medians.items():
        told = live.reports[name].steps
        assert told is not None
        assert median_s == pytest.approx(told.median_s, rel=0.02)


def test_the_queries_for_spark_run(live: Live) -> None:
    pyspark = pytest.importorskip(
        "pyspark.sql", reason="Spark is not installed (requirements-spark.txt): its queries are not tested here"
    )
    (block,) = _blocks("spark")
    spark = (
        pyspark.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        found: dict[str, Any] = {"spark": spark, "archive": live.store.label}
        exec(block, found)
        worst, waste, teams, times = (found[name].collect() for name in ("worst", "waste", "teams", "step_times"))
    finally:
        spark.stop()
    told = max(live.reports.values(), key=lambda each: each.cost.recoverable_usd or 0.0)
    assert (worst[0]["job_name"], worst[0]["month"]) == (told.job.name, "2026-11")
    assert {row["team"]: row["jobs"] for row in teams} == {"untagged": len(BASES) - 1, "speech": 1}
    assert sum(row["usd"] for row in waste) == pytest.approx(
        sum(each.cost.overhead_usd or 0.0 for each in live.reports.values())
    )
    assert len(times) == sum(each.steps is not None for each in live.reports.values())


def test_a_reader_of_one_file_needs_no_partitions(live: Live) -> None:
    rows, _ = ArchiveSource(live.store).rows()
    for path in Path(live.store.label).glob("jobs/*/*/*/*.parquet"):
        table = pa.parquet.read_table(path, partitioning=None)
        assert table.num_rows == 1
        assert f"/job={table['job_name'][0].as_py()}/" in str(path)
    assert {row["schema_version"] for row in rows} == {1}
