"""How this program got here: as a checkout, or as the package that brings the command ``trainwatch``."""

from __future__ import annotations

import sys
from pathlib import Path

COMMAND = "trainwatch"
_HERE = Path(__file__).resolve().parent
# A wheel holds app.py, its pages and its theme within the package: site-packages is no place for a file of that name.
_IN_PACKAGE = _HERE / "dashboard" / "app.py"
_IS_PACKAGE = _IN_PACKAGE.is_file()

#: What Streamlit runs.
APP = _IN_PACKAGE if _IS_PACKAGE else _HERE.parent / "app.py"


def program(called: str = sys.argv[0], is_package: bool = _IS_PACKAGE) -> str:
    """What a user types to call this program; ``called`` is how this process was."""
    return COMMAND if is_package or Path(called).stem == COMMAND else "python -m monitor"


def incomplete(error: Exception) -> str:
    """What is said where a part of this program cannot be imported; plain ASCII, whatever the error holds."""
    said = f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace").decode()
    return f"Trainwatch is not completely installed ({said}). Run make .venv, or install it again."


#: In this process.
PROGRAM = program()
