"""What a start of the program imports: help and errors of a call nothing large, a command nothing that only others need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.commands import LOGS, SMP

# All in one process, the light calls first: it ends with an error that names what should not be there.
_STARTS = """
import sys
from importlib import import_module
from monitor.cli.grammar import parser
from monitor.cli.main import main

def lacks(when, *packages):
    found = sorted({*packages} & {*sys.modules})
    assert not found, f"after {when}: {found}"

large = "streamlit", "altair", "duckdb", "scipy.stats", "textual", "jinja2", "moto"
(commands,) = (action.choices for action in parser()._actions if action.choices)
for argv, code in (["--version"], 0), (["--help"], 0), (["reprot", "x"], 2), *(([name, "--help"], 0) for name in commands):
    assert main(argv) == code
    lacks(argv, *large, "pandas", "numpy", "pyarrow", "boto3", "botocore", "requests", "rich", "shtab")
assert main(["steps", sys.argv[1]]) == 0
lacks("steps", *large, "boto3", "botocore", "requests", "shtab")
for name in commands:
    import_module(f"monitor.cli.{name}")
lacks("all commands", *large, "boto3", "requests")
"""


def test_a_start_imports_what_its_command_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STARTS, LOGS], cwd=Path(SMP).parents[3], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
