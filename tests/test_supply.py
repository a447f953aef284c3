"""What comes from others: versions that are tested are locked with their hashes, and within what the project asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


def asked_in(name: str) -> list[Requirement]:
    """What a file of requirements asks for by itself."""
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def pins_in(name: str) -> dict[str, Version]:
    """Package -> its version, in a file of constraints."""
    lines = (ROOT / name).read_text().splitlines()
    found = [re.match(r"([\w.-]+)(?:\[[\w,]+\])?==([^\s;]+)", line) for line in lines]
    return {canonicalize_name(each[1]): Version(each[2]) for each in found if each}


ASKED = [
    each for name in ("requirements.txt", "requirements-mcp.txt", "requirements-dev.txt") for each in asked_in(name)
]
PINS, LOWEST = pins_in("constraints.txt"), pins_in("constraints-lowest.txt")
# The first versions without a hole that is known and that this program could meet.
WHOLE_FROM = {"requests": "2.32.4", "jinja2": "3.1.6"}


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_what_is_locked_is_what_is_asked_for(asked: Requirement) -> None:
    assert PINS[canonicalize_name(asked.name)] in asked.specifier


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-run.txt"])
def test_every_locked_package_has_hashes(name: str) -> None:
    locked = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in locked if line and not line.startswith("#")]
    assert len(pinned) >= len(pins_in(name)) > len(asked_in("requirements.txt"))
    assert [line[:60] for line in pinned if not re.search(r"--hash=sha256:[0-9a-f]{64}", line)] == []


@pytest.mark.parametrize("name", WHOLE_FROM)
def test_no_version_with_a_known_hole_is_asked_for(name: str) -> None:
    (asked,) = (each for each in ASKED if canonicalize_name(each.name) == name)
    least = min(Version(each.version) for each in asked.specifier if each.operator == ">=")
    assert least >= Version(WHOLE_FROM[name])


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_lowest_set_has_the_lowest_version_that_is_allowed(asked: Requirement) -> None:
    least = max(Version(each.version) for each in asked.specifier if each.operator in {">=", "=="})
    found = LOWEST[canonicalize_name(asked.name)]
    # Not every number was released: 1.2.1 may be the first of 1.2.
    assert found >= least
    assert (*found.release, 0)[:2] == (*least.release, 0)[:2]
