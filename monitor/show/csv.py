"""How does a viewer save the figures behind a chart or a table? A small button that makes a CSV file when clicked."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import streamlit as st

from monitor.export.tables import as_csv


def csv_button(make: Callable[[], pd.DataFrame], name: str, key: str, what: str = "The data behind this chart") -> None:
    """A button that gives ``make()`` as ``name.csv``; nothing is made, and nothing is drawn again, until it is clicked."""
    st.download_button(
        "CSV",
        lambda: csv_of(make()),
        file_name=file_name(name),
        mime="text/csv",
        key=key,
        help=f"{what}, as CSV",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )


def csv_of(frame: pd.DataFrame) -> bytes:
    return as_csv(frame).encode()


def file_name(name: str) -> str:
    """A name of a file that every system takes, with its ending."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:150] + ".csv"
