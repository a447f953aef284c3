"""Which command was typed, and what becomes of its errors: one sentence on standard error and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from monitor.cli import alarms, alert, archive, compare, dashboard, demo, jobs, plan, report, steps, thresholds
from monitor.cli.help import PROGRAM, formatter
from monitor.errors import TrainwatchError

_COMMANDS = (jobs, report, steps, compare, alert, thresholds, alarms, plan, archive, dashboard, demo)
EXIT_INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """The whole grammar of the command line."""
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        formatter_class=formatter(),
        description="Trainwatch: where the GPU hours of an Amazon SageMaker training job went, and which knob to turn.",
        epilog="A job is a training job's name, logs:PATH for log files, or archive:PATH for an archive. AWS is reached as "
        "by any boto3 program: --profile, --region and the AWS_* environment variables. Exit codes: 0 done, 1 a "
        f"threshold is crossed, 2 wrong usage, 3 it could not be done.\n\nexamples:\n  {PROGRAM} jobs --status "
        f"running\n  {PROGRAM} report my-training-job\n  {PROGRAM} dashboard\n  {PROGRAM} COMMAND --help",
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_to(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code."""
    arguments = parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except TrainwatchError as error:
        print(f"trainwatch: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has had enough; Python would complain once more while it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # Imported late: what it needs is large, and hardly ever needed.
        from monitor.faults import fault

        told = fault(error, f"The command {arguments.run.__module__.rpartition('.')[2]}")
        print(f"trainwatch: {told}", file=sys.stderr)
        return told.exit_code
