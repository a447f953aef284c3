"""A line by itself: its wrapping, its stamps, its level, and what all readers make of it."""
