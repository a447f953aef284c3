"""Where is a job in an archive? Folders that DuckDB, Spark and Athena read as partitions, and the files in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import quote, unquote

from monitor.model import Job
from monitor.model.arn import region_of

#: Of what is archived; a reader takes this version and no other. Columns may be added without a new one.
SCHEMA = 1
#: What Hive, Spark, Arrow and DuckDB read as "no value".
UNKNOWN = "__HIVE_DEFAULT_PARTITION__"
RUNS = "runs/"
# File systems take 255 bytes in a name; a longer one is cut and told apart by a digest.
_LONGEST = 180
_ID_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Place:
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


def place_of(job: Job) -> Place:
    """The place of a job; what is not known of it (log files tell little) is ``UNKNOWN`` there."""
    begun = job.created or job.started or job.ended
    identity = f"{job.arn or job.name}\0{job.created.isoformat() if job.created else ''}"
    return Place(
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
