"""The pairs of jobs before and after a change, kept for good: what predictions were worth on the user's own jobs.

One file, ``$XDG_DATA_HOME/trainwatch/pairs.jsonl`` (``~/.local/share`` otherwise, readable by the user alone), a JSON object
a line. It only grows: a pair that is compared again gets a new line, and of several the newest counts. Each line is
appended in one write, so that any number of processes may do so; a line that cannot be read is left out.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.archive.reading import plain, valued
from monitor.model import Pair
from monitor.settings import user_folder

_FORMAT = 1
_NAME = "pairs.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """How predictions did on the pairs that were kept."""

    pairs: int
    """Of which the measurement says whether the prediction held."""
    held: int
    too_wide: int = 0
    """Further ones whose prediction fits whatever is measured."""


class Pairs:
    """The pairs in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> tuple[Pair, ...]:
        """One for each two jobs, the newest, oldest first. Empty where there is no file, or it cannot be read."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except OSError:
            return ()
        newest: dict[tuple[str, str], Pair] = {}
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                pair = _pair(line)
                held = newest.pop(key(pair), pair)
                newest[key(pair)] = max(held, pair, key=lambda each: each.compared_at)
        return tuple(sorted(newest.values(), key=lambda each: each.compared_at))

    def keep(self, pair: Pair) -> bool:
        """Appends the pair, unless the same is there already; whether it is in the file now."""
        if any(
            key(known) == key(pair) and replace(known, compared_at=pair.compared_at) == pair for known in self.all()
        ):
            return True
        line = json.dumps({"format": _FORMAT, **plain(pair)}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # A line that another process could not finish must not take this one with it.
                size = os.fstat(file).st_size
                cut = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                return os.write(file, b"\n" + line if cut else line) >= len(line)
            finally:
                os.close(file)
        except OSError:
            return False


def key(pair: Pair) -> tuple[str, str]:
    """Which two jobs are meant: a name may be used again."""
    return _job_key(pair.before.arn, pair.before.name, pair.before.created), _job_key(
        pair.after.arn, pair.after.name, pair.after.created
    )


def record(pairs: Iterable[Pair], without: Sequence[Pair] = ()) -> Record:
    """What came of the predictions of these pairs; ``without`` those that are only being made."""
    left_out = {key(pair) for pair in without}
    came = Counter(pair.came for pair in pairs if key(pair) not in left_out)
    return Record(came["held"] + came["missed"], came["held"], came["too wide to test"])


def record_line(earlier: Record | None) -> str:
    """How earlier predictions did on the user's own pairs; empty where there are none."""
    if earlier is None or not (earlier.pairs or earlier.too_wide):
        return ""
    held = f"{earlier.held} of {earlier.pairs} held" if earlier.pairs else ""
    wide = f"{earlier.too_wide}{' more' if earlier.pairs else ''} too wide to test" if earlier.too_wide else ""
    return f"Earlier predictions on your own jobs: {'; '.join(filter(None, (held, wide)))}."


def user_pairs(environ: Mapping[str, str] | None = None) -> Pairs | None:
    """The user's file; None where there is no home to keep it in."""
    folder = user_folder("DATA", environ)
    return None if folder is None else Pairs(folder / _NAME)


def _job_key(arn: str, name: str, created: object) -> str:
    return f"{arn or name} {created}"


def _pair(line: bytes) -> Pair:
    data = json.loads(line)
    if data["format"] != _FORMAT:
        raise ValueError(f"format {data['format']}")
    pair: Pair = valued(Pair, data)
    numbers = (*pair.predicted, *pair.measured)
    if len(numbers) != 6 or not all(isinstance(each, int | float) for each in numbers):
        raise ValueError("no ranges")
    if pair.compared_at.tzinfo is None:
        raise ValueError("no time zone")
    return pair
