"""Which archive, and which job in it, does a user mean by ``archive:PATH``?

PATH is an archive's root where a job stands in it alone; else its last part is the job and the rest the root. A name
without a slash is a job in the user's own archive, unless it is the folder of an archive; any file of a job will do, too.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from monitor.archive.layout import RUNS
from monitor.archive.store import FolderStore, Store
from monitor.errors import BadCall, NoData
from monitor.settings import expanded

_S3 = "s3://"
# What a shell completes to.
_FILE = re.compile(r"(?P<root>.+)/\w+/region=[^/]*/month=[^/]*/job=(?P<job>[^/]+)(?:/.*)?")
# An ARN has a slash of its own.
_LAST = re.compile(r"(?P<root>.*?)/?(?P<job>arn:aws[^/]*:training-job/[^/]+|[^/]+)")


def store_of(address: str, region: str | None = None, profile: str | None = None) -> Store:
    """The place of that address, which need not hold anything yet."""
    if not address.strip():
        raise BadCall("No archive was named.", "Name a folder, or s3://bucket/prefix.")
    if address.startswith(_S3):
        # Imported late: a folder needs no AWS.
        from monitor.aws.bucket import Bucket
        from monitor.aws.clients import Clients

        return Bucket(address, Clients(region, profile))
    if "://" in address:
        raise BadCall(f"Archives cannot be at {address}.", "Name a folder, or s3://bucket/prefix.")
    return FolderStore(address)


def opened(path: str, own_root: str, region: str | None = None, profile: str | None = None) -> tuple[Store, str | None]:
    """(archive, job in it or None) of a PATH; NoData where no archive stands there. ``own_root`` is the user's own."""
    store = store_of(path, region, profile)
    if store.holds(RUNS):
        return store, None
    if match := _FILE.fullmatch(path):
        return store_of(match["root"], region, profile), unquote(match["job"])
    match = _LAST.fullmatch(path.rstrip("/"))
    if match is None:
        raise no_archive(path)
    root = match["root"] or ("/" if path.startswith("/") else own_root)
    if not root or (path.startswith(_S3) and not root.startswith(_S3)):
        raise no_archive(path)
    within = store_of(root, region, profile)
    if within.holds(RUNS):
        return within, match["job"]
    raise no_archive(path, "" if match["root"] else own_root)


def no_archive(path: str, nor_at: str = "") -> NoData:
    """What is said of a PATH where there is no archive."""
    return NoData(
        f"There is no archive at {path}{f', nor one of your own at {nor_at}' if nor_at else ''}.",
        "Name the folder or s3:// address that `archive --to` wrote to, and the job: archive:FOLDER/JOB.",
    )


def no_jobs(address: str) -> NoData:
    """What is said of the address of an archive that holds no job at all: where it is a folder, whether that is there."""
    remedy = "Name the folder or s3:// address that `archive --to` or `nightly --archive` wrote to"
    if address.startswith(_S3) or expanded(address).exists():
        return NoData(f"There are no archived jobs in {address}.", f"{remedy}, or archive some jobs there first.")
    return NoData(f"The folder {address} is not there.", f"{remedy}.")
