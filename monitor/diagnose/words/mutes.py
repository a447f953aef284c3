"""How is it said that a finding is muted?"""

from __future__ import annotations

from datetime import UTC, tzinfo

from monitor.model import Mute
from monitor.words import instant, sentence


def muted_words(mute: Mute, zone: tzinfo = UTC) -> str:
    """``Muted: a disk that we know, since 22 Nov 2026, 14:05 CET, for all runs of bert.``"""
    runs = f", for all runs of {mute.job}" if mute.all_runs else ""
    return sentence(f"Muted: {mute.reason.rstrip('.')}, since {instant(mute.since, zone)}{runs}")
