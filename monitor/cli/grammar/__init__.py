"""The whole grammar of the command line, what may be typed, and its help.

Nothing here imports what a command works with, so that help, a version and an error in a call are there at once.
"""

from __future__ import annotations

import argparse

from monitor import __version__
from monitor.cli.grammar import keeping, reviewing
from monitor.cli.grammar.options import Formatter
from monitor.installed import COMMAND, PROGRAM

# In the order of the help; each is carried out by the file of that name in ``monitor.cli``.
_COMMANDS = (
    reviewing.jobs,
    reviewing.top,
    reviewing.report,
    reviewing.steps,
    reviewing.compare,
    reviewing.alert,
    reviewing.thresholds,
    reviewing.alarms,
    reviewing.plan,
    keeping.archive,
    keeping.fleet,
    reviewing.nightly,
    keeping.dashboard,
    keeping.demo,
    keeping.mcp,
    keeping.completion,
)


def parser() -> argparse.ArgumentParser:
    """Of all commands; ``command`` is the name of the one that was typed."""
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        formatter_class=Formatter,
        description="Trainwatch: where the GPU hours of an Amazon SageMaker training job went, and which knob to turn.",
        epilog="A job is a training job's name, logs:PATH for log files, or archive:PATH for an archive. AWS is reached as "
        "by any boto3 program: --profile, --region and the AWS_* environment variables. Exit codes: 0 done, 1 a "
        f"threshold is crossed, 2 wrong usage, 3 it could not be done.\n\nexamples:\n  {PROGRAM} jobs --status "
        f"running\n  {PROGRAM} report my-training-job\n  {PROGRAM} dashboard\n  {PROGRAM} COMMAND --help",
    )
    top.add_argument("--version", action="version", version=f"{COMMAND} {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in _COMMANDS:
        command(commands)
    return top
