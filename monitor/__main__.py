"""``python -m monitor``."""

import sys

if __name__ == "__main__":
    try:
        try:
            from monitor.cli.main import main
        except Exception as error:
            said = f"{type(error).__name__}: {error}".encode("ascii", "backslashreplace").decode()
            print(f"trainwatch: Trainwatch is not completely installed ({said}). Run make .venv.", file=sys.stderr)
            sys.exit(3)
        sys.exit(main())
    except KeyboardInterrupt:
        # Somebody was faster than the imports.
        sys.exit(130)
