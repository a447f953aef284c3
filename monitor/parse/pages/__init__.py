"""Whole pages of lines, read by the shapes of their lines."""
