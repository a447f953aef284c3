"""Which jobs are to be compared? One value that an address holds and restores: ``/compare?jobs=A,B``, the baseline first.

``jobs=A&jobs=B`` means the same. What the inputs hold follows the address, and it follows them.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from monitor.show import address

#: More curves cannot be told apart.
MOST = 8
NAME = "jobs"
# An address is of anybody; no name is longer.
_LONGEST = 250
_MOST_NAMED = 50


def link(*names: str) -> dict[str, str]:
    """The address of a comparison, the baseline first."""
    return address.to(jobs=",".join(names))


def job_link(name: str) -> dict[str, str]:
    return address.to(job=name)


def names_in(values: Sequence[str]) -> tuple[str, ...]:
    """The names that an address or an input holds, in their order; the same one may be there twice."""
    found = [name.strip() for value in values for name in value.split(",")]
    return tuple(name for name in found if name and len(name) <= _LONGEST)[:_MOST_NAMED]


def current() -> tuple[str, ...]:
    """What this visitor asks for: what the address says, or what was left here on the way to another page."""
    several = st.query_params.get_all(NAME)
    if len(several) > 1:
        ask(names_in(several))
    return names_in([address.value(NAME) or ""])


def ask(names: Sequence[str]) -> None:
    """Other jobs from now on."""
    address.keep(NAME, ",".join(names))
