"""Which run came before this one? The newest earlier one of the same base."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.review.run_names import base_and_stamp


def previous(name: str, names: Iterable[str]) -> str | None:
    """The newest of ``names`` that has the same base as ``name`` and an earlier time; None where there is none."""
    own = base_and_stamp(name)
    if own is None:
        return None
    base, stamp = own
    earlier = [
        (other[1], each)
        for each in names
        if (other := base_and_stamp(each)) is not None
        and other[0] == base
        and len(other[1]) == len(stamp)
        and other[1] < stamp
    ]
    return max(earlier)[1] if earlier else None
