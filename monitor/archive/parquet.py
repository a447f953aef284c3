"""Rows as the bytes of a Parquet file, and back; the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pandas as pd

from monitor.archive.columns import Kind
from monitor.archive.layout import SCHEMA


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
