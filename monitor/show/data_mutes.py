"""Which findings are muted right now? A part of ``data``: it caches, and raises nothing."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from monitor.errors import CannotDo, TrainwatchError
from monitor.model import Mute
from monitor.review.muted import muted_file
from monitor.review.muted import mutes as known_mutes


def mutes() -> tuple[tuple[Mute, ...], TrainwatchError | None]:
    """The findings that were muted, and why they are not known where their file cannot be used."""
    try:
        path = muted_file()
        stamp = path.stat()
    except (OSError, CannotDo):  # none was muted, or there is no place for it
        return (), None
    return _mutes(str(path), stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)


@st.cache_data(max_entries=4, show_spinner=False)
def _mutes(path: str, *stamp: int) -> tuple[tuple[Mute, ...], TrainwatchError | None]:
    try:
        return known_mutes(Path(path)), None
    except TrainwatchError as error:
        return (), error
