"""What does a job read, and where does it leave what it makes? One row per place, for a table."""

from __future__ import annotations

from typing import NamedTuple

from monitor.model import Job


class FileRow(NamedTuple):
    what: str
    where: str
    how: str


def file_rows(job: Job) -> list[FileRow]:
    """Input channels, then outputs; empty where the job says nothing of either, as a log alone does not."""
    rows = [
        FileRow(f"Input: {channel.name}", channel.uri, ", ".join(filter(None, (channel.mode, channel.content_type))))
        for channel in job.channels
    ]
    outputs = job.outputs
    key = "encrypted with your KMS key" if outputs.own_key else ""
    for what, where, how in (
        ("Output", outputs.path, key),
        ("Model", outputs.model, key),
        ("Checkpoints", outputs.checkpoints, ""),
    ):
        if where:
            rows.append(FileRow(what, where, how))
    if outputs.own_volume_key:
        rows.append(FileRow("Instance volumes", "", "encrypted with your KMS key"))
    return rows
