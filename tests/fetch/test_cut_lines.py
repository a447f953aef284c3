"""What was cut at the border of a chunk or an event is read as one again, and no half a number is read as a whole one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.fetch.cut_lines import joined
from monitor.fetch.files.renderings import restored
from monitor.model import LogPage
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows

TAG = "[1,mpirank:{},algo-1]<stdout>:"


def report(rank: int, step: int) -> str:
    return f"{TAG.format(rank)}step={step} step_time_s={step}.25 loss=0.5 tokens_per_s={step}000"


def pages(lines: list[str], cuts: list[int] = [], stream: str = "a.log") -> list[LogPage]:  # noqa: B006
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(lines)}), len(lines)]
    return [LogPage.of(stream, "algo-1", a + 1, lines[a:b]) for a, b in pairwise(edges) if b > a]


def lines_of(found: list[LogPage]) -> list[str]:
    return [line for page in found for line in page.lines]


def parsed(lines: list[str], cuts: list[int] = []) -> Parsed:  # noqa: B006
    raw = RawRows()
    for page in restored(pages(lines, cuts)):
        raw.add(page)
    return assemble(raw.steps, raw.events)


BEFORE = [report(rank, step) for step in range(1, 9) for rank in (0, 1)]


@pytest.mark.parametrize("wrap", ["{}", "\x1b[34m{}\x1b[0m", "2026-03-04T08:12:20.123Z job/algo-1-1700000000 {}"])
@pytest.mark.parametrize("at", range(35, len(report(0, 12))))
def test_a_report_is_whole_wherever_it_was_cut(at: int, wrap: str) -> None:
    whole = report(0, 12)
    lines = [*BEFORE, whole[:at], whole[at:], report(1, 12)]
    steps = parsed([wrap.format(line) for line in lines]).steps
    last = steps[steps["step"] == 12]
    ends_whole = at in {whole.index(" loss"), whole.index(" tokens")}  # it may be another form of report
    assert list(last["step_time_s"]) == [12.25, 12.25] or ends_whole
    assert list(last["rank"]) == [0, 1]
    assert not steps["step"].isin([1, 2, 3, 4, 5, 6, 7, 8, 12]).eq(False).any()


def test_the_next_record_stays_where_it_was() -> None:
    lines = [*BEFORE, report(0, 12)[:45], report(0, 12)[45:] + report(1, 12)]
    found = lines_of(list(joined(pages(lines))))
    assert found[-2:] == [report(0, 12), report(1, 12)]
    assert lines_of(list(joined(pages([*BEFORE, report(0, 9)[:-2], report(0, 9)[-2:]]))))[-1] == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (report(0, 12), "2026-03-04 08:12:20,001 sagemaker-training-toolkit INFO     Waiting for the process"),
        (report(0, 12), report(1, 12)),
        (report(0, 12), "--------------------------------------------------------------------------"),
        (report(0, 12), "bash: cannot set terminal process group (-1): Inappropriate ioctl for device"),
        (report(0, 12), "12: a line of a list"),
        (report(0, 12), ""),
        (f"\x1b[34m{report(0, 12)}\x1b[0m", "\x1b[35m5 files of another stream\x1b[0m"),
        (f"2026-03-04T08:12:20Z job/algo-1-17 {report(0, 12)}", "2026-03-04T08:12:20Z job/algo-2-17 5 files"),
        ("step=12 step_time_s=1.5", "25 files written"),  # nothing here has tags
        ("x" * 65_000, "no chunk is full at this length"),
    ],
)
def test_lines_that_are_whole_stay_apart(first: str, second: str) -> None:
    lines = [*BEFORE, first, second] if "<std" in first else [first, second]
    assert lines_of(list(joined(pages(lines)))) == lines


@pytest.mark.parametrize("size", [1 << 16, (1 << 18) - 26, 1 << 20])
@pytest.mark.parametrize("tag", ["", TAG.format(3), "2026-03-04T08:12:20.123Z "])
def test_an_event_that_is_full_goes_on_in_the_next(size: int, tag: str) -> None:
    bars = "".join(f"\r{n}/99999 [00:{n % 60:02d}<01:00,  {n}.25s/it]" for n in range(1, size // 20))
    lines = [tag + bars[:size], ("" if "mpirank" in tag else tag) + bars[size : size + 500], "", "step=1 step_time_s=2"]
    found = lines_of(list(joined(pages(lines))))
    if size < 1 << 20:
        assert found == [tag + bars[: size + 500], "", "", "step=1 step_time_s=2"]
    else:
        assert found == lines  # longer than any line that is read


_PARTS = st.sampled_from(
    [
        *BEFORE[:4],
        report(0, 12)[:40],
        report(0, 12)[40:],
        report(0, 12)[:55],
        report(0, 12)[55:] + report(1, 12),
        "",
        "5",
        "2026-03-04 08:12:20,001 sagemaker-training-toolkit INFO",
        "\x1b[34m" + report(0, 3)[:40] + "\x1b[0m",
        "\x1b[34m" + report(0, 3)[40:] + "\x1b[0m",
        "[1,0]<stderr>:#015 50%|##| 3/6 [00:01<00:01, 1.",
        "25s/it]",
        "x" * (1 << 16),
        "0: [a",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_PARTS, min_size=1, max_size=30), st.lists(st.integers(1, 29), max_size=8))
def test_where_pages_are_cut_does_not_matter(lines: list[str], cuts: list[int]) -> None:
    whole, cut = list(joined(pages(lines))), list(joined(pages(lines, cuts)))
    assert lines_of(whole) == lines_of(cut)
    numbers = [(page.stream, page.first_line + at) for page in cut for at in range(len(page.lines))]
    assert numbers == [("a.log", number) for number in range(1, len(lines) + 1)]


def test_streams_do_not_mix() -> None:
    found = list(joined([*pages([report(0, 1)], stream="a"), *pages(["5 files"], stream="b")]))
    assert [(page.stream, page.lines) for page in found] == [("a", (report(0, 1),)), ("b", ("5 files",))]
