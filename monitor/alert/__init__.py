"""Thresholds: what was asked, whether a job crosses it, since when, and who is notified."""
