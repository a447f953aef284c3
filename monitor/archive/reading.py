"""Which jobs does an archive contain, and what was read of one of them?"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from monitor.archive import manifest as manifests
from monitor.archive.layout import FRAMES, LATER_FRAMES, RUNS, Place, job_in, place_of, to_frame, value_of
from monitor.archive.manifest import Manifest
from monitor.archive.store import Store
from monitor.errors import BadCall, NoData, NoSuchJob
from monitor.model import Gap, Run, events_frame, gpus_frame, hosts_frame, in_order_of_time, metrics_frame, steps_frame

_MADE: dict[str, Callable[[Any], pd.DataFrame]] = {
    "steps": steps_frame,
    "metrics": metrics_frame,
    "events": events_frame,
    "gpus": gpus_frame,
    "hosts": hosts_frame,
}
_AGAIN = "Archive the job again."
# A job that is replaced while it is read is read again, so often.
_LOOKS = 3
_JOB_ARN = re.compile(r"arn:[^/]*:training-job/(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Archived:
    """One job as it was archived."""

    run: Run
    manifest: Manifest
    broken: tuple[str, ...] = ()
    """The files beside the frames that are missing or not those that were written: engines read these."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What is to be said of them."""
        if not self.broken:
            return ()
        are, them = ("files are", "them") if self.broken[1:] else ("file is", "it")
        why = f"The archive's {' and '.join(self.broken)} {are} missing or damaged; this report does not need {them}."
        return (Gap("archive", why, _AGAIN),)


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
        """The job in a place, None where none is there. NoData where it is damaged, or a later version wrote it."""
        return self._manifest(place.run)

    def row_at(self, place: Place) -> Mapping[str, Any]:
        """The row of a job as engines read it, for what is left when the rest is damaged; empty where it is, too."""
        data = self.store.read(place.table("jobs"))
        try:
            (row,) = [] if data is None else to_frame(data).to_dict("records")
        except Exception:  # Arrow has many errors of its own for what is no Parquet
            return {}
        return {str(name): None if pd.isna(value) else value for name, value in row.items()}

    def load(self, manifest: Manifest) -> Archived:
        """A job with its frames. NoData where these are not the ones that were archived with it."""
        for _ in range(_LOOKS):
            data = {name: self.store.read(part.path) for name, part in manifest.parts.items()}
            broken = tuple(name for name, part in manifest.parts.items() if not part.is_in(data[name]))
            newer = self.at(place_of(manifest.job)) if broken else None
            if newer is None or newer == manifest:
                break
            manifest = newer  # it was replaced meanwhile
        for name in FRAMES:
            if name in broken or (name not in data and name not in LATER_FRAMES):
                # What an interrupted writer leaves of a job that was archived before, too.
                raise NoData(
                    f"The archive of {manifest.job.name} in {self.store.label} is incomplete: its {name} are "
                    f"{'missing' if data.get(name) is None else 'not the ones that belong to it'}.",
                    _AGAIN,
                )
        frames = {name: to_frame(part) for name, part in data.items() if name in FRAMES and part is not None}
        if frames["steps"]["line"].isna().any() or frames["events"]["line"].isna().any():
            # Archives were written so where the head of a stream could not be read.
            frames["steps"], frames["events"] = in_order_of_time(frames["steps"], frames["events"])
        run = Run(
            job=manifest.job,
            gaps=manifest.gaps,
            metrics_period_s=manifest.metrics_period_s,
            logs=manifest.logs,
            profiler=manifest.profiler,
            **{name: made(frames.get(name, ())) for name, made in _MADE.items()},
        )
        return Archived(run, manifest, broken)

    def broken(self, manifest: Manifest) -> tuple[str, ...]:
        """The parts that are missing or not those that were written, by their checksums: every file is read."""
        return tuple(name for name, part in manifest.parts.items() if not part.is_in(self.store.read(part.path)))

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
            return NoData(why, _AGAIN)
        names = sorted({job_in(path) for path in paths})
        near = [other for other in names if name in other][:3] or difflib.get_close_matches(name, names, n=3)
        guess = f"Did you mean {' or '.join(near)}?" if near else "List its jobs:"
        where = "" if near else f" jobs --archive {self.store.label}"
        return NoSuchJob(f"There is no job '{name}' in the archive {self.store.label}.", f"{guess}{where}")
