"""A line in the table: who wrote it, how loud, what was recognized; without secrets, and without what acts."""

from __future__ import annotations

import pandas as pd
import pytest

from monitor.model import LogLine, LogSpan
from monitor.parse.user import step_pattern
from monitor.review import log_lines
from monitor.review.log_lines import LogFilter, as_it_is, cell, ranges, tabled

STREAM = "vit/algo-1-1700000000"
T0 = 1_700_000_000_000


def table(*texts: str, stream: str = STREAM, every_ms: int = 1000) -> pd.DataFrame:
    lines = tuple(LogLine(stream, T0 + every_ms * place, text) for place, text in enumerate(texts))
    return tabled(LogSpan(lines, T0, T0 + 1_000_000)).frame


TOLD = {
    "[1,mpirank:12,algo-2]<stdout>:step 412 step_time: 2.02 loss: 2.1": "step 412 · 2.02 s · loss 2.1",
    "Saving checkpoint to /opt/ml/checkpoints/400": "checkpoint begins",
    "torch.OutOfMemoryError: CUDA out of memory.": "error: torch.OutOfMemoryError: CUDA out of memory.",
    "algo-1:77:77 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>": "startup: NET/Socket",
    "a line that nobody knows": "",
}


@pytest.mark.parametrize(("line", "known"), TOLD.items())
def test_what_was_recognised_stands_beside_the_line(line: str, known: str) -> None:
    assert table(line)["known"].tolist() == [known]


def test_who_wrote_a_line_is_what_its_tag_says_else_its_stream() -> None:
    frame = table("[1,mpirank:12,algo-2]<stdout>:hello", "hello", stream="vit/algo-7-1700000000")
    assert frame["node"].tolist() == ["algo-2", "algo-7"]
    assert frame["rank"].tolist() == [12, pd.NA]
    placed = log_lines.placed(frame, {12: "algo-4"})
    assert placed["node"].tolist() == ["algo-4", "algo-7"], "the map of ranks wins over the tag"


def test_a_clock_is_differenced_between_lines() -> None:
    frame = table(*(f"step: {place}: step time is {2.0 * place + 7:.3f}" for place in range(1, 9)), every_ms=2000)
    assert frame["known"].iloc[-1] == "step 8 · 2.00 s"


def test_patterns_of_the_user_are_asked_too() -> None:
    lines = (LogLine(STREAM, T0, "tick 7 took 250 units"),)
    pattern = step_pattern(r"tick (?P<step>\d+) took (?P<time_ms>\d+) units")
    assert tabled(LogSpan(lines, T0, T0 + 1), (pattern,)).frame["known"].iloc[0].startswith("step 7")


def test_what_was_read_before_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = tuple(LogLine(STREAM, T0 + 1000 * place, f"line {place}") for place in range(900))
    first = tabled(LogSpan(lines[:600], T0, T0 + 600_000))
    assert tabled(LogSpan(lines[100:], T0, T0 + 900_000), before=first).frame.equals(
        tabled(LogSpan(lines[100:], T0, T0 + 900_000)).frame
    )
    other = tuple(LogLine(STREAM, T0 + 1000 * place, f"other {place}") for place in range(3))
    assert tabled(LogSpan(other, T0, T0 + 3000), before=first).frame["whole"].tolist() == [
        "other 0",
        "other 1",
        "other 2",
    ]
    assert tabled(LogSpan((), T0, T0 + 1), before=first).frame.empty


CELLS = {
    "#033[31mred#033[0m": "red",
    "[1,0]<stdout>:\x1b[1mbold\x1b[0m": "bold",
    " 10%|#\r 20%|##\r 30%|###": "…  30%|###",
    "a\tb\x00": "a    b",
    "![i](https://evil.example/a.png)": "![i](https://evil.example/a.png)",
}


@pytest.mark.parametrize(("line", "shown"), CELLS.items())
def test_a_cell_has_no_control_characters(line: str, shown: str) -> None:
    assert cell(line) == shown


def test_the_whole_line_shows_its_control_characters_and_does_nothing() -> None:
    assert as_it_is("a#015b\x1b[31mc\x00") == "a␍\nb␛[31mc\N{REPLACEMENT CHARACTER}"
    assert len(cell("x" * 64_000)) == 500


def test_secrets_are_masked_before_anybody_sees_them() -> None:
    frame = table(
        '"SM_HP_WANDB_API_KEY": "0123456789abcdef0123"', "nothing", "aws_secret_access_key = abcdefgh12345678"
    )
    assert frame["masked"].tolist() == [True, False, True]
    assert not frame["whole"].str.contains("0123456789|abcdefgh").any()


FILTERS = {
    "nothing asked for": (LogFilter(), [0, 1, 2, 3]),
    "text, whatever its case": (LogFilter(text="SOCKET"), [1]),
    "text is no pattern": (LogFilter(text="(x|y)"), []),
    "levels": (LogFilter(levels=("error", "warning")), [2]),
    "lines without a level": (LogFilter(levels=("none",)), [0, 3]),
    "ranks": (LogFilter(ranks=((8, 15),)), [3]),
    "a node": (LogFilter(node="algo-2"), [3]),
    "all at once": (LogFilter("hello", ("none",), "algo-1", ()), [0]),
}


@pytest.mark.parametrize(("wanted", "rows"), FILTERS.values(), ids=FILTERS)
def test_filters(wanted: LogFilter, rows: list[int]) -> None:
    frame = table("hello", "NCCL INFO NET/Socket", "ValueError: x", "[1,mpirank:9,algo-2]<stdout>:hello")
    assert log_lines.matching(frame, wanted).index.tolist() == rows


@pytest.mark.parametrize(
    ("text", "found"),
    [("", ()), ("0", ((0, 0),)), ("0, 8-15", ((0, 0), (8, 15))), ("3 4;5 - 6", ((3, 3), (4, 4), (5, 6))), ("x", ())],
)
def test_ranges(text: str, found: tuple[tuple[int, int], ...]) -> None:
    assert ranges(text) == found


def test_a_tail_that_grows_keeps_its_first_line_until_it_is_too_long() -> None:
    frame = table(*(f"line {place}" for place in range(1000)))
    first = log_lines.tail(frame.iloc[:500], None)
    assert first.index[0] == 350
    key = log_lines.key_of(first, 0)
    assert log_lines.tail(frame.iloc[:640], key).index[0] == 350
    assert log_lines.tail(frame.iloc[:700], key).index[0] == 550
    assert log_lines.tail(frame, (5, 5)).index[0] == 850
    assert log_lines.tail(frame.iloc[:0], None).empty
