"""Frames to frames and numbers, one question a file. Pure: ``now`` is an argument."""
