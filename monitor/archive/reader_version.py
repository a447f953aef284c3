"""Which version of the reader made a Run? A digest of its sources, so that nobody has to remember to raise a number."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
# All that decides what a Run holds; rules, figures and prices are worked out anew from it.
_PARTS = (
    "parse",
    "fetch",
    "model",
    "masking",
    "archive",
    "analyze/utilization.py",
    "review/reviewer.py",
    "review/masked.py",
)
# What is said of a Run.
_RULES = ("analyze", "diagnose", "predict", "words.py")
_KINDS = {".py", ".csv"}


@cache
def reader_version(package: Path = _PACKAGE) -> str:
    """Sixteen hexadecimal digits, the same for the same sources; "" where the sources are not there to be read."""
    return _version(package, _PARTS)


@cache
def rules_version(package: Path = _PACKAGE) -> str:
    """The same of the rules, and of the words in which they speak."""
    return _version(package, _RULES)


def _version(package: Path, parts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    found = [path for part in parts for path in _files(package / part)]
    try:
        for path in found:
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return ""
    return digest.hexdigest()[:16] if found else ""


def _files(part: Path) -> list[Path]:
    if part.is_file():
        return [part]
    return sorted(path for path in part.rglob("*") if path.suffix in _KINDS)
