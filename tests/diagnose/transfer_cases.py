"""Jobs whose input or output takes long, and jobs in which it does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from monitor.model import Channel, Run, Transition
from tests.builders import START
from tests.diagnose.runs import Cases, run


def _moved(
    before_min: float, after_min: float = 0.0, mode: str = "File", billed: bool = True, **changes: object
) -> Run:
    """An hour of training with so many minutes of download before it, and of upload after it."""
    of = run(**changes)  # type: ignore[arg-type]
    begun, ended = of.job.transitions[0].start, of.job.ended
    download = Transition("Downloading", begun - timedelta(minutes=before_min), begun)
    rows = [download, replace(of.job.transitions[0], start=begun)]
    if ended is not None and after_min:
        rows.append(Transition("Uploading", ended, ended + timedelta(minutes=after_min)))
        ended += timedelta(minutes=after_min)
    job = replace(
        of.job,
        created=download.start - timedelta(minutes=4),
        started=download.start if billed else begun,
        ended=ended,
        transitions=tuple(rows),
        channels=(Channel("train", "s3://bucket/train", mode), Channel("labels", "fsx://fs-1/labels")),
    )
    return replace(of, job=job)


def _still_downloading() -> Run:
    of = run(status="InProgress")
    begun = START - timedelta(minutes=46)
    job = replace(
        of.job,
        secondary_status="Downloading",
        created=begun - timedelta(minutes=5),
        started=begun,
        transitions=(Transition("Downloading", begun),),
    )
    empty = run(status="InProgress", step_frame=of.steps.iloc[:0], metric_frame=of.metrics.iloc[:0])
    return replace(empty, job=job)


FIRES: Cases = {
    "long-download": lambda: [
        _moved(46),
        _moved(12),
        _moved(46, mode="FastFile"),
        _moved(46, billed=False),
        _moved(46, status="InProgress"),
        _still_downloading(),
    ],
    "long-upload": lambda: [_moved(2, 46), _moved(2, 12)],
}

SILENT: Cases = {
    # Minutes are usual, and so is a small part of a long job.
    "long-download": lambda: [_moved(9), _moved(10.5), _moved(2, 46)],
    "long-upload": lambda: [_moved(2, 9), _moved(2, 10.5), _moved(46)],
}
