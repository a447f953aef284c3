"""Where exported logs lie: a folder, or below a prefix of a bucket."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from monitor.errors import CannotDo, NoData
from monitor.settings import expanded

if TYPE_CHECKING:
    from monitor.aws.bucket import Bucket

_S3 = "s3://"
_BUFFER_BYTES = 1 << 16


class StoredObject(NamedTuple):
    """One object."""

    size: int
    """Bytes, as it is stored."""
    stamp: str
    """Another one if it was written anew."""


class Objects(Protocol):
    """Objects by their paths below a root."""

    @property
    def label(self) -> str:
        """The root as the user names it."""
        ...

    def listed(self) -> Mapping[str, StoredObject]:
        """All of them, by their paths in order. NoData where there is no such place."""
        ...

    def opened(self, path: str) -> AbstractContextManager[io.BufferedReader]:
        """One to be read. NoData where it is gone, CannotDo where it cannot be read."""
        ...


def objects_at(address: str, region: str | None = None, profile: str | None = None) -> Objects:
    """A folder, or ``s3://bucket/prefix``."""
    if address.startswith(_S3):
        # Imported late: a folder needs no AWS.
        from monitor.aws.bucket import Bucket
        from monitor.aws.clients import Clients

        return BucketObjects(Bucket(address, Clients(region, profile)))
    return FolderObjects(address)


class FolderObjects:
    """Those of a folder of this machine, at any depth; names that begin with a dot are passed over."""

    def __init__(self, folder: str) -> None:
        self.label = folder
        self._root = expanded(folder)

    def listed(self) -> dict[str, StoredObject]:
        if not self._root.is_dir():
            what = "is a file" if self._root.exists() else "is not there"
            raise NoData(f"The folder {self.label} {what}.", "Name the folder that holds the exported logs.")
        found = {}
        for where, folders, names in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if not name.startswith("."):
                    path = Path(where, name)
                    seen = path.stat()
                    found[path.relative_to(self._root).as_posix()] = StoredObject(
                        seen.st_size, f"{seen.st_mtime_ns} {seen.st_size}"
                    )
        return found

    def opened(self, path: str) -> AbstractContextManager[io.BufferedReader]:
        try:
            return io.BufferedReader(io.FileIO(self._root / path), _BUFFER_BYTES)
        except FileNotFoundError:
            raise NoData(f"{self.label}/{path} is gone.", "Start again.") from None
        except OSError as error:
            raise CannotDo(f"{self.label}/{path} cannot be read: {error.strerror}.", "Check its rights.") from error


class BucketObjects:
    """Those of a bucket. One is in memory at a time, as it is stored."""

    def __init__(self, bucket: Bucket) -> None:
        self.label = bucket.label
        self._bucket = bucket

    def listed(self) -> dict[str, StoredObject]:
        return {path: StoredObject(size, stamp) for path, (size, stamp) in sorted(self._bucket.objects("").items())}

    def opened(self, path: str) -> AbstractContextManager[io.BufferedReader]:
        data = self._bucket.read(path)
        if data is None:
            raise NoData(f"{self.label}/{path} is gone.", "Start again.")
        return io.BufferedReader(io.BytesIO(data), _BUFFER_BYTES)
