"""``report --no-profiler`` and ``--profiler DIR``: whether a profiler's output is read, and from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.demo.measurements import Sampled, minute
from tests.cli.commands import document, named

_ODD = "llama2-7b-fsdp"
_PLAIN = "gpt2-30b-smp"


def test_it_is_read_unless_it_is_not_wanted(connected: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    name = named(connected, _ODD)
    report = document(capsys, "report", name)
    assert [len(node["gpus"]) for node in report["nodes"]] == [8] * 4
    odd = report["nodes"][2]["gpus"][5]
    assert set(odd) == {"gpu", "samples", "gpu_utilization", "gpu_memory_utilization", "gpu_memory_max_pct"}
    assert odd["gpu_utilization"]["mean"] > report["nodes"][2]["gpus"][4]["gpu_utilization"]["mean"] + 10
    assert report["coverage"]["profiler"]["objects"] == report["api"]["calls"]["GetObject"]
    without = document(capsys, "report", name, "--no-profiler")
    assert [node["gpus"] for node in without["nodes"]] == [[]] * 4
    assert not {"GetObject", "ListObjectsV2"} & without["api"]["calls"].keys()


def test_a_copied_folder_takes_its_place(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    job = next(job for job in connected.jobs if job.name.startswith(_PLAIN))
    assert job.started is not None
    assert job.ended is not None
    first = int(job.started.timestamp()) // 60 * 60
    for begins_s in range(first, int(job.ended.timestamp()), 60):
        sampled = Sampled([[90.0] * 8], [[50.0] * 8], [[10.0] * 4], [[0.0] * 4])
        (tmp_path / f"{begins_s}.algo-1.json").write_bytes(minute("algo-1", begins_s, sampled))
    report = document(capsys, "report", job.name, "--profiler", str(tmp_path))
    assert [len(node["gpus"]) for node in report["nodes"]][:2] == [8, 0]
    assert report["coverage"]["profiler"]["read_from"] == str(tmp_path)
    assert not {"GetObject", "ListObjectsV2"} & report["api"]["calls"].keys()


def test_a_folder_without_any_is_said(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["report", named(connected, _ODD), "--profiler", str(tmp_path)]) == 3
    assert "holds no profiler output" in capsys.readouterr().err


def test_a_folder_and_none_at_all_exclude_one_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "job", "--profiler", ".", "--no-profiler"]) == 2
    assert "not allowed with" in capsys.readouterr().err
