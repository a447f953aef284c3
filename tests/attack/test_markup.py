"""What AWS, a log or a user said is text in Markdown and in HTML: no tag, link, image, mention or table of its own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchmarks.hostile.account import NAME, START, OneJob, answer
from monitor.cli.plan import plan_tree
from monitor.diagnose.comparison.compare import compare
from monitor.export.layout import comparison_markdown, html, markdown
from monitor.export.markdown import as_code, as_markdown, as_text, block, document, item, table
from monitor.inert import inert
from monitor.model import Gap, Mute, Report
from monitor.review.planning import plan, start_from
from monitor.review.reviewer import Reviewer
from tests.attack.calls import STEPS
from tests.attack.markup_shapes import SHAPES

_READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# What others than CommonMark make something of, outside of code.
_LIVE = re.compile(r"://|www\.|@|(?<!\w)#\d|\w#\d|(?i:\bgh-\d)|\[\^|:[a-z+][\w+]*:|\$\S+\$|\{[{%]")
_PLAIN = {"text", "code_inline", "softbreak", "strong_open", "strong_close", "hardbreak"}
_BLOCKS = ("paragraph", "heading", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td")
_STRUCTURE = {"inline", "fence", *(f"{name}_{end}" for name in _BLOCKS for end in ("open", "close"))}


def _inline(text: str) -> list[Token]:
    return [child for token in _READER.parse(text) for child in token.children or ()]


def _checked(text: str) -> Counter[str]:
    """The kinds of blocks in a document, of which none and no text in them is a stranger's markup."""
    tokens = _READER.parse(text)
    kinds = Counter(token.type for token in tokens)
    assert set(kinds) <= _STRUCTURE
    for child in _inline(text):
        assert child.type in _PLAIN, child
        if child.type == "text":
            assert _LIVE.search(child.content) is None, child.content
    return kinds


def test_a_text_is_shown_as_it_is(subtests: pytest.Subtests) -> None:
    for name, text in SHAPES.items():
        said = inert(" ".join(text.split()))
        for made in (as_text(text), as_code(text)):
            with subtests.test(name=name):
                shown = document([made])
                assert _checked(shown) == {"paragraph_open": 1, "inline": 1, "paragraph_close": 1}
                assert "".join(child.content for child in _inline(shown)) == said


def test_a_list_a_table_and_a_block_of_code_hold_it(subtests: pytest.Subtests) -> None:
    for name, text in SHAPES.items():
        with subtests.test(name=name):
            shown = document([item(text), item("b"), "", *table(("a", text), [(text, as_code(text)), ("c", "d")])])
            found = _checked(shown)
            assert found["list_item_open"] == 2
            assert (found["tr_open"], found["th_open"], found["td_open"]) == (3, 2, 4)
            (fence,) = _READER.parse(document([block(text)]))
            assert (fence.type, fence.content.rstrip("\n")) == ("fence", inert(text).rstrip("\n"))


_SIGNS = st.text(st.sampled_from("ab1 \\`*_{}[]()#+-.!|<>~$:&@/^=\"'%;?www.GH-"), max_size=40)


@given(st.lists(_SIGNS, min_size=1, max_size=4))
def test_no_text_of_signs_becomes_markup(texts: list[str]) -> None:
    _checked(document([*(line for text in texts for line in (text, "")), *table(texts, [texts, texts[::-1]])]))
    for text in texts:
        assert "".join(child.content for child in _inline(as_text(text))) == " ".join(text.split())


def test_words_without_signs_stay_as_they_read() -> None:
    for text in (
        "Raise active_microbatches from 2 to 6: steps take 12 % less time (8 to 16).",
        "gpu_utilization < 40 for 10m, 4 x ml.p4d.24xlarge, $12.60 of $4,880; R&D: 3 * 4 = 12",
        "Failed: AlgorithmError: ExitCode 1, at 12:30:45",
    ):
        assert as_text(text) == text
    assert as_text("See https://a.example/b, or ask @me.") == "See `https://a.example/b`, or ask `@me`."


@cache
def _report(text: str) -> Report:
    """A failed job that says it wherever a job can say something."""
    lines = [*STEPS, *(f"RuntimeError: seen {line}" for line in text.replace("\r", "\n").split("\n") if line.strip())]
    status = answer(1)["SecondaryStatusTransitions"]
    told = answer(
        len(lines),
        FailureReason=f"AlgorithmError: {text}",
        HyperParameters={text: text, "batch_size": text},
        SecondaryStatusTransitions=[{**each, "StatusMessage": text} for each in status],
        ResourceConfig={"InstanceType": f"ml.{text}", "InstanceCount": 2},
    )
    found = Reviewer(OneJob([line.encode() for line in lines], told), NAME).review(START + timedelta(hours=1))
    first = found.findings[0]
    return replace(
        found,
        run=replace(found.run, job=replace(found.job, name=text), gaps=(*found.run.gaps, Gap("logs", text, text))),
        findings=tuple(
            replace(each, title=f"{each.title} {text}", summary=f"{text} {each.summary}", not_checked=(text,))
            for each in found.findings
        ),
        muted={first.id: Mute(first.id, text, text, START)},
        archive=text,
    )


_EACH = "\n".join(SHAPES.values())


@pytest.mark.parametrize("text", [_EACH, *(SHAPES[name] for name in ("script", "mention", "pipe-escaped"))], ids=len)
def test_a_report_a_comparison_and_a_plan_hold_none_of_it(text: str) -> None:
    report = _report(text)
    written = markdown(report)
    assert "AlgorithmError" in written
    _checked(written)
    _checked(comparison_markdown(compare([report, report]), None))
    start = start_from({"pipeline_parallel_degree": 2, "microbatches": 4, "placement_strategy": text})
    _checked(as_markdown(plan_tree(text, plan(start, {"microbatches": 8}))))


class _Page(HTMLParser):
    """The tags of a page, with the names of their attributes and where they lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.leads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        self.leads |= {value or "" for name, value in attrs if name in {"href", "src", "xlink:href", "style", "action"}}


def test_a_page_holds_none_of_it() -> None:
    page, plain = _Page(html(_report(_EACH), START)), _Page(html(_report("words"), START))
    assert page.tags["script"] == page.tags["iframe"] == 0
    assert set(page.tags) <= set(plain.tags)
    assert page.attributes <= plain.attributes
    assert not any("evil" in lead or "javascript" in lead for lead in page.leads)
