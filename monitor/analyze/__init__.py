"""Frames to frames and numbers, one question per file. Pure: ``now`` is an argument."""
