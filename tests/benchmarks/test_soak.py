"""A short simulated day ends with every alert sent once; what is lost, or sent twice, is found out."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.alert_day.conduct import lived
from benchmarks.alert_day.plan import day
from benchmarks.alert_day.reckoning import reckoned
from benchmarks.soak import table, wrong

MINUTES = 215.0


def test_a_short_day_passes_and_one_message_less_would_not() -> None:
    # Killed where it is worst, but not at random moments: those are for the longer days of the benchmark.
    planned = replace(day(3, MINUTES, lanes=1), kill_every=1e9)
    passed = lived(planned, interval="12m")
    found = reckoned(planned, passed)
    assert wrong(found, passed) == []
    assert found.expected == found.arrived > 10
    assert len(table(planned, passed, found)) > 15
    name = passed.taken[0].message["id"]
    without = replace(passed, taken=[taken for taken in passed.taken if taken.message["id"] != name])
    assert any(sentence.startswith("lost: ") for sentence in wrong(reckoned(planned, without), without))


def test_a_sender_that_sends_twice_is_found_out() -> None:
    planned = day(3, MINUTES, lanes=1, planted="twice")
    passed = lived(planned, interval="15m")
    sentences = wrong(reckoned(planned, passed), passed)
    assert any(sentence.startswith("repeats that nothing explains: ") for sentence in sentences)
