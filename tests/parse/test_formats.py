"""Every log in tests/data/formats is read as the CSV beside it says: drop two files, get a test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from monitor.parse.family import Line, families, family, in_order, literal_in, reader, spelled
from monitor.parse.lines.envelope import fragments
from monitor.parse.rows import NO_STEP, Reading
from tests.parse.compare import logs
from tests.parse.read import parse

FORMATS = Path(__file__).parents[1] / "data" / "formats"
LOGS = sorted(FORMATS.glob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_log_gives_what_its_csv_says(log: Path) -> None:
    steps = parse(log.read_text(encoding="utf-8").splitlines()).steps
    expected = pd.read_csv(log.with_suffix(".csv"), keep_default_na=False)
    got = pd.read_csv(pd.io.common.StringIO(steps[list(expected.columns)].to_csv(index=False)), keep_default_na=False)
    assert len(got) == len(expected), got.to_string()
    for column in expected.columns:
        for place, (ours, theirs) in enumerate(zip(got[column], expected[column], strict=True)):
            same = ours == theirs or (
                ours != "" and theirs != "" and float(ours) == pytest.approx(float(theirs), rel=1e-6)
            )
            assert same, f"row {place}, {column}: {ours!r}, not {theirs!r}\n{got.to_string()}"


def texts_of(log: Path) -> list[str]:
    """The lines without what is wrapped around them."""
    return [piece.text for line in log.read_text(encoding="utf-8").splitlines() for piece in fragments(line)]


def test_every_family_is_complete() -> None:
    for own in families():
        file = f"monitor/parse/formats/{own.name}.py"
        assert own.doc, f"{file} needs a docstring that shows its lines"
        assert own.formats, f"{file} needs LINES, or a read and FORMATS"
        cases = [log for log in LOGS if log.stem.startswith(own.name)]
        assert cases, f"{own.name} needs a case: tests/data/formats/{own.name}*.log and the .csv of what it gives"
        for log in cases:
            assert log.with_suffix(".csv").is_file(), f"{log.name} needs a .csv of what it gives beside it"
        texts = [text for log in cases for text in texts_of(log)]
        for text in texts:
            assert not any(found.format for found in own.read(text)) or any(gate in text for gate in own.gates), (
                f"{file} reads a line without any of its GATES, which would be skipped: {text}"
            )
        for line in own.lines:
            alone = reader((line,), file)
            assert any(alone(text) for text in texts), f"{file}: no line of its logs shows {line.pattern}"
        assert own.before.keys() <= {other.name for other in families()}


def _known_twice(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Lines that several families know, and those in the order in which they are asked; generic ones only among themselves."""
    for text in lines:
        knowing = [
            family for family in families() if any(gate in text for gate in family.gates) and list(family.read(text))
        ]
        exact = [family.name for family in knowing if not family.generic]
        names = exact or [family.name for family in knowing]
        if len(names) > 1:
            yield text, tuple(names)


CORPUS_LINES = [
    piece.text
    for log in logs()
    for line in log.read_bytes().decode("utf-8", "replace").split("\n")
    if len(line) < 2000
    for piece in fragments(line)
]
SHOWN = [
    shown.replace("<TAB>", "\t").replace("\n", " ")
    for family in families()
    for shown in re.findall(r"``(.+?)``", family.doc, re.DOTALL)
]


@pytest.mark.parametrize("lines", [[text for log in LOGS for text in texts_of(log)], SHOWN, CORPUS_LINES], ids=len)
def test_of_two_families_that_know_a_line_one_says_that_it_comes_first(lines: list[str]) -> None:
    by_name = {family.name: family for family in families()}
    for text, (first, *others) in _known_twice(lines):
        for other in others:
            assert other in by_name[first].before, (
                f"{first} and {other} both know the line {text!r}: the file of one must say BEFORE which it comes, and why"
            )


def test_the_order_of_families() -> None:
    places = {own.name: place for place, own in enumerate(families())}
    assert {(own.name, other) for own in families() for other in own.before} == {
        ("awslabs_sockeye", "mxnet"),
        ("jepa", "pytorch_cifar"),
        *((name, "tqdm") for name in ("bar_ultralytics", "ms_swift", "torchtune")),
        *(("tqdm", name) for name in ("pytorch_cifar", "pytorch_mnist")),
    }
    for own in families():
        assert all(places[own.name] < places[other] and why for other, why in own.before.items())
        assert own.generic == (places[own.name] >= len(places) - 3)


def test_families_that_come_before_each_other_are_asked_in_that_order() -> None:
    """Whatever the files are called."""

    def module(name: str, **constants: object) -> ModuleType:
        made = ModuleType(f"formats.{name}", "``b``")
        vars(made).update({"GATES": ("b",), "LINES": (Line(name, "b<step>"),), **constants})
        return made

    made = [module("a"), module("b", GENERIC=True), module("c", BEFORE={"a": "why"}), module("d", BEFORE={"c": "why"})]
    assert [family.name for family in in_order(map(family, made))] == ["d", "c", "a", "b"]


def test_a_role_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="<stepp> is no role"):
        list(reader((Line("acme", "update <stepp>"),), "acme")("update 7"))


ROLES = [
    ("<step>/<total> <epoch> <rank>", "7/9 1 3", {"step": 7, "total": 9, "epoch": 1, "rank": 3}),
    ("<step> of <last>", "7 of 9", {"step": 7, "total": 10}),
    ("<step> <counter> <share>", "7 28 0.25", {"step": 7, "counter": 28, "epoch_share": 0.25}),
    ("it <step> took <ms>ms", "it 7 took 250ms", {"step": 7, "time_s": 0.25}),
    ("it <step> took <time>", "it 7 took 2.5 s", {"step": 7, "time_s": 2.5}),
    (r"it <step> took (?P<time>\S+)", "it 7 took 1m2s", {"step": 7, "time_s": 62.0}),
    ("<over> in <s>s", "10 in 5s", {"time_s": 0.5}),
    ("from <first> to <step> in <s>s", "from 10 to 30 in 5s", {"step": 30, "time_s": 0.25}),
    ("<since>s", "0.0s", {"time_s": 0.0}),
    ("<s>s", "0.0s", {}),
    ("<pace> it", "4 it", {"time_s": 0.25, "throughput": 4.0, "throughput_unit": "it/s"}),
    ("<pace> it <rate> tok", "4 it 9 tok", {"time_s": 0.25, "throughput": 9.0, "throughput_unit": "tokens/s"}),
    ("<rate> tok", "1,234.5 tok", {"throughput": 1234.5, "throughput_unit": "tokens/s"}),
    ("<rate> tok", "0.0 tok", {}),
    (r"(?P<rate>\S+) tok", "1.5K tok", {"throughput": 1500.0, "throughput_unit": "tokens/s"}),
    ("<thousand>s", "250s", {"throughput": 4.0, "throughput_unit": "tokens/s"}),
    ("<each>s", "0.25s", {"throughput": 4.0, "throughput_unit": "tokens/s"}),
    ("<clock>s", "61s", {"clock_s": 61.0, "clock_tick_s": 1.0}),
    ("<hms>", "1 day, 0:01:01", {"clock_s": 86461.0, "clock_tick_s": 1.0}),
    ("<elapsed>s", "61.5s", {"clock_s": 61.5}),
    ("loss <loss>", "loss -inf", {"loss": -float("inf")}),
    ("<mib>", "512", {"gpu_memory_gib": 0.5}),
    ("<bytes>", "1073741824", {"gpu_memory_gib": 1.0}),
    ("<gib>", "0.0", {}),
    ("a <step>|b <step2>", "b 7", {"step": 7}),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), ROLES)
def test_what_a_role_becomes(pattern: str, text: str, expected: dict[str, object]) -> None:
    assert list(reader((Line("x", pattern, unit="tokens/s"),), "x")(text)) == [Reading("x", **expected)]  # type: ignore[arg-type]


def test_figures_behind_a_line_and_what_it_needs() -> None:
    line = Line(
        "x",
        "update <step>(?P<rest>[^|]*)",
        more=("loss=<loss>", "cost=<loss>"),
        rates=(("tokens/s", "tok=<rate>"), ("samples/s", "sps=<rate>")),
        times=(("step", "last=<s>"), ("interval", "mean=<s>")),
        meaning="clock",
        needs="loss s|rate",
        many=True,
    )
    read = reader((line, Line("", "checked")), "x")
    assert list(read("update 7 cost=2 sps=9 mean=0.5 | loss=1")) == [
        Reading("x", 7, time_s=0.5, meaning="interval", throughput=9.0, throughput_unit="samples/s", loss=2.0)
    ]
    assert [found.step for found in read("update 7 loss=2 tok=9 | update 8 loss=2 last=1 |")] == [7, 8]
    assert list(read("update 7 loss=2, checked")) == [NO_STEP]
    assert list(read("update 7 loss=2")) == []


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"\bstep (?P<x>\d+)/\d+ is done", " is done"),
        (r"iter: (?:\d/)?loss", "iter: "),
        (r"a|bc", ""),
        (r"(?i)abc", ""),
        (r"abc?d{1,3}", "ab"),
        (r"\[x\]: [|(]y", "[x]: "),
        (r"(?s)ab.cde", "cde"),
    ],
)
def test_what_every_match_holds(pattern: str, literal: str) -> None:
    assert literal_in(pattern) == literal


def test_it_does_hold_in_every_line_that_is_read() -> None:
    for own in families():
        texts = [text for log in LOGS if log.stem.startswith(own.name) for text in texts_of(log)]
        for line in own.lines:
            pattern = re.compile(spelled(line.pattern))
            assert all(literal_in(pattern.pattern) in text for text in texts if pattern.search(text)), line
