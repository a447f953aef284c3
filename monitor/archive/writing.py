"""Puts a reviewed job into an archive: its tables, its report, and last what makes them one archived job.

Every file has a fixed place and comes into it whole. Whoever is interrupted leaves no job that reads as whole, and to
begin again completes it; several writers of a job that is over write the same frames.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from monitor.archive import manifest as manifests
from monitor.archive import parquet
from monitor.archive.cache import is_final
from monitor.archive.columns import FRAMES, TABLES
from monitor.archive.document import report_document
from monitor.archive.labels import Labels
from monitor.archive.layout import place_of
from monitor.archive.manifest import Manifest, Part
from monitor.archive.reader_version import reader_version
from monitor.archive.rows import billed_buckets, finding_rows, job_row
from monitor.archive.store import Store
from monitor.model import ENDED_STATUSES, Report


def write(
    store: Store,
    report: Report,
    masked: tuple[str, ...] = (),
    reader: str | None = None,
    beginnings: Mapping[str, str] = MappingProxyType({}),
    labels: Labels = Labels(),
) -> Manifest:
    """Archives a report. ``masked`` are the parameters whose values were masked when the job was read.

    ``reader`` is the version of the reader that made the frames, if it is not this one; ``beginnings`` are those of log
    files. CannotDo, or another error of the store, where it cannot be written.
    """
    run, place = report.run, place_of(report.job)
    final = is_settled(report)
    document = report_document(report)
    row = job_row(report, document, final, labels)
    tables = {name: parquet.from_frame(getattr(run, name), TABLES[name], run.job.name) for name in FRAMES} | {
        "findings": parquet.from_rows(finding_rows(report, document), TABLES["findings"]),
        "buckets": parquet.from_rows(billed_buckets(report), TABLES["buckets"]),
    }
    files = {name: (place.table(name), data) for name, data in tables.items()}
    files["report"] = (place.report, json.dumps(document, indent=1, ensure_ascii=False).encode())
    # Engines see no manifest; to them a job is there when its row is.
    files["jobs"] = (place.table("jobs"), parquet.from_rows([row], TABLES["jobs"]))
    manifest = Manifest(
        job=run.job,
        reviewed_at=report.reviewed_at,
        is_final=final,
        reader=reader_version() if reader is None else reader,
        gaps=run.gaps,
        metrics_period_s=run.metrics_period_s,
        logs=run.logs,
        profiler=run.profiler,
        price=report.price,
        masked=masked,
        parts={name: Part.of(path, data) for name, (path, data) in files.items()},
        row=row,
        beginnings=beginnings,
    )
    for path, data in files.values():
        store.write(path, data)
    store.write(place.run, manifests.to_bytes(manifest))
    return manifest


def is_settled(report: Report) -> bool:
    """Whether a later review would read the same of the job. An unknown price alone does not keep it open."""
    gaps = tuple(gap for gap in report.run.gaps if gap.what != "price")
    over = report.job.status in ENDED_STATUSES - {"Deleting"}
    return over and is_final(replace(report.run, gaps=gaps), report.reviewed_at)
