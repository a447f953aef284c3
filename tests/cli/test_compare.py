"""``compare`` as it is typed: on the embedded account, on log files, and what it keeps."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from tests.cli.commands import LOGS


@pytest.fixture
def jobs(read_before: DemoAccount) -> dict[str, str]:
    """Sample jobs by their base names, the newest of each; the account is the one that is asked."""
    return {re.sub(r"-20\d\d-.*", "", job.name): job.name for job in reversed(read_before.jobs)}


def _json(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(["compare", *argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def _pairs(tmp_path: Path) -> list[str]:
    path = tmp_path / "data" / "trainwatch" / "pairs.jsonl"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


_CONTRACT = {
    "schema", "jobs", "configuration_difference", "step_time_change_percent", "verdict", "predicted_change_percent",
}  # fmt: skip


def test_the_mics_pair_comes_out_near_the_published_change_and_is_kept(
    jobs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = jobs["vit-630m-mics-32"], jobs["vit-630m-mics-4"]
    found = _json(capsys, a, b, "--no-keep")
    assert set(found) >= _CONTRACT
    assert found["schema"] == 1
    assert [job["name"] for job in found["jobs"]] == [a, b]
    assert found["configuration_difference"] == [{"parameter": "sharded_data_parallel_degree", "values": [32, 4]}]
    low, middle, high = found["step_time_change_percent"]
    assert middle == pytest.approx(-14, abs=1)
    assert low < middle < high < 0
    assert found["verdict"] == "faster"
    assert found["predicted_change_percent"] == pytest.approx([-30, -13, -5])
    assert found["prediction"]["held"] is True
    assert found["compared_by"] == "step"
    assert found["per_sample_change_percent"] is None
    assert [figures["samples_per_step"] for figures in found["figures"]] == [128, 128]
    assert all(figures["cost_per_sample_usd"] > 0 for figures in found["figures"])
    assert _pairs(tmp_path) == []
    assert _json(capsys, a, b)["earlier_predictions"] == {
        "pairs": 0,
        "held": 0,
        "too_wide_to_test": 0,
    }  # it does not speak for itself
    (line,) = _pairs(tmp_path)
    assert json.loads(line)["changed"] == {"sharded_data_parallel_degree": ["32", "4"]}
    assert _json(capsys, jobs["churn-mlp"], b)["earlier_predictions"] == {"pairs": 1, "held": 1, "too_wide_to_test": 0}


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_comparison_for_people(jobs: dict[str, str], capsys: pytest.CaptureFixture[str], form: str) -> None:
    names = jobs["vit-630m-mics-32"], jobs["vit-630m-mics-4"], jobs["llama2-70b-pretrain"]
    assert main(["compare", *names, "--format", form]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for needed in (
        *names,
        "sharded_data_parallel_degree",
        "B takes 14.0 % less time a step (",
        "1.21 s, not 1.41 s",
        "Predicted step time -13.0 % (-30.0 to -5.0), measured -14.0 %",
        "The prediction held.",
        "The prediction is model-based: ",
        "Not comparable: for C, no numbered steps were recognized.",
        "goodput",
        "cost of a million samples",
    ):
        assert needed in text, needed
    assert text.index("B takes") < text.index("What differs") < text.index("Side by side") < text.index("Predicted and")


def _log(path: Path, step_s: float, seed: int, count: int = 300) -> str:
    times = step_s * np.exp(np.random.default_rng(seed).normal(0, 0.02, count))
    path.write_text(
        "".join(f"step={step} step_time_s={time:.4f} loss=2.5\n" for step, time in enumerate(times, 1)),
        encoding="utf-8",
    )
    return f"logs:{path}"


def test_log_files_are_compared_without_an_account(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, same, slow = (_log(tmp_path / f"{n}.log", s, n) for n, s in ((1, 0.5), (2, 0.5), (3, 0.525)))
    equal = _json(capsys, a, same)
    assert equal["verdict"] == "cannot tell"
    assert equal["reason"]
    assert equal["step_time_change_percent"][0] < 0 < equal["step_time_change_percent"][2]
    found = _json(capsys, a, slow)
    assert found["verdict"] == "slower"
    assert found["step_time_change_percent"][1] == pytest.approx(5, abs=1)
    assert found["predicted_change_percent"] is None
    assert _json(capsys, a, a)["reason"] == "Both are the same job."
    three = _json(capsys, a, same, slow)
    assert [each["verdict"] for each in three["comparisons"]] == ["cannot tell", "slower"]
    assert _pairs(tmp_path) == []


def _clocked(path: Path, step_s: float, count: int = 300) -> str:
    began = datetime(2026, 3, 4, 9, tzinfo=UTC)
    stamps = (began + timedelta(seconds=step * step_s) for step in range(1, count + 1))
    lines = (f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} step={n} loss=2.5" for n, at in enumerate(stamps, 1))
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"logs:{path}"


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_times_by_the_lines_clock_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    a, b = _clocked(tmp_path / "1.log", 2.013), _clocked(tmp_path / "2.log", 1.807)
    assert [each["step_time_came_by"] for each in _json(capsys, a, b)["figures"]] == ["by the lines' clock"] * 2
    assert main(["compare", a, b, "--format", form]) == 0
    assert re.search(r"step time, how\W+lines' clock\W+lines' clock", capsys.readouterr().out)
    printed = _log(tmp_path / "3.log", 0.5, 3)
    assert [each["step_time_came_by"] for each in _json(capsys, printed, printed)["figures"]] == ["as printed"] * 2


def test_logs_of_one_name_in_two_folders_are_two_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    a, b = (_log(tmp_path / folder / "algo-1.log", 0.5 * (1 + n), n) for n, folder in enumerate(("one", "two")))
    assert _json(capsys, a, b)["verdict"] == "slower"


def test_logs_that_cannot_be_compared_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "none.log"
    empty.write_text("nothing here\n" * 50, encoding="utf-8")
    found = _json(capsys, _log(tmp_path / "1.log", 0.5, 1), f"logs:{empty}")
    assert found["verdict"] == "cannot tell"
    assert found["step_time_change_percent"] is None
    assert found["reason"] == "For B, no numbered steps were recognized."


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        ([], 2, ["No job was named", "two or more"]),
        (["one-job"], 2, ["One job was named (one-job)", "compare A B"]),
        (["logs:missing.log", "logs:other.log"], 3, ["missing.log"]),
        (["logs:", "logs:other.log"], 2, ["needs a path"]),
        ([LOGS, "a-job"], 3, ["egion"]),
    ],
)
def test_bad_calls_are_one_sentence(
    argv: list[str], code: int, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *argv]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err, captured.err
