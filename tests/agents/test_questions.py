"""The twenty questions of docs/agents.md: each call is made, answers what the page says, and takes as many tokens."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from monitor.cli.grammar import parser
from monitor.demo.account import DemoAccount
from tests.agents.conftest import Agent

pytest.importorskip("mcp", reason="the extra mcp is not installed (requirements-mcp.txt)")

from monitor.agents.quoting import tokens

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"^\| ([^|]+\?|Tell[^|]+) \| `(\w+\(.*\))` \| ([^|]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)


def call_of(written: str, account: DemoAccount) -> tuple[str, dict[str, Any]]:
    """(tool, arguments), with the names of this account's jobs."""
    names = {name.rsplit("-", 7)[0]: name for name in reversed([job.name for job in account.jobs])}
    names["OLD"] = account.jobs[-1].name
    node = ast.parse(written, mode="eval").body
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    given = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
    if "job" in given:
        given["job"] = names[given["job"]]
    if "jobs" in given:
        given["jobs"] = [names[each] for each in given["jobs"]]
    return node.func.id, given


def test_there_are_twenty_questions_to_all_six_tools() -> None:
    assert len(QUESTIONS) == 20
    assert {call.partition("(")[0] for _, call, _, _ in QUESTIONS} == {
        "jobs", "review", "evidence", "compare", "plan", "watch",
    }  # fmt: skip


@pytest.mark.parametrize(("question", "call", "answer", "size"), QUESTIONS, ids=lambda each: each[:40])
def test_a_question_is_answered_in_one_call_and_few_tokens(
    agent: Agent, account: DemoAccount, question: str, call: str, answer: str, size: str
) -> None:
    tool, arguments = call_of(call, account)
    text = agent.text(tool, **arguments)
    for part in answer.split("; "):
        assert part in text, f"{question} {text}"
    assert tokens(text) == pytest.approx(int(size.replace(",", "")), rel=0.2, abs=20)


def test_the_hosts_of_the_page_start_the_command() -> None:
    (host,), (editor,) = (
        re.findall(rf"<!-- {mark} -->\n```json\n(.*?)```", PAGE, re.DOTALL) for mark in ("a host", "an editor")
    )
    servers = [*json.loads(host)["mcpServers"].values(), *json.loads(editor)["servers"].values()]
    lines = re.findall(r"^\w+ mcp add trainwatch -- (.*)$", PAGE, re.MULTILINE)
    for argv in [[each["command"], *each["args"]] for each in servers] + [shlex.split(line) for line in lines]:
        assert argv[0] == "trainwatch"
        assert parser().parse_args(argv[1:]).command == "mcp"
