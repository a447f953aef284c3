"""Lines that are read by their shape say what each says when it is read alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.real_logs import varied
from monitor.model import LogPage
from monitor.parse.lines.envelope import apart, fragments, redraws, without_wrapping
from monitor.parse.pages import page_rows
from monitor.parse.pages.gates import _OWNERS_OF, may_know
from monitor.parse.pages.keyed import DigitRuns, keys
from monitor.parse.pages.line_shapes import LineShapes
from monitor.parse.pages.page_pieces import pieces_of
from monitor.parse.recognise import RawRows
from monitor.parse.rows import Reading
from monitor.parse.user import step_pattern
from tests.parse.read_both_ways import difference, paged
from tests.parse.test_corpus import CORPUS
from tests.parse.test_formats import LOGS

TEXTS = [line for log in LOGS for line in log.read_bytes().split(b"\n") if line and len(line) < 600]
PUBLISHED = sorted(CORPUS.glob("**/logs/*.log"))
NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
ODD = (
    b"0",
    b"00",
    b"-1",
    b"nan",
    b"inf",
    b"1e308",
    b"1e-9",
    b"9" * 18,
    b"",
    b"1,000",
    b"12.5s",
    b"007",
    b"?",
    b"100",
    b"99",
    b"1.",
)


@pytest.fixture(autouse=True)
def learns_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_rows, "SEEN", 6)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("part", range(6))
def test_every_line_of_the_cases(part: int, timed: bool) -> None:
    planned = 0
    for log in LOGS[part::6]:
        lines = [line for seed in range(5) for line in varied(log.read_bytes().rstrip(b"\n"), seed).split(b"\n")]
        wrong, raw = difference(paged(lines, range(0, len(lines), 97), timed))
        assert wrong == [], log.stem
        planned += raw.known.planned
    assert planned > 100


@pytest.mark.skipif(not PUBLISHED, reason="the collection of published logs is absent; TRAINWATCH_CORPUS can name it")
@pytest.mark.parametrize("log", PUBLISHED, ids=lambda path: path.stem)
def test_every_line_of_published_logs(log: Path) -> None:
    data = log.read_bytes().replace(b"\0", b"").rstrip(b"\n")
    lines = [line for seed in range(2 if len(data) > 100_000 else 4) for line in varied(data, seed).split(b"\n")]
    assert difference(paged(lines, range(0, len(lines), 499), timed=True))[0] == []


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_numbers_stand_in_the_lines(data: st.DataObject) -> None:
    numbers = st.one_of(
        st.sampled_from(ODD),
        st.integers(0, 10**7).map(b"%d".__mod__),
        st.floats(0, 1e6).map(lambda value: f"{value:.4f}".encode()),
    )
    chosen = data.draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3))
    lines = []
    for seed in range(16):
        for text in chosen:
            lines.append(varied(text, seed))
            if seed % 3 == 2:
                change = data.draw(st.integers(0, max(0, len(NUMBER.findall(text)) - 1)))
                other = data.draw(numbers)
                at = iter(range(len(text)))
                lines.append(NUMBER.sub(lambda match: other if next(at) == change else match[0], text))  # noqa: B023
    cuts = data.draw(st.lists(st.integers(1, len(lines)), max_size=3))
    wrong, _ = difference(paged(lines, cuts, data.draw(st.booleans())))
    assert wrong == []


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), st.text("0123456789ab#=-._█ \t\n", max_size=40))
def test_a_page_has_the_keys_of_its_lines_and_gates_stand_in_them(lines: list[bytes], odd: str) -> None:
    page = b"\n".join([*lines, odd.encode()])
    assert keys(page) == b"\n".join(keys(line) for line in page.split(b"\n"))
    for line in page.split(b"\n"):
        assert not any(gate in line for gate in _OWNERS_OF) or may_know(keys(line))
        runs = re.findall(rb"\d+", line)
        # Of more than 18 digits a number is none.
        assert [
            len(run) > 18 or int(run) == value for run, value in zip(runs, DigitRuns(line).values, strict=True)
        ] == [True] * len(runs)


HEADS = (
    *("", "[1,0]<stdout>:", "[1,mpirank:3,algo-2]<stderr>:", "2026-03-04T08:00:00Z ", "algo-1 | ", "\x1b[34m"),
    *("[rank3]: ", "\r", "\b", "  \x1b[1m", "\r  algo-2: "),
)
GLUED = (
    *("\r", "#015", "\b" * 25, "\b", "\r\r", "[1,2]<stdout>:", "[1,mpirank:5,algo-7]<stdout>:", "[1,2]<stderr>:\r"),
    *(" 12/40 [..]", " 3%|", "\x1b[A", "\x1b[0m", "x", " ", "\t", "é", "#033[31m", ">:"),
)
glued = st.builds(
    lambda head, rest: head + "".join(rest), st.sampled_from(HEADS), st.lists(st.sampled_from(GLUED), max_size=12)
)


@given(glued)
def test_a_line_that_is_cut_is_the_same_pieces(line: str) -> None:
    whole = fragments(line)
    assert [piece for part in apart(line) for piece in fragments(part)] == whole
    if "#0" not in line and "\b" not in line and (parts := redraws(line.encode())) is not None:
        assert [piece for part in parts for piece in fragments(part.decode())] == whole


@settings(max_examples=200)
@given(st.lists(glued, min_size=1, max_size=5))
def test_a_page_that_is_cut_is_the_same_pieces(lines: list[str]) -> None:
    pieces = pieces_of(LogPage.of("algo-1.log", "algo-1", 1, lines))
    found = [fragments(pieces.text(at)) for at in range(len(pieces.ends))]
    for number, line in enumerate(lines):
        own = [at for at, of in enumerate(pieces.line.tolist()) if of == number]
        assert [piece for at in own for piece in found[at]] == fragments(line)
        assert pieces.part[own].tolist() == list(range(len(own)))


WRAPPINGS = (
    *("", "[default{}]:", "[rank{}]: ", "[1,{}]<stdout>:", "[1,mpirank:{},algo-{}]<stderr>:", "algo-{} | ", "{}: "),
    *("2026-03-04T08:00:{}Z ", "[pod/worker-{}/pytorch] ", "[task{}]: ", "\x1b[34m", "\x1b[36malgo-{} |\x1b[0m "),
)
WORDS = ("saved {} of {}", "{}: saved", "[{}] saved\x1b[0m", " saved [rank{}]: {}", "saved {} \x1b[1mnow")


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(WRAPPINGS), max_size=2).map("".join),
    st.sampled_from(WORDS),
    st.lists(st.lists(st.integers(0, 120), min_size=6, max_size=6), min_size=2, max_size=12),
)
def test_lines_of_one_shape_lose_their_wrapping_together_as_alone(
    wrapping: str, words: str, numbers: list[Any]
) -> None:
    lines = [(wrapping + words).format(*each) for each in numbers]
    alone = [fragments(line) for line in lines]
    if all(len(found) == 1 for found in alone):
        plain = not any("\x1b" in line for line in lines)
        assert list(without_wrapping(lines, plain)) == [found[0] for found in alone]


def test_two_odd_lines_are_not_taken_for_an_ordinary_one() -> None:
    # Of the odd ones the first has no seconds and the other no hours that are a clock's: both count what remains.
    form = b'{"current_steps": %d, "total_steps": 40, "loss": "2.0", "elapsed_time": "%s", "remaining_time": "0:01:47"}'
    lines = [form % (30 + at % 7, b"0:05:20") for at in range(20)]
    lines[5], lines[12] = form % (30, b"0:05:0"), form % (30, b"999999999999999999:05:20")
    assert difference(paged(lines, [1], timed=False))[0] == []


def test_a_constant_of_one_plan_is_none_of_another() -> None:
    form = b"[02/06/%d 10:00:%s INFO 140103637968704] Epoch[0] Batch [%d]\tSpeed: 250.50 samples/sec\taccuracy=0.125000"
    lines = [form % (2020 + at % 5, b"33", 20 + at % 9) for at in range(20)]
    lines[11] = form % (2024, b"007", 20)
    assert difference(paged(lines, [], timed=False))[0] == []


def test_lines_that_the_plan_of_their_shape_does_not_fit_have_one_of_their_own() -> None:
    # Of a time that is rounded to nothing there is none, and a count that is no whole number is no count.
    lines = [
        f"Epoch(train) [1][{at}/900]  lr: 1.0e-03  time: 0.{at % 3 * 120:03}  memory: 0  loss: 1.{at:03}".encode()
        for at in range(101, 401)
    ]
    lines += [
        f"Epoch 0: 40%|##  | {at}/900 [01:12<01:20,  1.4it/s, global_step={at // 2}.{at % 4 * 25:02}]".encode()
        for at in range(101, 401)
    ]
    wrong, raw = difference(paged(lines, range(0, 600, 100), timed=False))
    assert wrong == []
    assert raw.known.planned > 540


def test_an_event_may_hold_numbers_of_its_line() -> None:
    lines = [
        b"step: %d  loss:  3.4%d  memory: 62.59GiB(87.65%%)  tps: 6,780  mfu: %d.%d%%" % (at, at % 10, 30 + at % 9, at)
        for at in range(200)
    ]
    wrong, raw = difference(paged(lines, [100], timed=False))
    assert wrong == []
    assert raw.known.planned > 100


def test_a_pattern_of_the_user_is_learned_too() -> None:
    own = step_pattern(r"GPU 0 round (?P<step>\d+) took (?P<time_ms>[\d.]+) ms")
    lines = [b"GPU %d round %d took %d.%d ms" % (at % 2, at, 90 + at % 7, at % 10) for at in range(1, 400)]
    wrong, raw = difference(paged(lines, [150, 300], timed=False), (own,))
    assert wrong == []
    assert (len(raw.steps), raw.known.planned > 250) == (199, True)


def test_a_reader_that_is_of_another_mind_later_is_asked_about_every_line() -> None:
    def read(text: str) -> Iterator[Reading]:
        if found := re.fullmatch(r"sol (\d+)", text):
            yield Reading("odd", int(found[1]), time_s=1.0 if int(found[1]) < 200 else 2.0)

    lines = [b"sol %d" % at for at in range(100, 400)]
    wrong, raw = difference(paged(lines, range(0, 300, 50), timed=False), (read,))
    assert wrong == []
    assert 0 < raw.known.planned < 150


def test_shapes_are_bounded_and_what_is_beyond_is_read() -> None:
    raw = RawRows(known=LineShapes(10))
    words = ["".join(chr(97 + at // 26**place % 26) for place in range(3)) for at in range(200)]
    raw.add(paged([f"step={at} step_time_s=0.5 {word}=1".encode() for at, word in enumerate(words)], (), False)[0])
    assert (len(raw.known), len(raw.steps)) == (10, 200)


@pytest.mark.parametrize("cut", ["█", "▌", "━", "╸"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_line_that_ends_within_a_character_takes_no_other_line_with_it(cut: str, at: int) -> None:
    bars = [
        f"Epoch 0: {n:3}%|{'█' * (n // 10)}| {n}/99 [00:{n // 2:02}<00:20,  2.0it/s, loss=2.{n}]" for n in range(1, 99)
    ]
    lines = [bar.encode() for bar in bars]
    lines[50:50] = [
        b"Epoch 0:  51%|" + cut.encode()[:at],
        b"Epoch 0, global step 51: 'val_loss' reached 2.8, saving model to 'x.ckpt' as top 10",
        b"A line that nobody knows",
    ]
    wrong, raw = difference(paged(lines, [], timed=True))
    assert wrong == []
    assert "checkpoint-begin" in {row.kind for row in raw.events}
