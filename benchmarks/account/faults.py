"""What goes wrong, and with which call? Shares of calls that fail in some way, and things that are not there."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any


class Fate(Enum):
    """What becomes of one call."""

    ANSWERED = "answered"
    THROTTLED = "throttled"
    ERROR_500 = "error 500"
    ERROR_503 = "error 503"
    RESET = "connection reset"
    TRUNCATED = "body cut in half"
    SLOW = "answered slowly"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Shares are 0 to 1 of the calls and exclude each other, so their sum is at most 1."""

    throttled: float = 0.0
    error_500: float = 0.0
    error_503: float = 0.0
    reset: float = 0.0
    truncated: float = 0.0
    slow: float = 0.0
    slow_ms: float = 2000.0
    """How much later a slow answer comes."""
    operations: tuple[str, ...] = ()
    """The operations that the shares are of, such as "GetLogEvents"; empty: all."""
    expired_after: int | None = None
    """The credentials expire after this many calls, counted from the last reset."""
    denied: tuple[str, ...] = ()
    """Operations that the policy does not allow."""
    no_group: bool = False
    """The log group is not there yet."""
    deleted: tuple[tuple[str, int], ...] = ()
    """Names of streams, and after how many GetLogEvents calls on them they are gone."""

    def fate(self, operation: str, nth: int, seed: int) -> Fate:
        """What becomes of the ``nth`` call of an operation: the same for the same seed, whoever calls."""
        if self.operations and operation not in self.operations:
            return Fate.ANSWERED
        digest = hashlib.blake2b(f"{seed}/{operation}/{nth}".encode(), digest_size=4).digest()
        drawn = int.from_bytes(digest, "big") / 2**32
        for share, fate in (
            (self.throttled, Fate.THROTTLED),
            (self.error_500, Fate.ERROR_500),
            (self.error_503, Fate.ERROR_503),
            (self.reset, Fate.RESET),
            (self.truncated, Fate.TRUNCATED),
            (self.slow, Fate.SLOW),
        ):
            if drawn < share:
                return fate
            drawn -= share
        return Fate.ANSWERED


def as_json(faults: Faults) -> dict[str, Any]:
    """The fields, for the way to the process of the stub."""
    return asdict(faults)


def from_json(fields: dict[str, Any]) -> Faults:
    """The faults of ``as_json`` after its way through JSON, where tuples became lists. TypeError for unknown fields."""
    faults = Faults(**fields)
    deleted = tuple((str(name), int(calls)) for name, calls in faults.deleted)
    return replace(faults, operations=tuple(faults.operations), denied=tuple(faults.denied), deleted=deleted)
