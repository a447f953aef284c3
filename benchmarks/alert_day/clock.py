"""How late is it in the simulated day? A clock that all processes share, and the machine's, which may be off.

Time passes as fast as the watches can follow: it waits for who is at work, so that a busy machine makes no other day.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from mmap import mmap
from pathlib import Path

from benchmarks.alert_day.plan import Day
from benchmarks.alert_day.scene import instant

# Whoever is at work has so many minutes of the day for it.
_PATIENCE = 1.5
_ASLEEP = float("inf")
_POLL_S = 0.002
_NUMBER = struct.Struct("d")


@dataclass(frozen=True)
class SimulatedClock:
    """Numbers in a file that all processes map: the minute of the day, and since when each watch is at work."""

    day: Day
    path: Path
    place: int = 0
    """Of whoever holds it: the number of a watch and 1, or 0 for who makes time pass."""

    @classmethod
    def new(cls, day: Day, path: Path, watches: int) -> SimulatedClock:
        """One that stands at the beginning of the day."""
        path.write_bytes(b"".join(_NUMBER.pack(0.0 if at == 0 else _ASLEEP) for at in range(watches + 1)))
        return cls(day, path)

    def minute(self) -> float:
        """The true time."""
        return float(_NUMBER.unpack_from(self._file, 0)[0])

    def now(self) -> datetime:
        """What the machine's clock says."""
        at = self.minute()
        return instant(at) + timedelta(seconds=self.day.offset_s(at))

    def seconds(self) -> float:
        """The same since 1970."""
        return self.now().timestamp()

    def sleep(self, seconds: float) -> None:
        """Sleeps, and then is at work."""
        until = self.minute() + seconds / 60
        self.leave(self.place)
        while self.minute() < until:
            time.sleep(_POLL_S)
        self.enter(self.place)

    def enter(self, place: int) -> None:
        """From now on somebody is at work, whom time waits for."""
        if place:
            _NUMBER.pack_into(self._file, place * _NUMBER.size, self.minute())

    def leave(self, place: int) -> None:
        """Nobody is at work there any more."""
        if place:
            _NUMBER.pack_into(self._file, place * _NUMBER.size, _ASLEEP)

    def advance(self, minutes: float) -> float:
        """Lets time pass, at most up to where those at work can follow; how much did."""
        at = self.minute()
        size = _NUMBER.size
        since = min(_NUMBER.unpack_from(self._file, place * size)[0] for place in range(1, len(self._file) // size))
        to = max(at, min(at + minutes, float(since) + _PATIENCE))
        _NUMBER.pack_into(self._file, 0, to)
        return to - at

    @cached_property
    def _file(self) -> mmap:
        with self.path.open("r+b") as file:
            return mmap(file.fileno(), 0)

    def __getstate__(self) -> dict[str, object]:
        # Another process maps the file by itself.
        return {name: value for name, value in self.__dict__.items() if name != "_file"}
