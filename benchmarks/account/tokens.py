"""Where does the next page begin? Page tokens of CloudWatch Logs: opaque text that holds a place and its age."""

from __future__ import annotations

import re
from typing import NamedTuple

from benchmarks.account.answer import invalid

_TOKEN = re.compile(r"(?P<way>[fbn])/(?P<number>\d{56})/s")


class Place(NamedTuple):
    """What a token holds."""

    event: int
    """Before which event a page begins (forward), or ends (backward): its number in the stream, from 0."""
    pages: int
    """How many pages were read to get there."""
    issued_ms: int


def written(way: str, place: Place) -> str:
    """A token; ``way`` is "f" (forward), "b" (backward) or "n" (next)."""
    return f"{way}/{place.issued_ms << 80 | place.pages << 40 | place.event:056d}/s"


def read(token: str, ways: str, now_ms: float, life_ms: float) -> tuple[str, Place]:
    """The way and the place of a token. Refuses what is no token, one of another way, and one that has expired."""
    found = _TOKEN.fullmatch(token)
    if found is None or found["way"] not in ways:
        raise invalid("The specified nextToken is invalid.")
    number = int(found["number"])
    place = Place(number & (1 << 40) - 1, number >> 40 & (1 << 40) - 1, number >> 80)
    if now_ms - place.issued_ms > life_ms:
        raise invalid("The specified nextToken has expired.")
    return found["way"], place
