"""``python -m monitor``, and the command ``trainwatch``."""

import atexit
import os
import sys
from contextlib import suppress


def run() -> int:
    """Runs the command that was typed and gives its exit code; also where a part of this program is missing."""
    try:
        try:
            from monitor.cli.main import main
        except Exception as error:
            from monitor.installed import incomplete

            print(f"trainwatch: {incomplete(error)}", file=sys.stderr)
            return 3
        return main()
    except KeyboardInterrupt:
        # Somebody was faster than the imports.
        return 130


def command() -> None:
    """The process: runs the command and ends with its exit code, whatever is still read in the background.

    A thread that the interpreter ends in the middle of a package's C++ code aborts the whole process (SIGABRT), so none of
    them is ended: what was registered to be done at the end is done, and then the process is left.
    """
    atexit.register(_leave, code := [3])
    code[0] = run()


def _leave(code: list[int]) -> None:
    # Registered first, and so called last.
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or None where there was none at the start
            stream.flush()
    os._exit(code[0])


if __name__ == "__main__":
    command()
