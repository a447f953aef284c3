"""What the bar of phases promises: it is as long as the job, in order, and each kind of time has its color."""

from __future__ import annotations

import pytest

from monitor.charts import elements, timeline
from monitor.charts.colors import TIME_KINDS
from monitor.model import Bucket

BUCKETS = (
    Bucket("starting", 120.0, 480.0),
    Bucket("productive", 3600.0, 14_400.0, 131.08),
    Bucket("stall", 600.0, 2400.0, 21.85),
    Bucket("checkpoint", 0.0, 0.0),
    Bucket("of-another-version", 60.0, 240.0),
)


def test_segments_follow_each_other_and_sum_to_the_whole() -> None:
    frame = timeline.segments(BUCKETS)
    assert frame["name"].tolist() == ["starting", "productive", "stall", "of-another-version"]
    assert frame["minutes"].sum() == pytest.approx(73.0)
    assert frame["start"].tolist()[1:] == pytest.approx(frame["end"].tolist()[:-1])
    assert frame["share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("hours", "unit", "length"), [(3, "minutes", 180), (3.1, "hours", 3.1), (240, "days", 10)])
def test_a_bar_of_days_is_drawn_in_days(hours: float, unit: str, length: float) -> None:
    frame = timeline.segments([Bucket("productive", 3600.0 * hours, 3600.0 * hours)])
    assert (frame["unit"].iloc[0], frame["end"].iloc[-1]) == (unit, pytest.approx(length))


def test_each_name_has_a_kind_and_a_new_one_is_not_known() -> None:
    assert timeline.segments(BUCKETS)["kind"].tolist() == ["start and finish", "training", "lost", "not known"]


def test_only_segments_with_room_carry_their_name_and_their_share_of_the_bill() -> None:
    assert timeline.segments(BUCKETS)["label"].tolist() == ["", "training · 1 h · $131.08", "stalled", ""]


def test_where_no_price_is_known_no_dollars_are_told() -> None:
    assert timeline.segments([Bucket("productive", 600.0, 600.0)])["label"].tolist() == ["training · 10 min"]


@pytest.mark.parametrize("buckets", [BUCKETS, ()])
def test_the_colours_are_the_same_whatever_happened(buckets: tuple[Bucket, ...]) -> None:
    specification, _ = elements.split(timeline.phase_bar(buckets))
    scale = specification["layer"][0]["encoding"]["color"]["scale"]
    assert (scale["domain"], scale["range"]) == (list(TIME_KINDS), list(TIME_KINDS.values()))
