"""An address of a log is the view: written out and read again it is the same; what makes no sense is passed over."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from monitor.show.logs.address import View, link, of_parameters

AT = datetime(2026, 9, 25, 14, 5, 3, 120_000, tzinfo=UTC)
VIEWS = (
    View("a"),
    View("a", "NET/Socket & co", ("error", "none"), "algo-12", "0, 8-15", at=AT, quote="nccl-timeout.2"),
    View("a", start=AT),
    View("a", end=AT, event=(1_790_345_103_120, 0xDEADBEEF)),
    View("a", start=AT, end=AT),
)


@pytest.mark.parametrize("view", VIEWS)
def test_an_address_restores_its_view(view: View) -> None:
    assert of_parameters(view.parameters()) == view


def test_a_line_alone_says_when_it_was() -> None:
    assert of_parameters({"job": "a", "event": "1790345103120-deadbeef"}).at == AT


@pytest.mark.parametrize(
    "nonsense",
    [{"at": "soon"}, {"at": "99991231T000000"}, {"event": "1-2"}, {"level": "loud"}, {"node": "<b>"}, {"from": "job"}],
    ids=str,
)
def test_nonsense_is_passed_over(nonsense: dict[str, str]) -> None:
    assert of_parameters({"job": "a", **nonsense}) == View("a")


def test_a_link_has_the_moment_to_the_millisecond() -> None:
    assert link("a", AT, "stall.0") == {"job": "a", "at": "20260925T140503.120", "quote": "stall.0"}
