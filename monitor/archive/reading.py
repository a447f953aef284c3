"""Which jobs does an archive contain, and what was read of one of them?"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from monitor.archive import manifest as manifests
from monitor.archive.columns import FRAMES
from monitor.archive.layout import RUNS, Place, job_in, value_of
from monitor.archive.manifest import Manifest, NewerSchema
from monitor.archive.parquet import to_frame
from monitor.archive.store import Store
from monitor.errors import BadCall, NoData, NoSuchJob
from monitor.model import Run, events_frame, in_order_of_time, metrics_frame, steps_frame

_MADE: dict[str, Callable[[Any], pd.DataFrame]] = {
    "steps": steps_frame,
    "metrics": metrics_frame,
    "events": events_frame,
}
_JOB_ARN = re.compile(r"arn:[^/]*:training-job/(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Archived:
    """One job as it was archived."""

    run: Run
    manifest: Manifest


class Archive:
    """The jobs in one store. Reads what it is asked for, and remembers nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, name: str) -> Manifest:
        """The job of that name or ARN. NoSuchJob names the nearest; BadCall where several have the name."""
        arn = _JOB_ARN.fullmatch(name)
        known = list(self.store.listed(RUNS))
        paths = [path for path in known if f"/job={value_of(arn['name'] if arn else name)}/" in path]
        found = [manifest for path in paths if (manifest := self._manifest(path)) is not None]
        if arn:
            found = [manifest for manifest in found if manifest.job.arn == name]
        if not found:
            raise self._no_such_job(name, known)
        if len(found) > 1:
            listed = ", ".join(sorted(manifest.job.arn or "one from log files" for manifest in found))
            raise BadCall(
                f"The archive {self.store.label} contains {len(found)} jobs named {name}: {listed}.",
                f"Name one by its ARN: --archive {self.store.label} ARN.",
            )
        return found[0]

    def at(self, place: Place) -> Manifest | None:
        """The job in a place, None where none was archived as a whole. NoData where a later version wrote it."""
        try:
            return self._manifest(place.run)
        except NewerSchema:
            raise
        except NoData:
            return None

    def load(self, manifest: Manifest) -> Archived:
        """A job with its frames. NoData where these are not the ones that were archived with it."""
        frames: dict[str, pd.DataFrame] = {}
        for name in FRAMES:
            part = manifest.parts.get(name)
            data = self.store.read(part.path) if part else None
            if part is None or data is None or not part.is_in(data):
                # What an interrupted writer leaves of a job that was archived before, too.
                raise NoData(
                    f"The archive of {manifest.job.name} in {self.store.label} is incomplete: its {name} are "
                    f"{'missing' if data is None else 'not the ones that belong to it'}.",
                    "Archive the job again.",
                )
            frames[name] = to_frame(data)
        if frames["steps"]["line"].isna().any() or frames["events"]["line"].isna().any():
            # Archives were written so where the head of a stream could not be read.
            frames["steps"], frames["events"] = in_order_of_time(frames["steps"], frames["events"])
        run = Run(
            job=manifest.job,
            gaps=manifest.gaps,
            metrics_period_s=manifest.metrics_period_s,
            logs=manifest.logs,
            **{name: made(frames[name]) for name, made in _MADE.items()},
        )
        return Archived(run, manifest)

    def is_whole(self, manifest: Manifest) -> bool:
        """Whether all parts stand in their places, by their sizes."""
        sizes = {name: self.store.size(part.path) for name, part in manifest.parts.items()}
        return None not in sizes.values() and all(sizes[name] == manifest.parts[name].size_bytes for name in FRAMES)

    def only(self) -> str:
        """The name of the one job there is. NoData where there is none, BadCall where there are several."""
        names = sorted({job_in(path) for path in self.store.listed(RUNS)})
        if not names:
            raise NoData(f"The archive {self.store.label} contains no jobs.", "Archive one first: archive JOB.")
        if len(names) > 1:
            some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
            raise BadCall(
                f"The archive {self.store.label} contains {len(names)} jobs ({some}).",
                f"Name one: archive:{self.store.label}/JOB.",
            )
        return names[0]

    def _manifest(self, path: str) -> Manifest | None:
        data = self.store.read(path)
        return None if data is None else manifests.from_bytes(data, f"{self.store.label}/{path}")

    def _no_such_job(self, name: str, paths: Iterable[str]) -> NoData | NoSuchJob:
        if any(f"/job={value_of(name)}/" in path for path in self.store.listed(f"{FRAMES[0]}/")):
            why = f"The archive of {name} in {self.store.label} was started but not completed."
            return NoData(why, "Archive the job again.")
        names = sorted({job_in(path) for path in paths})
        near = [other for other in names if name in other][:3] or difflib.get_close_matches(name, names, n=3)
        guess = f"Did you mean {' or '.join(near)}?" if near else "List its jobs:"
        where = "" if near else f" jobs --archive {self.store.label}"
        return NoSuchJob(f"There is no job '{name}' in the archive {self.store.label}.", f"{guess}{where}")
