"""The dashboard as a process of its own, started and stopped from a terminal."""
