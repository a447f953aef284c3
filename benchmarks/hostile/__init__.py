"""What a stranger may send: mutated logs and lines of extremes, for ``python -m benchmarks attack`` and ``tests/attack``."""
