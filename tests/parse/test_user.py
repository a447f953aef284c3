"""The user's own pattern: read, refused with a sentence, and suggested from lines that nobody knows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.errors import BadCall
from monitor.model import LogPage
from monitor.parse.pages.shapes import Shapes, suggested_pattern
from monitor.parse.user import step_pattern
from tests.parse.read import parse


def test_named_groups_give_steps() -> None:
    extra = step_pattern(r"it (?P<step>\d+) took (?P<time_ms>[\d.]+)ms loss (?P<loss>[\d.]+)")
    steps = parse(["it 7 took 250ms loss 1.5", "nothing", "it 8 took 240ms loss 1.4"], extra=(extra,)).steps
    assert list(steps["step"]) == [7, 8]
    assert list(steps["step_time_s"]) == [0.25, 0.24]
    assert set(steps["format"]) == {"user"}


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(?P<step>\d+", "refused"),
        (r"(?<=a)(?P<step>\d)", "refused"),
        (r"(\d+)", "no named group"),
        (r"(?P<x>\d)", "no named"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_in_words(pattern: str, reason: str) -> None:
    with pytest.raises(BadCall, match=reason):
        step_pattern(pattern)


def test_no_pattern_hangs() -> None:
    extra = step_pattern(r"(?P<step>(a+)+)$")
    assert parse(["a" * 50_000 + "b"], extra=(extra,)).steps.empty


@pytest.mark.parametrize(
    ("line", "step", "seconds"),
    [
        ("epoch 3 step 120 finished, took 2.5 s", 120, 2.5),
        ("level=info step=12 loss=5.3 step_time_ms=84.00 tok_per_s=9904.3", 12, 0.084),
        ("[rank0] step 5/60 loss=2.3 dt=143.3ms", 5, 0.1433),
        ("batch 17 done in 0.61 seconds", 17, 0.61),
        ("12 > rows 4096 > spent 2.5 secs", 12, 2.5),
        ("epoch 2 local_step 20 global_step 120 seconds=0.25 rows=12", 120, 0.25),
        ("data_time: 0.1, time: 0.25, global_step: 7, eta: 33 s", 7, 0.25),
        ("update_no       7 | 4.0 it/s | reward -3.5", 7, 0.25),
        ('{"iterations": 7, "latency_ms": 250.0}', 7, 0.25),
    ],
)
def test_the_suggested_pattern_reads_the_line_it_was_made_from(line: str, step: int, seconds: float) -> None:
    pattern = suggested_pattern(line)
    assert pattern is not None
    steps = parse([line], extra=(step_pattern(pattern),)).steps
    assert (steps["step"][0], steps["step_time_s"][0]) == (step, pytest.approx(seconds))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["step", "7", "=", ": ", " ", "time", "0.5", "ms", "s", "(", "[", '"', "it/s", "1:02", "eta", "_", "."]
        )
        | st.text(max_size=4),
        max_size=14,
    ).map("".join)
)
def test_what_is_suggested_for_any_line_can_be_used_and_finds_something_in_it(line: str) -> None:
    pattern = suggested_pattern(line)
    if pattern is not None:
        assert list(step_pattern(pattern)(line))


def test_clocks_ranks_and_separators_in_groups() -> None:
    extra = step_pattern(r"upd (?P<step>[\d,]+) at (?P<time>[\d:.]+) by (?P<rank>\d+) of ep (?P<epoch>\d+)")
    lines = [f"upd {1_000 + step:,} at 0:{step // 6:02}:{step % 6 * 10:02} by 3 of ep 2" for step in range(1, 30)]
    steps = parse(lines, extra=(extra,)).steps
    assert list(steps["step"][:2]) == [1001, 1002]
    assert set(steps["rank"]) == {3}
    assert list(steps["step_time_s"][1:]) == pytest.approx([10.0] * 28)
    whole = next(extra("upd 7 at 12 by 0 of ep 1"))
    assert (whole.time_s, whole.clock_tick_s) == (12.0, 1.0)


def _page(lines: list[str], first: int = 1, at_ms: int | None = None) -> LogPage:
    times = None if at_ms is None else tuple(at_ms + 300 * place for place in range(len(lines)))
    return LogPage.of("one", "algo-1", first, lines, times)


def _best(*pages: LogPage) -> tuple[str, ...]:
    shapes = Shapes()
    for page in pages:
        shapes.add(page)
    return shapes.best()


def test_shapes_with_a_step_and_a_time_come_first() -> None:
    lines = [
        line
        for number in range(9)
        for line in (
            f"rows {number} {number} {number} {number} read, loss of {number} packets",
            f"turn: step #{number} spent {number}.5 s",
            f"epoch tally {number} {number}",
        )
    ]
    best = _best(_page(lines))
    assert len(best) == 3
    assert best[0].startswith("turn: step #")


def test_a_shape_seen_once_is_shown_where_none_was_seen_twice() -> None:
    assert _best(_page(["the only step 7 took 0.5 s"])) == ("the only step 7 took 0.5 s",)


@pytest.mark.parametrize("timed", [True, False])
def test_of_a_long_log_the_same_lines_are_looked_at_however_its_pages_come(timed: bool) -> None:
    lines = [f"{'beat' if at % 3 else 'tick'} {at % 7}: iter {at} of many, {at / 8} ms" for at in range(60_000)]

    def cut(size: int) -> list[LogPage]:
        size = size if timed else size // 100 * 100
        starts = range(0, len(lines), size)
        return [_page(lines[at : at + size], at + 1, 1_790_000_000_000 + 300 * at if timed else None) for at in starts]

    assert _best(*cut(10_000)) == _best(*reversed(cut(1_300))) != ()
