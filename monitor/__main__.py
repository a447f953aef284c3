"""``python -m monitor``, and the command ``trainwatch``."""

import sys


def run() -> int:
    """Runs the command that was typed and gives its exit code; also where a part of this program is missing."""
    try:
        try:
            from monitor.cli.main import main
        except Exception as error:
            said = f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace").decode()
            print(
                f"trainwatch: Trainwatch is not completely installed ({said}). Run make .venv, or install it again.",
                file=sys.stderr,
            )
            return 3
        return main()
    except KeyboardInterrupt:
        # Somebody was faster than the imports.
        return 130


if __name__ == "__main__":
    sys.exit(run())
