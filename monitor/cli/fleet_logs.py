"""``fleet --logs``: exported logs are reviewed into the archive, by this machine or by Spark, before it is reported."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from monitor.archive.address import store_of
from monitor.cli.paper import Paper
from monitor.cli.sources import split
from monitor.errors import BadCall
from monitor.review.engines import Engine, Local
from monitor.review.exported import Ask, Reviewed, reviewed
from monitor.review.exported_tasks import Reach
from monitor.settings import Settings, cache_folder
from monitor.words import count

ENGINES = ("local", "spark")
_NEEDS_LOGS = ("descriptions", "engine", "workers", "work")
_MOST_SAID = 10


def add_logs_options(command: argparse.ArgumentParser) -> None:
    """What is reviewed first, and by whom."""
    logs = command.add_argument_group(
        "exported logs", "reviewed into the archive first; a second call reads what is new"
    )
    logs.add_argument(
        "--logs",
        nargs="+",
        metavar="PATH",
        help="folders or s3:// prefixes with what CreateExportTask or a subscription (Firehose) wrote",
    )
    logs.add_argument(
        "--descriptions",
        metavar="PATH",
        help="where answers of DescribeTrainingJob or Search, or EventBridge's events are kept (default: beside the logs)",
    )
    logs.add_argument(
        "--engine", choices=ENGINES, help="processes of this machine (default), or Spark's session (docs/fleet.md)"
    )
    logs.add_argument("--workers", type=int, metavar="N", help="tasks at a time (default: one a core)")
    logs.add_argument(
        "--work", metavar="PATH", help="where a subscription is sorted by job (default: the user's cache folder)"
    )


def check_logs(arguments: argparse.Namespace) -> None:
    """BadCall for options that make no sense: told before any work."""
    if not arguments.logs:
        for name in _NEEDS_LOGS:
            if getattr(arguments, name) is not None:
                raise BadCall(
                    f"--{name} goes with --logs.", "Name the exported logs with --logs PATH, or leave it out."
                )
    elif arguments.workers is not None and arguments.workers < 1:
        raise BadCall(f"--workers {arguments.workers} does nothing.", "Give a number of at least 1.")


def review_logs(
    arguments: argparse.Namespace, root: str, settings: Settings, now: datetime, say: Callable[[str], None]
) -> Reviewed:
    """Reviews what is new of the logs into the archive at ``root``."""
    region = next(iter(split([arguments.region])), None)
    engine = _engine(arguments)
    with _work(arguments) as work:
        reach = Reach(root, work, region, arguments.profile)
        ask = Ask(
            tuple(arguments.logs), reach, settings, now, arguments.descriptions, work_is_shared=bool(arguments.work)
        )
        store = store_of(root, region, arguments.profile)
        return reviewed(ask, store, store_of(work, region, arguments.profile), engine, say)


def complain(found: Reviewed) -> bool:
    """What could not be read or archived, on standard error; whether there is anything of the kind."""
    failed = [f"{job.name} is not archived: {job.error}" for job in found.jobs if job.error]
    told = [*found.troubles, *failed]
    if not (found.jobs or told):
        others = f" (of {count(len(found.others), 'object')}, such as {found.others[0]})" if found.others else ""
        told = [
            f"Nothing there is an exported log{others}. Name with --logs what CreateExportTask or a subscription wrote."
        ]
    for sentence in told[:_MOST_SAID]:
        print(f"trainwatch: {sentence}", file=sys.stderr)
    if len(told) > _MOST_SAID:
        print(f"trainwatch: and {count(len(told) - _MOST_SAID, 'more trouble')} of the kind.", file=sys.stderr)
    return bool(told)


def print_reviewed(found: Reviewed, engine: str, paper: Paper) -> None:
    """What was done with the logs, before the report."""
    states = found.states
    words = {"archived": "archived", "unchanged": "unchanged", "kept": "kept as archived from AWS", "failed": "failed"}
    said = ", ".join(f"{states[state]:,} {word}" for state, word in words.items() if states[state]) or "none"
    paper.print(
        f"Exported logs: {count(len(found.jobs), 'job')} in {count(found.objects, 'object')} ({found.size / 1e6:,.1f} MB), "
        f"by {engine}: {said}."
    )
    if found.undescribed:
        which = "1 job is" if found.undescribed == 1 else f"{found.undescribed:,} jobs are"
        paper.print(
            f"{which} known from logs alone: without a description, status, bill, queue and instances are not known "
            "(--descriptions)."
        )
    if found.others:
        what = count(len(found.others), "object is neither a log", "objects are neither logs")
        paper.print(f"{what} nor a description, such as {found.others[0]}.", style="dim")


def reviewed_document(found: Reviewed, engine: str) -> dict[str, Any]:
    """The same for machines."""
    return {
        "engine": engine,
        "objects": found.objects,
        "bytes": found.size,
        "events_read": found.events,
        "without_description": found.undescribed,
        "other_objects": len(found.others),
        "not_read": list(found.troubles),
        "jobs": [
            {
                "name": job.name,
                "state": job.state,
                "described": job.described,
                "why": job.error or job.why or None,
                "seconds": round(job.seconds, 3),
            }
            for job in found.jobs
        ],
    }


def _engine(arguments: argparse.Namespace) -> Engine:
    if arguments.engine == "spark":
        from monitor.review.spark_engine import Spark

        return Spark(arguments.workers)
    return Local(arguments.workers)


@contextmanager
def _work(arguments: argparse.Namespace) -> Iterator[str]:
    """What is sorted there is a cache of the logs, and as private as they are."""
    folder = None if arguments.no_cache else cache_folder()
    if arguments.work or folder:
        yield arguments.work or str((folder or Path()) / "exported")
        return
    with tempfile.TemporaryDirectory(prefix="trainwatch-") as made:
        yield made
