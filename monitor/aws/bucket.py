"""An archive in S3: objects below a prefix, each put in one request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from monitor.aws.calls import Pagination
from monitor.aws.clients import Clients
from monitor.aws.errors import CallContext, translating
from monitor.errors import BadCall, CannotDo, NoData, TrainwatchError, Unreachable

# By AWS's rules for the names of buckets; an access point's ARN or alias works as well.
_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]|arn:[^/]+/[^/]+)(?:/(?P<prefix>.*))?")
_ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
# The most that one call lists.
_PAGE = 1000
# Bodies come after the call that botocore tries again by itself.
_READS = 3


class BucketStore:
    """The Store in a bucket (``monitor.archive.store``). BadCall for an address that is none."""

    is_far = True

    def __init__(self, address: str, clients: Clients) -> None:
        match = _ADDRESS.fullmatch(address.rstrip("/"))
        if match is None:
            raise BadCall(f"{address} is not the address of a bucket.", "Write it as s3://bucket/prefix.")
        self.label = address.rstrip("/")
        self._bucket = match["bucket"]
        self._prefix = f"{match['prefix'].strip('/')}/" if (match["prefix"] or "").strip("/") else ""
        self.clients = clients

    def make_ready(self) -> None:
        """Whether the bucket is there; the right to write shows only with the first object."""
        self.holds("")

    def write(self, path: str, data: bytes) -> None:
        self._call("put_object", Key=self._key(path), Body=data)

    def read(self, path: str, most: int | None = None) -> bytes | None:
        """The object, or its first ``most`` bytes; None where there is none."""
        ranged = {} if most is None else {"Range": f"bytes=0-{most - 1}"}
        for left in reversed(range(_READS)):
            answer = self._found("get_object", Key=self._key(path), **ranged)
            if answer is None:
                return None
            try:
                with translating(CallContext(region=self.clients.region, service="s3")):
                    data: bytes = answer["Body"].read()
                    return data
            except Unreachable:
                if not left:
                    raise
        return None

    def holds(self, prefix: str) -> bool:
        return bool(self._call("list_objects_v2", Prefix=self._key(prefix), MaxKeys=1).get("Contents"))

    def listed(self, prefix: str) -> dict[str, str]:
        return {row["Key"].removeprefix(self._prefix): row.get("ETag", "") for row in self._rows(prefix)}

    def objects(self, prefix: str) -> dict[str, tuple[int, str]]:
        """Size and a stamp of all objects that begin so."""
        rows = self._rows(prefix)
        return {
            row["Key"].removeprefix(self._prefix): (int(row.get("Size") or 0), str(row.get("ETag", ""))) for row in rows
        }

    def remove(self, path: str) -> None:
        self._call("delete_object", Key=self._key(path))

    def sizes(self, prefix: str) -> tuple[dict[str, int], bool]:
        """Up to a thousand objects that begin so, with their sizes, by one call; and whether these are all."""
        answer = self._call("list_objects_v2", Prefix=self._key(prefix), MaxKeys=_PAGE)
        found = {row["Key"].removeprefix(self._prefix): int(row.get("Size") or 0) for row in answer.get("Contents", ())}
        return found, not answer.get("IsTruncated")

    def _rows(self, prefix: str) -> Iterator[dict[str, Any]]:
        more: dict[str, str] = {}
        pages = Pagination("s3:ListBucket")
        while True:
            answer = self._call("list_objects_v2", Prefix=self._key(prefix), MaxKeys=_PAGE, **more)
            rows = answer.get("Contents", ())
            yield from rows
            token = pages.after(answer.get("NextContinuationToken"), len(rows))
            if token is None:
                return
            more = {"ContinuationToken": token}

    def _found(self, method: str, **parameters: Any) -> dict[str, Any] | None:
        try:
            return self._call(method, **parameters)
        except TrainwatchError as error:
            if _code(error) in _ABSENT:
                return None
            raise

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        try:
            return self.clients.call("s3", method, Bucket=self._bucket, **parameters)
        except NoData as error:
            if _code(error) == "NoSuchBucket":
                raise CannotDo(
                    f"There is no bucket {self._bucket}.", "Create it first, or name another one."
                ) from error
            raise

    def _key(self, path: str) -> str:
        return f"{self._prefix}{path}"


def _code(error: TrainwatchError) -> str:
    cause = error.__cause__
    return str(cause.response.get("Error", {}).get("Code", "")) if isinstance(cause, ClientError) else ""
