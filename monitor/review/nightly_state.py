"""What does a night need to know of the nights before? A small file beside the log, which appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from monitor.alert.locks import taking_turns
from monitor.errors import CannotDo

_MARKS = ("judged_until", "reported_until")
#: The log is cut to its newer half beyond this.
MOST_LOG_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class State:
    """Of one archive."""

    archived_until: Mapping[str, datetime] = field(default_factory=dict)
    """Account and region, "" for the one that boto3 finds -> jobs created before that are archived, but for those that were
    running then; none before its first night."""
    judged_until: datetime | None = None
    """Jobs that ended before it are judged: apart from the above, as a night may be killed in between."""
    reported_until: date | None = None
    """Weeks that begin before it are reported."""


class NightlyFolder:
    """Where state, lock and log of one archive are."""

    def __init__(self, folder: Path, archive: str) -> None:
        self._name = hashlib.sha256(archive.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.folder = folder

    @property
    def log(self) -> Path:
        return self.folder / "nightly.log"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds the lock, which dies with its process. CannotDo where another night of this archive is at work."""
        with self._telling():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with taking_turns(self._path("lock"), "nightly", 0.0) as turn:
            if not turn.mine:
                raise CannotDo(f"Another nightly of this archive is at work: {turn.holder}.", "Let it finish.")
            yield

    def state(self) -> State:
        """As it was left; empty where nothing, or nothing sound, is there: all that follows can be done again."""
        try:
            told = json.loads(self._path("json").read_text(encoding="utf-8"))
            archived, judged, reported = (told[name] for name in ("archived_until", "judged_until", "reported_until"))
            return State(
                {where: datetime.fromisoformat(at) for where, at in archived.items()},
                None if judged is None else datetime.fromisoformat(judged),
                None if reported is None else date.fromisoformat(reported),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return State()

    def keep(self, state: State) -> None:
        """In one move."""
        told: dict[str, Any] = {name: (at := getattr(state, name)) and at.isoformat() for name in _MARKS}
        told["archived_until"] = {where: at.isoformat() for where, at in state.archived_until.items()}
        target = self._path("json")
        beside = target.with_suffix(f".{os.getpid()}.unfinished")
        with self._telling():
            beside.write_text(json.dumps(told), encoding="utf-8")
            beside.replace(target)

    def unfinished(self) -> str | None:
        """When the last night of this archive began, if its end is not in the log: it was killed."""
        last: Mapping[str, Any] | None = None
        try:
            with self.log.open(encoding="utf-8") as lines:
                for line in lines:
                    try:
                        told = json.loads(line)
                    except ValueError:
                        continue  # a line that a killed process could not finish
                    if isinstance(told, dict) and told.get("archive") == self._name:
                        last = told
        except OSError:
            return None
        return str(last["at"]) if last is not None and last.get("event") == "begun" else None

    def write(self, event: str, at: datetime, told: Mapping[str, Any]) -> None:
        """A line of the log, in one write."""
        line = json.dumps({"at": at.isoformat(), "event": event, "archive": self._name, "pid": os.getpid(), **told})
        with self._telling():
            self._make_room()
            handle = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # What a killed process left of a line must not take this one with it.
                os.write(handle, f"\n{line}\n".encode())
            finally:
                os.close(handle)

    def _make_room(self) -> None:
        if self.log.exists() and self.log.stat().st_size > MOST_LOG_BYTES:
            data = self.log.read_bytes()[-MOST_LOG_BYTES // 2 :]
            beside = self.log.with_suffix(".unfinished")
            beside.write_bytes(data.partition(b"\n")[2])
            beside.replace(self.log)

    def _path(self, kind: str) -> Path:
        return self.folder / f"nightly-{self._name}.{kind}"

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CannotDo(
                f"The state of nightly cannot be kept in {self.folder}: {error.strerror}.",
                "Check its rights and its space.",
            ) from None
