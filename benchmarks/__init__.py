"""What is fast, measured against what users would pick instead. Each module has ``rows() -> list`` and a title."""
