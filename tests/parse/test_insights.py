"""Every family that says how Logs Insights reads its lines: RE2 finds in the cases what the reader finds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.parse.assemble import assemble
from monitor.parse.family import Family, families, reader
from monitor.parse.insights.choose import Choice, choose
from monitor.parse.insights.questions import Ask, ReportForm, figures_on, forms_of, portable, query, usable, ways_to_say
from monitor.parse.linear import compiled
from monitor.parse.lines.envelope import fragments
from monitor.parse.recognise import RawRows
from monitor.parse.rows import Reading
from tests.parse.read import pages
from tests.parse.test_formats import FORMATS, LOGS

FAMILIES = {family.name: family for family in families() if any(ways_to_say(family))}
OWN_CASES = [(name, log) for name in FAMILIES for log in LOGS if log.stem.startswith(name)]


def chosen(lines: list[str]) -> Choice | None:
    """The question that a log's own lines lead to."""
    raw, texts = RawRows(), {}
    for page in pages(lines):
        raw.add(page)
        texts |= {(page.stream, page.first_line + i): line for i, line in enumerate(page.lines)}
    return choose(raw.steps.table(), assemble(raw.steps, raw.events), texts)


def asked(family: Family, text: str, reading: Reading) -> list[Ask]:
    """How the line that was read is asked for."""
    own = [line for line in family.lines if line.format and (list(reader((line,), "")(text)) or family.name == "tqdm")]
    return [
        Ask(said, reading.throughput_unit, reading.total if said.one_total else None)
        for line in own[:1]
        for said in forms_of(line)
        if said in {replace(way, never="") for way in ways_to_say(family)} and said.meaning == reading.meaning
    ]


@pytest.mark.parametrize(("name", "log"), OWN_CASES, ids=lambda value: getattr(value, "stem", value))
def test_the_patterns_of_a_family_find_the_readers_numbers(name: str, log: Path) -> None:
    family, bars = FAMILIES[name], name == "tqdm"
    for line in log.read_text(encoding="utf-8").splitlines():
        for piece in fragments(line):
            for reading in [found for found in family.read(piece.text) if found.format and found.step is not None][:1]:
                if bars and (reading.meaning != "smoothed" or reading.time_s is None):
                    continue  # a bar that counts no steps, or has no rate yet
                found = [figures_on(ask, piece.text) for ask in asked(family, piece.text, reading)]
                if bars and reading.total is None:
                    assert found == [None], piece.text
                    continue
                for ours in found:
                    assert ours is not None, piece.text
                    assert ours.step == reading.step, piece.text
                    # In place of one digit the reader divides the seconds of the epoch; a trial refuses what differs.
                    if not (reading.format == "keras" and ours.time_s == round(reading.time_s or 0.0)):
                        assert ours.time_s == pytest.approx(reading.time_s), piece.text
                    if not bars:  # a bar's postfix is left out
                        # Steps a second are asked for as a time.
                        rate = reading.throughput if reading.throughput_unit != "it/s" else None
                        assert ours.rate == pytest.approx(rate), piece.text
                        assert ours.loss == pytest.approx(reading.loss, nan_ok=True), piece.text
                        assert ours.clock_s in {None, reading.clock_s}, piece.text


def test_what_is_not_asked_for() -> None:
    """What takes several lines, a division, a spelled-out time or count, or has no step."""
    asked_for = {said.format for family in families() for said in ways_to_say(family)}
    assert {name for family in families() for name in family.formats} - asked_for == {
        *("composer", "litgpt", "mindspore", "nemo-rl", "olmo", "xgboost", "dgl-ke", "keras-rl", "cyclegan", "mappo"),
        *("a2c-ppo", "faster-rcnn", "biggan"),
        *("deepmd", "marian", "tf-estimator", "trax", "stylegan"),
        *("basicsr", "nanotron", "nerfstudio", "paddle", "tqdm-loggable", "xlm"),
        *("loss-only", "sagemaker-builtin-throughput"),
        # These are read by code.
        *("json", "key-value", "pytorch-mnist"),
    }


# Case -> what the question that its lines lead to reads from a line; all others are in no danger of being asked wrongly,
# since a question is only chosen where it finds the reader's numbers.
CHOSEN = {
    "smp_v1_two_nodes_mpi": ("smp-v1", "clock loss rate step", "by_clock"),
    "smp_v2": ("smp-v2", "loss rate step", ""),
    "smp_vit_clock": ("smp-vit", "step time", "clock"),
    "smp_vit_corrected": ("smp-vit", "step time", ""),
    "megatron_ms_interval": ("megatron", "loss step time total unit", ""),
    "megatron_neox": ("megatron", "loss rate step time total unit", ""),
    "deepspeed_rank0": ("deepspeed", "rate step", ""),
    "deepspeed_pipeline": ("deepspeed", "loss rate step time", ""),
    "torchtitan_lingua": ("torchtitan", "loss rate step time", ""),
    "keyvalue_per_node": ("key-value", "loss step time", ""),
    "keyvalue_elapsed_clock": ("key-value", "loss step time", "clock"),
    "keyvalue_logfmt": ("key-value", "loss rate step time", ""),
    "tqdm_hf_trainer": ("tqdm", "pace step time", ""),
    "detectron_maskrcnn_benchmark": ("detectron", "loss step time", ""),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_the_question_follows_from_the_lines(case: str) -> None:
    choice = chosen((FORMATS / f"{case}.log").read_text(encoding="utf-8").splitlines())
    assert choice is not None
    name, roles, meant = CHOSEN[case]
    assert (choice.ask.said.format, " ".join(sorted(choice.ask.roles))) == (name, roles)
    assert (choice.meant.clock, choice.meant.by_clock) == (meant == "clock", meant == "by_clock")


@pytest.mark.parametrize("case", ["keyvalue_what_is_no_step", "litgpt_accumulated", "keyvalue_dialects"])
def test_no_question_where_none_finds_the_same(case: str) -> None:
    """Lines that are no steps, micro-batches that only their neighbors tell apart, and a mix of forms."""
    assert chosen((FORMATS / f"{case}.log").read_text(encoding="utf-8").splitlines()) is None


def test_what_looks_alike_is_no_report() -> None:
    ask = Ask(next(ways_to_say(FAMILIES["torchtitan"])), "tokens/s/GPU")
    line = "step: 40  loss:  7.3201  memory: 41.20GiB(51.9%)  tps: 6,210  mfu: 31.37%"
    found = figures_on(ask, line)
    assert found is not None
    assert found.rate == 6210.0
    assert figures_on(ask, f"validate {line}") is None
    assert "filter @message not like /validat(?:e|ion) step:/" in query(ask, "job", 1)


def test_the_question_in_words() -> None:
    ask = Ask(next(ways_to_say(FAMILIES["megatron"])), tagged=True)
    lines = query(ask, "gpt-7", 5).split("\n| ")
    assert lines[0] == r"filter @logStream like /^gpt-7\//"
    assert all(line.startswith("parse @message /") and line.endswith("/") for line in lines[1:4])
    assert not any(re.search(r"(?<!\\)/", line[16:-1]) for line in lines[1:4])
    assert lines[4] == "filter ispresent(step)"
    assert 'replace(time, ",", "") / (1 + 999 * strcontains(unit, "m")) as took' in lines[5]
    assert lines[6].endswith("by @logStream, rank, host, bin(5m) as minute")


PORTABLE = [
    (r"a\s*+b++c?+d{2}+", r"a\s*b+c?d{2}"),
    (r"(?>ab|c)(?=d)(?<!x(y))e", "(?:ab|c)e"),
    (r"(?P<step>\d{1,12})(?P<other>x)(y)(?:z)", r"(?<step>\d{1,12})(?:x)(?:y)(?:z)"),
    (r"[]+(?=]+ [^]a]{0,400}?\](?=\))", r"[]+(?=]+ [^]a]*?\]"),
    (r".{1,300}[\d]{2,40}x{0,9}", r".+[\d]{2,40}x{0,9}"),
    (r"a??b*?c+?(?:d)?+", r"a??b*?c+?(?:d)?"),
]


@pytest.mark.parametrize(("python", "other"), PORTABLE)
def test_python_syntax_goes(python: str, other: str) -> None:
    assert portable(python, {"step": "step"}) == other
    compiled(other)


def test_flags_stand_in_front_and_groups_are_renamed() -> None:
    assert portable("(?is)(?P<speed>1)(?P<clock>2)", {"speed": "rate"}) == "(?is)(?<rate>1)(?:2)"


def test_a_pattern_that_re2_refuses_is_not_used() -> None:
    assert not usable(Ask(ReportForm("x", (r"(?<step>\d)\1",))))
    assert not usable(Ask(ReportForm("x", (r"(?<step>\d)" + "x" * 10_000,))))


@settings(deadline=None)  # the first line compiles every pattern
@given(st.text() | st.from_regex(r"step[=: ]\d{1,30} .{0,40}\d+(\.\d+)?( ?m?s/it)?"))
def test_any_text_is_no_trouble(text: str) -> None:
    chosen([text, text, "step=1 step_time_s=2.0"])
    for family in FAMILIES.values():
        for said in ways_to_say(family):
            figures_on(Ask(said), text)
