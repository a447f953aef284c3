"""Lines of log files and of archives: found by a text, a number or a time, in pages that repeat nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.agents.account_session import AccountSession
from monitor.agents.evidence import evidence
from monitor.agents.quoting import ToolAnswer
from monitor.cli.main import main
from monitor.errors import BadCall

STEPS = [f"2026-11-24 10:00:{second:02d} INFO step={second} step_time_s=1.0 loss=2.{second}" for second in range(1, 41)]
ENDS = [
    "export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123",
    "Traceback (most recent call last):",
    '  File "train.py", line 1, in work',
    "    work()",
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 GiB",
]
Ask = Callable[..., ToolAnswer]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "algo-1.log").write_text("\n".join([*STEPS, *ENDS]) + "\n")
    (tmp_path / "run" / "algo-2.log").write_text("\n".join(STEPS[:5]) + "\n")
    return tmp_path


@pytest.fixture
def ask(folder: Path) -> Ask:
    desk = AccountSession(pytest.fail, files=[str(folder)])

    def asked(job: str, **given: Any) -> ToolAnswer:
        wanted = {"finding": "", "find": "", "node": "", "at": "", "limit": 10, "cursor": ""} | given
        return evidence(desk, job, *wanted.values(), lambda text: None, lambda: False)

    return asked


@pytest.fixture
def job(folder: Path) -> str:
    return f"logs:{folder}/run"


def pages(ask: Ask, job: str, **given: Any) -> list[list[Any]]:
    found, cursor = [], ""
    while cursor is not None:
        answer = ask(job, cursor=cursor, **given).data
        found.append(answer["facts"])
        cursor = answer["next"]
    return found


@pytest.mark.parametrize("given", [{"find": "STEP="}, {}], ids=["onward", "back"])
def test_pages_of_files_end_and_repeat_nothing(ask: Ask, job: str, given: dict[str, str]) -> None:
    found = pages(ask, job, limit=7, **given)
    ordered = found if given else found[::-1]
    ids = [fact["id"] for page in ordered for fact in page]
    numbers = [int(each[1:].partition(".")[0]) for each in ids]
    assert len(ids) == len(set(ids))
    assert numbers == [*range(1, 41 if given else 46), *range(1, 6)]


def test_a_node_is_chosen_and_the_newest_lines_come_without_a_place(ask: Ask, job: str) -> None:
    facts = ask(job, node="algo-2", limit=2).data["facts"]
    assert [fact["node"] for fact in facts] == ["algo-2", "algo-2"]
    assert facts[-1]["time"] == "2026-11-24T10:00:05Z"


@pytest.mark.parametrize("kind", ["logs", "archive"])
def test_a_line_behind_a_finding_is_found_again(ask: Ask, job: str, folder: Path, kind: str) -> None:
    name = job
    if kind == "archive":
        assert main(["archive", job, "--to", str(folder / "kept")]) == 0
        name = f"archive:{folder}/kept"
    behind = ask(name, finding="cuda-out-of-memory")
    quoted = next(fact for fact in behind.data["facts"] if fact["quoted"])
    assert f'at="{quoted["id"]}"' in behind.text
    around = ask(name, at=quoted["id"])
    assert quoted["quoted"] in [fact["quoted"] for fact in around.data["facts"]]
    assert ("An archive keeps no log" in around.text) == (kind == "archive")
    assert any("Traceback" in fact["quoted"] for fact in around.data["facts"])


def test_lines_around_a_time_that_they_print(ask: Ask, job: str) -> None:
    facts = ask(job, at="2026-11-24T10:00:30Z", node="algo-1", limit=9).data["facts"]
    assert [int(fact["id"][1:3]) for fact in facts] == [*range(27, 36)]
    onward = ask(job, at=facts[3]["id"], find="loss", limit=2).data["facts"]
    assert [fact["id"] for fact in onward] == [fact["id"] for fact in facts[3:5]]


def test_a_secret_is_neither_shown_nor_found(ask: Ask, job: str) -> None:
    assert "HF_TOKEN=***" in ask(job, find="export").text
    assert ask(job, find="hf_abcdefghijkl").data["facts"] == []


@pytest.mark.parametrize(
    "given", [{"at": "noon"}, {"at": "L99.00000000"}, {"at": "2031-01-01"}, {"cursor": "x"}, {"cursor": ">L9.00000000"}]
)
def test_a_place_that_is_none_is_told(ask: Ask, job: str, given: dict[str, str]) -> None:
    with pytest.raises(BadCall) as told:
        ask(job, **given)
    assert told.value.remedy
