"""Step counters that are told in whole thousands: "step:800", "step:1K", "step:1K", "step:1K", "step:2K"."""

from __future__ import annotations

import numpy as np

from monitor.parse.columns import Floats
from monitor.parse.table import At, Readings

_THOUSAND, _MILLION = 1e3, 1e6
# Of fewer reports that tell the same thousand nothing is known.
_FEWEST_TWICE = 3
# A trainer reports every so many steps.
_INTERVALS = (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 80, 100, 200, 250, 400, 500)


def in_full(table: Readings, at: At) -> None:
    """The steps of reports that come every so many steps, where the trainer rounds them to thousands, and from a million on
    to millions, so that several tell the same one. A run in which no interval, or more than one, fits stays as it is told.
    """
    steps = table.step[at]
    if np.isnan(steps).any() or not _are_rounded(steps):
        return
    for run in np.split(np.arange(len(at)), np.flatnonzero(np.diff(steps) < 0) + 1):
        if (full := _spaced(steps[run])) is not None:
            table.step[at[run]] = full


def _told(steps: Floats) -> Floats:
    """What is told of steps: in full below a thousand, then thousands, from a million on millions; a half goes to the even
    one, as Python's formats have it.
    """
    units = np.where(steps >= _MILLION, _MILLION, np.where(steps >= _THOUSAND, _THOUSAND, 1.0))
    told: Floats = np.round(steps / units) * units
    return told


def _are_rounded(steps: Floats) -> bool:
    """Thousands are told again and again, and beyond them nothing else."""
    again = (np.diff(steps) == 0) & (steps[1:] >= _THOUSAND)
    return int(again.sum()) >= _FEWEST_TWICE and bool((_told(steps) == steps).all())


def _spaced(steps: Floats) -> Floats | None:
    """The one evenly spaced series of whole numbers of which these are told."""
    places, half = np.arange(len(steps)), np.where(steps >= _MILLION, _MILLION, _THOUSAND) / 2
    found: Floats | None = None
    for every in _INTERVALS:
        # Of what is told the first may lie half a unit to either side; it is some intervals from the start.
        begins = steps - every * places
        least, most = (begins - half).max(), (begins + half).min()
        for first in every * np.arange(np.ceil(least / every), np.floor(most / every) + 1):
            full = first + every * places
            if (_told(full) == steps).all():
                if found is not None:
                    return None
                found = full
    return found
