"""The facts of many jobs in a folder of this machine, so that the next report reads only what is new in the archive.

A convenience like the other caches: it can be deleted at any time. Each part is a Parquet file with a row a job, which appears
whole or not at all, so a run that is killed loses at most the batch it was at. DuckDB reads the same files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from monitor.errors import CannotDo
from monitor.fleet.facts import VERSION, BilledTime, FindingFact, JobFacts

#: How a file's name begins that is being written.
UNFINISHED = ".unfinished-"
# So many files are read quickly; more are put together.
_MOST_PARTS = 24


class FactStore:
    """The facts of one archive. Any number of processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, cache: Path, archive: str) -> FactStore:
        """The one of an archive, below the user's cache; another version of the facts has another folder."""
        digest = hashlib.sha256(archive.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return cls(cache / "fleet" / f"v{VERSION}-{digest}")

    @property
    def pattern(self) -> str:
        """Of the files, for an engine."""
        return f"{self.folder}/part-*.parquet"

    @property
    def parts(self) -> tuple[Path, ...]:
        return tuple(sorted(self.folder.glob("part-*.parquet")))

    def stamps(self) -> dict[str, str]:
        """Key -> stamp of the jobs that are kept; of several the one that was kept last."""
        from pyarrow import parquet

        found: dict[str, str] = {}
        for part in self.parts:
            with _telling(part):
                table = parquet.read_table(part, columns=["key", "stamp"])
            found |= zip(table["key"].to_pylist(), table["stamp"].to_pylist(), strict=True)
        return found

    def keep(self, facts: Sequence[JobFacts]) -> None:
        """A further part. CannotDo where it cannot be written."""
        if facts:
            import pyarrow as pa

            self._write(pa.Table.from_pylist([_row(each) for each in facts], _schema()))

    def keep_none(self) -> None:
        """A part without a job, so that an engine finds the columns."""
        self._write(_schema().empty_table())

    def settle(self, listed: Mapping[str, str]) -> None:
        """Drops what the archive has no longer or has anew, and puts many parts together."""
        import pyarrow as pa
        from pyarrow import compute, parquet

        parts = self.parts
        if not parts:
            return
        tables = []
        for part in parts:
            with _telling(part):
                tables.append(parquet.read_table(part, schema=_schema()))
        whole = pa.concat_tables(tables)
        keys, stamps = whole["key"].to_pylist(), whole["stamp"].to_pylist()
        last = {key: place for place, key in enumerate(keys)}
        live = [last[key] == place and listed.get(key) == stamps[place] for place, key in enumerate(keys)]
        if all(live) and len(parts) <= _MOST_PARTS:
            return
        # What two processes put together at the same time is there twice for a moment: readers take each key once.
        self._write(whole.filter(compute.equal(pa.array(live), True)))
        for part in parts:
            part.unlink(missing_ok=True)

    def load(self, first: date, last: date) -> list[JobFacts]:
        """The jobs that were there on any day from ``first`` to ``last``, each once."""
        from pyarrow import parquet

        found: dict[str, JobFacts] = {}
        for part in self.parts:
            with _telling(part):
                table = parquet.read_table(
                    part, schema=_schema(), filters=[("first_day", "<=", last), ("last_day", ">=", first)]
                )
            found |= {row["key"]: _facts(row) for row in table.to_pylist()}
        return list(found.values())

    def days(self) -> tuple[date, date] | None:
        """The first and the last on which any job was there; None where no job is."""
        from pyarrow import compute, parquet

        found: list[date] = []
        for part in self.parts:
            with _telling(part):
                table = parquet.read_table(part, columns=["first_day", "last_day"])
            ends = compute.min(table["first_day"]).as_py(), compute.max(table["last_day"]).as_py()
            found += [day for day in ends if day is not None]
        return (min(found), max(found)) if found else None

    def _write(self, table: Any) -> None:
        from pyarrow import parquet

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            number = 1 + max((int(part.stem.split("-")[1]) for part in self.parts), default=0)
            mark = os.urandom(4).hex()
            beside = self.folder / f"{UNFINISHED}{mark}"
            try:
                parquet.write_table(table, beside, compression="zstd")
                beside.chmod(0o600)
                beside.replace(self.folder / f"part-{number:09d}-{mark}.parquet")
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise CannotDo(f"The facts of the archive cannot be kept in {self.folder}: {why}.", "Free space.") from None

    def _sweep(self) -> None:
        """What a killed process left; a live one needs seconds for a part."""
        newest = max((part.stat().st_mtime for part in self.parts), default=0.0)
        for left in self.folder.glob(f"{UNFINISHED}*"):
            with suppress(OSError):
                if left.stat().st_mtime < newest - 3600:
                    left.unlink()


class _telling:  # noqa: N801 - reads as a verb, as a context manager does
    """A part that another process has put together with others meanwhile, or that is damaged, is told as one error."""

    def __init__(self, part: Path) -> None:
        self._part = part

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and isinstance(error, Exception):
            raise CannotDo(
                f"The facts kept in {self._part.parent} changed or are damaged.", "Try again, or delete that folder."
            ) from error


def _row(facts: JobFacts) -> dict[str, Any]:
    row = asdict(facts)
    row["tags"], row["configuration"] = list(facts.tags.items()), list(facts.configuration.items())
    row["findings"] = [
        {**each, "change_pct": list(each["change_pct"]) if each["change_pct"] else None} for each in row["findings"]
    ]
    row["interruptions"] = [{"start": start, "again": again} for start, again in facts.interruptions]
    days = days_of(facts)
    return {**row, "first_day": min(days, default=None), "last_day": max(days, default=None)}


def days_of(facts: JobFacts) -> Sequence[date]:
    """Those of which it is known that the job was there."""
    moments = (facts.created, facts.started, facts.ended)
    return [*(share.day for share in facts.shares), *(at.date() for at in moments if at is not None)]


def _facts(row: dict[str, Any]) -> JobFacts:
    del row["first_day"], row["last_day"]
    findings = tuple(
        FindingFact(**{**each, "change_pct": tuple(each["change_pct"]) if each["change_pct"] else None})
        for each in row.pop("findings")
    )
    return JobFacts(
        **{
            **row,
            "tags": dict(row["tags"] or ()),
            "configuration": dict(row["configuration"] or ()),
            "findings": findings,
            "shares": tuple(BilledTime(**each) for each in row["shares"]),
            "interruptions": tuple((each["start"], each["again"]) for each in row["interruptions"]),
        }
    )


def _schema() -> Any:
    import pyarrow as pa

    text, number, whole, at = pa.string(), pa.float64(), pa.int64(), pa.timestamp("us", tz="UTC")
    share = pa.struct([("day", pa.date32()), ("bucket", text), ("use", text), ("instance_s", number)])
    finding = pa.struct(
        [
            ("id", text), ("title", text), ("next_step", text), ("share", number), ("parameter", text),
            ("from_value", text), ("to_value", text), ("change_pct", pa.list_(number)),
        ]
    )  # fmt: skip
    columns = {
        **dict.fromkeys(("key", "stamp", "name", "base", "arn", "account", "region", "status"), text),
        **dict.fromkeys(("created", "started", "ended", "reviewed_at"), at),
        "instance_type": text,
        "instances": whole,
        "gpus": whole,
        "spot": pa.bool_(),
        **dict.fromkeys(("price_usd", "usd", "training_s", "billable_s"), number),
        "cause": text,
        "queued_s": number,
        "stepped_at": at,
        **dict.fromkeys(
            ("recoverable_share", "gpu_utilization_pct", "step_median_s", "step_p10_s", "step_p90_s"), number
        ),
        "step_reports": whole,
        **dict.fromkeys(("account_name", "team", "project"), text),
        "tags": pa.map_(text, text),
        "configuration": pa.map_(text, text),
        "findings": pa.list_(finding),
        "shares": pa.list_(share),
        "interruptions": pa.list_(pa.struct([("start", at), ("again", at)])),
        "first_day": pa.date32(),
        "last_day": pa.date32(),
    }
    return pa.schema(list(columns.items()))
