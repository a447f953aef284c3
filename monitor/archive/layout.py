"""The form of an archive: folders that DuckDB, Spark and Athena read as partitions, and the columns of its tables, in types
that they read alike: 64 bits, texts, instants in microseconds UTC. ``docs/archive.md`` says what each means.

Rows become the bytes of a Parquet file, and back; the same rows give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from typing import Any, Literal
from urllib.parse import quote, unquote

import pandas as pd

from monitor.model import Job
from monitor.model.job import region_of

#: Of what is archived; a reader takes this version and no other. Columns may be added without a new one.
SCHEMA = 1
#: What Hive, Spark, Arrow and DuckDB read as "no value".
UNKNOWN = "__HIVE_DEFAULT_PARTITION__"
RUNS = "runs/"
# File systems take 255 bytes in a name; a longer one is cut and told apart by a digest.
_LONGEST = 180
_ID_DIGITS = 10


@dataclass(frozen=True, slots=True)
class JobLocation:
    """The partition of a job and, in it, the files of one job: names are unique only within an account and for a time."""

    region: str | None
    month: str | None
    """Of its creation in UTC: ``2026-11``."""
    name: str
    id: str
    """By ARN and creation time."""

    @property
    def folder(self) -> str:
        """``region=…/month=…/job=…``, the same below each table."""
        return f"region={value_of(self.region)}/month={value_of(self.month)}/job={value_of(self.name)}"

    def table(self, name: str) -> str:
        """The Parquet file of a table."""
        return f"{name}/{self.folder}/part-{self.id}.parquet"

    @property
    def report(self) -> str:
        """The report as ``report --format json`` prints it."""
        return f"reports/{self.folder}/report-{self.id}.json"

    @property
    def run(self) -> str:
        """What the tables cannot hold, and the checksums of the rest; it is written last."""
        return f"{RUNS}{self.folder}/run-{self.id}.json"


def location_of(job: Job) -> JobLocation:
    """The place of a job; what is not known of it (log files tell little) is ``UNKNOWN`` there."""
    begun = job.created or job.started or job.ended
    identity = f"{job.arn or job.name}\0{job.created.isoformat() if job.created else ''}"
    return JobLocation(
        region=region_of(job.arn),
        month=None if begun is None else f"{begun:%Y-%m}",
        name=job.name,
        id=hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS],
    )


def value_of(text: str | None) -> str:
    """``text`` as the value of a partition: URL-quoted, as all engines expect it, and not too long for a file's name."""
    if not text:
        return UNKNOWN
    quoted = [quote(letter, safe="", errors="surrogatepass") for letter in text]
    if sum(map(len, quoted)) <= _LONGEST:
        return "".join(quoted)
    # Whole letters only, so that what is left can still be read.
    ends = accumulate(map(len, quoted))
    head = "".join(letter for letter, end in zip(quoted, ends, strict=True) if end <= _LONGEST)
    return f"{head}-{hashlib.sha256(''.join(quoted).encode()).hexdigest()[:_ID_DIGITS]}"


def job_in(path: str) -> str:
    """The name in the path of a run, for a guess at what was meant; of a very long one the head."""
    return unquote(path.rpartition("/job=")[2].partition("/")[0], errors="replace")


Kind = Literal["text", "whole", "number", "yes/no", "instant"]

STEPS: dict[str, Kind] = {
    "job_name": "text",
    "node": "text",
    "rank": "whole",
    "step": "whole",
    "timestamp": "instant",
    "step_time_s": "number",
    "throughput": "number",
    "throughput_unit": "text",
    "loss": "number",
    "gpu_memory_gib": "number",
    "format": "text",
    "kind": "text",
    "stream": "text",
    "line": "whole",
    "total": "whole",
    "segment": "whole",
    "warm_up": "yes/no",
    "reports": "whole",
    "learning_rate": "number",
}
METRICS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "metric": "text",
    "value_pct": "number",
    "period_s": "whole",
}
EVENTS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "rank": "whole",
    "kind": "text",
    "text": "text",
    "stream": "text",
    "line": "whole",
}
GPUS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "gpu": "whole",
    "utilization_pct": "number",
    "memory_pct": "number",
    "even": "yes/no",
}
HOSTS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "cores": "whole",
    "full_cores": "whole",
    "cpu_pct": "number",
    "waiting_cores": "number",
    "received_bytes_s": "number",
    "sent_bytes_s": "number",
    "even": "yes/no",
}
FINDINGS: dict[str, Kind] = {
    "job_name": "text",
    "position": "whole",
    "id": "text",
    "severity": "text",
    "confidence": "text",
    "title": "text",
    "summary": "text",
    "recommendation": "text",
    "parameter": "text",
    "from_value": "text",
    "to_value": "text",
    "change_pct_low": "number",
    "change_pct_mid": "number",
    "change_pct_high": "number",
    "share": "number",
    "recoverable_usd": "number",
    "evidence": "text",
}
BUCKETS: dict[str, Kind] = {
    "job_name": "text",
    "name": "text",
    "is_waste": "yes/no",
    "seconds": "number",
    "billed_seconds": "number",
    "billed_instance_s": "number",
    "cost_usd": "number",
}
JOBS: dict[str, Kind] = {
    "schema_version": "whole",
    "job_name": "text",
    "arn": "text",
    "account": "text",
    "status": "text",
    "secondary_status": "text",
    "failure_reason": "text",
    "created": "instant",
    "started": "instant",
    "ended": "instant",
    "reviewed_at": "instant",
    "is_final": "yes/no",
    "instance_type": "text",
    "instance_count": "whole",
    "gpu_count": "whole",
    "spot": "yes/no",
    "launcher": "text",
    "smp_version": "whole",
    "log_formats": "text",
    "configuration": "text",
    "training_seconds": "whole",
    "billable_seconds": "whole",
    "price_usd_per_instance_hour": "number",
    "price_source": "text",
    "cost_usd": "number",
    "overhead_usd": "number",
    "recoverable_usd": "number",
    "recoverable_usd_per_hour": "number",
    "wasted_usd": "number",
    "billed_instance_s": "number",
    "recoverable_instance_s": "number",
    "wasted_instance_s": "number",
    "goodput": "number",
    "mfu_pct": "number",
    "gpu_utilization_pct": "number",
    "gpu_memory_utilization_pct": "number",
    "step_reports": "whole",
    "step_median_s": "number",
    "step_p10_s": "number",
    "step_p90_s": "number",
    "steps_done": "whole",
    "steps_total": "whole",
    "verdict": "text",
    "critical_findings": "whole",
    "warning_findings": "whole",
    "top_finding": "text",
    "top_finding_title": "text",
    "log_lines": "whole",
    "metrics_period_s": "whole",
    "profiler_objects": "whole",
    "tags": "text",
    "account_name": "text",
    "team": "text",
    "project": "text",
    "step_time_came_by": "text",
}

TABLES: dict[str, dict[str, Kind]] = {
    "steps": STEPS,
    "metrics": METRICS,
    "events": EVENTS,
    "gpus": GPUS,
    "hosts": HOSTS,
    "findings": FINDINGS,
    "buckets": BUCKETS,
    "jobs": JOBS,
}
#: What got a better name, and is missing in files from before: new name -> old one, which is still written.
OLD_NAMES = {"overhead_usd": "wasted_usd"}
#: The tables that a run is read back from; the others follow from them.
FRAMES = ("steps", "metrics", "events", "gpus", "hosts")
#: Of them, those that files from before lack: no row then.
LATER_FRAMES = frozenset({"gpus", "hosts"})


def from_frame(frame: pd.DataFrame, columns: Mapping[str, Kind], job_name: str) -> bytes:
    """The frame's rows under the job's name; what was not observed is null."""
    import pyarrow as pa

    schema = _schema(columns)
    named = frame.assign(job_name=job_name)[list(columns)]
    for name in named.columns[named.dtypes == "category"]:
        named[name] = named[name].astype("str")
    return _bytes(pa.Table.from_pandas(named, schema, preserve_index=False))


def from_rows(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Kind]) -> bytes:
    """Rows with all columns each. KeyError where one is missing."""
    import pyarrow as pa

    whole = [{name: row[name] for name in columns} for row in rows]
    return _bytes(pa.Table.from_pylist(whole, _schema(columns)))


def to_frame(data: bytes) -> pd.DataFrame:
    """The rows of a file. Errors of Arrow's where it is none."""
    import pyarrow as pa
    from pyarrow import parquet

    return parquet.read_table(pa.BufferReader(data)).to_pandas(split_blocks=True, self_destruct=True)


def to_rows(data: bytes) -> list[dict[str, Any]]:
    """The rows of a small file as they are, without what a frame costs. Errors of Arrow's where it is none."""
    import pyarrow as pa
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(pa.BufferReader(data)).to_pylist()
    return rows


def _schema(columns: Mapping[str, Kind]) -> Any:
    # Imported late, as wherever it is needed: a twentieth of a second that most calls do without.
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "yes/no": pa.bool_(),
        "instant": pa.timestamp("us", tz="UTC"),
    }
    fields = [pa.field(name, types[kind]) for name, kind in columns.items()]
    return pa.schema(fields, metadata={"trainwatch.schema": str(SCHEMA)})


def _bytes(table: Any) -> bytes:
    from pyarrow import parquet

    into = BytesIO()
    # Without what pandas adds: its version, which would make two writers of one job differ.
    plain = table.replace_schema_metadata({"trainwatch.schema": str(SCHEMA)})
    parquet.write_table(plain, into, compression="zstd")
    return into.getvalue()
