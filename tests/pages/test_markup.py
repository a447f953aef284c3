"""Nothing that others wrote is ever markup: names, settings, reasons, gaps and log text, on every page and in every part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from monitor.errors import NotAllowed
from monitor.model import Gap, LogLine, Parameter, Report
from tests import situations
from tests.builders import START, nodes_of, report
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount

EVIL = "<b>x</b> ![i](https://evil.example/a.png) [l](https://evil.example) :red[z] :smile: $x^2$ https://evil.example"
MARKUP = ("<b>", "![i](", "[l](", ":red[", ":smile:", "$x^2$", "https://evil")
# What these show, they show as it is; the rest is Markdown.
AS_IT_IS = {"arrow_data_frame", "bidi_component", "code", "vega_lite_chart", "arrow_vega_lite_chart", "text", "unknown"}
# Neither labels nor Markdown: names of things, and the plain texts of a choice.
NEVER_SHOWN = {
    "id",
    "query_string",
    "options",
    "href",
    "url",
    "default",
    "value",
    "raw_value",
    "raw_values",
    "page",
    "key",
    "form_id",
}


def _strings(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.name in NEVER_SHOWN and field.message_type is None:
            continue
        for each in (
            value if isinstance(value, list | tuple) or hasattr(value, "add") or hasattr(value, "append") else [value]
        ):
            if isinstance(each, Message):
                yield from _strings(each)
            elif isinstance(each, str):
                yield f"{field.name}={each}"


def marked_up(page: AppTest) -> list[str]:
    """All texts of a page that hold markup of others."""
    found = []
    for part in (page.main, page.sidebar):
        for element in part:
            proto = getattr(element, "proto", None)
            if isinstance(proto, Message) and element.type not in AS_IT_IS:
                found += [f"{element.type}: {text}" for text in _strings(proto) if any(mark in text for mark in MARKUP)]
    return found


def hostile(name: str, status: str = "Failed") -> Report:
    """A job whose every free text tries to be markup."""
    base = situations.hostile(name)
    evil = Parameter(EVIL, EVIL)
    nodes = tuple(replace(node, instance_type=EVIL, group=EVIL) for node in nodes_of(2))
    built = report(
        name,
        status=status,
        nodes=nodes,
        failure_reason=EVIL,
        gaps=(Gap("logs", EVIL, EVIL), Gap("metrics", EVIL, EVIL)),
        findings=base.findings,
        configuration={
            "script": evil,
            EVIL: evil,
            "pipeline_parallel_degree": evil,
            "microbatches": Parameter(4, EVIL),
        },
    )
    job = replace(built.job, hyperparameters={EVIL: EVIL, "a": EVIL}, secondary_status=EVIL)
    return replace(built, run=replace(built.run, job=job), muted={})


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("jobs", {}),
        ("jobs", {"search": EVIL}),
        ("jobs", {"tag": EVIL, "instance": EVIL}),
        ("job", {"job": "hostile-1"}),
        ("job", {"job": "hostile-1", "from": EVIL}),
        ("job", {"job": EVIL}),
        ("logs", {"job": "hostile-1"}),
        ("logs", {"job": "hostile-1", "find": EVIL, "node": EVIL, "rank": EVIL}),
        ("compare", {"jobs": "hostile-1,hostile-2"}),
        ("compare", {"jobs": f"hostile-1,{EVIL}"}),
        ("plan", {"from": "job", "of": "hostile-1"}),
        ("plan", {"from": EVIL, "of": EVIL, "change.active_microbatches": EVIL}),
        ("thresholds", {"when": "finding script-error"}),
        ("thresholds", {"when": EVIL}),
        ("jobs", {"region": EVIL, "profile": EVIL}),
    ],
)
def test_text_of_others_is_no_markup(open_page: Open, name: str, parameters: dict[str, str]) -> None:
    moment = round(START.timestamp() * 1000)
    lines = [LogLine("hostile-1/algo-1-1700000000", moment, EVIL)]
    account = FakeAccount((hostile("hostile-1"), hostile("hostile-2", "Completed")), logs={"hostile-1": lines})
    page = open_page(account, name, **parameters)
    assert marked_up(page) == []


@pytest.mark.parametrize("name", ["jobs", "job", "logs", "compare", "plan", "thresholds"])
def test_what_aws_answers_is_no_markup(open_page: Open, name: str) -> None:
    error = NotAllowed(EVIL, EVIL)
    asked = {"job": "a-1", "jobs": "a-1,a-2"} | ({"from": "job", "of": "a-1"} if name == "plan" else {})
    page = open_page(FakeAccount(error=error, log_error=error), name, **asked)
    assert marked_up(page) == []


def test_the_check_finds_markup(open_page: Open) -> None:
    page = AppTest.from_string(
        f"import streamlit as st\nst.button({EVIL!r})\nst.expander({EVIL!r})\nst.error({EVIL!r})"
    ).run()
    assert len(marked_up(page)) == 3
