"""``python -m monitor``."""

import sys

if __name__ == "__main__":
    try:
        from monitor.cli.main import main

        sys.exit(main())
    except KeyboardInterrupt:
        # Somebody was faster than the imports.
        sys.exit(130)
