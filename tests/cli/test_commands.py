"""What a user types and what comes back: whole commands in this process, on log files and on the embedded account."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from monitor.analyze.training_time import BUCKETS
from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.model import STEP_CSV_COLUMNS
from tests.cli.commands import SMP


def _json(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main([*argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


_REPORT_KEYS = {
    "schema",
    "job",
    "nodes",
    "steps",
    "phases",
    "buckets",
    "findings",
    "cost",
    "goodput",
    "mfu_pct",
    "coverage",
    "api",
}
_JOB_KEYS = {
    "name", "status", "secondary_status", "instance_type", "instance_count", "instance_groups", "gpus_per_node",
    "launcher", "smp_version", "configuration", "created", "started", "ended", "training_seconds",
    "billable_seconds", "failure_reason",
}  # fmt: skip
_FINDING_KEYS = {"id", "severity", "confidence", "summary", "evidence", "recommendation", "prediction", "not_checked"}
_NODE_KEYS = {
    "node", "instance_type", "gpu_utilization", "gpu_memory_utilization", "cpu_utilization", "memory_utilization",
    "disk_utilization", "steps", "gpus",
}  # fmt: skip
_STEP_KEYS = {
    "count", "distinct", "first_step_s", "median_s", "p10_s", "p90_s", "nodes_observed", "formats", "done", "total",
    "seconds_to_finish", "readings",
}  # fmt: skip


def _check_report(document: dict[str, Any]) -> None:
    assert set(document) == _REPORT_KEYS
    assert document["schema"] == 1
    assert set(document["job"]) == _JOB_KEYS
    for node in document["nodes"]:
        assert set(node) == _NODE_KEYS
        for name in ("gpu_utilization", "cpu_utilization"):
            assert node[name] is None or set(node[name]) == {"mean", "p5", "p50", "p95"}
    if document["steps"] is not None:
        assert set(document["steps"]) == _STEP_KEYS
    for finding in document["findings"]:
        assert set(finding) == _FINDING_KEYS
        for evidence in finding["evidence"]:
            assert set(evidence) == {"what", "value", "unit", "node", "from", "to", "line"}
        if finding["recommendation"] is not None:
            assert set(finding["recommendation"]) == {"text", "parameter", "from", "to", "source"}
    for phase in document["phases"]:
        assert set(phase) == {"name", "from", "to", "seconds", "billed"}
    for bucket in document["buckets"]:
        assert set(bucket) == {"name", "seconds", "instance_seconds", "cost_usd"}
        assert bucket["name"] in BUCKETS
    assert set(document["cost"]) == {
        "usd",
        "overhead_usd",
        "recoverable_usd",
        "recoverable_usd_per_hour",
        "wasted_usd",
        "price_usd_per_instance_hour",
        "price_source",
    }
    assert set(document["coverage"]) == {"metrics_period_s", "log_events", "streams", "profiler", "warnings"}
    assert set(document["api"]) == {"calls", "estimated_usd"}


def test_a_report_of_log_files_has_the_contracts_form(capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, "report", "--logs", SMP)
    _check_report(document)
    assert document["job"]["smp_version"] == 1
    assert document["job"]["instance_count"] == 2
    assert document["job"]["configuration"]["microbatches"] == {"value": 4, "read_from": "log line 11"}
    assert document["steps"]["nodes_observed"] == 1
    assert document["steps"]["median_s"] == pytest.approx(2.0)
    assert {finding["id"] for finding in document["findings"]} == {"node-timing-unobservable", "metrics-unavailable"}
    assert document["api"] == {"calls": {}, "estimated_usd": 0}


def test_a_job_can_be_named_by_its_logs(capsys: pytest.CaptureFixture[str]) -> None:
    by_option = _json(capsys, "steps", "--logs", SMP)
    assert _json(capsys, "steps", f"logs:{SMP}") == by_option


def test_steps_as_csv_have_the_contracts_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steps", "--logs", SMP, "--format", "csv"]) == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert tuple(rows[0]) == STEP_CSV_COLUMNS
    assert rows[1] == {
        "node": "algo-2", "rank": "0", "step": "19", "timestamp": "", "step_time_s": "2", "throughput": "16",
        "throughput_unit": "samples/s", "loss": "9.25", "gpu_memory_gib": "", "format": "smp-v1", "kind": "step",
        "stream": SMP, "line": "13",
    }  # fmt: skip


def test_every_sample_job_is_reported_in_the_contracts_form(
    connected: DemoAccount, told: tuple[dict[str, Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = _json(capsys, "jobs")["jobs"]
    assert len(jobs) == len(connected.jobs)
    assert jobs == sorted(jobs, key=lambda job: job["created"], reverse=True)
    found = {}
    for job in jobs:
        document = told[0][job["name"]]
        _check_report(document)
        assert document["job"]["name"] == job["name"]
        assert document["job"]["instance_type"] == job["instance_type"] or " + " in job["instance_type"]
        loud = [finding["id"] for finding in document["findings"] if finding["severity"] != "info"]
        found[re.sub(r"-20\d\d-.*", "", job["name"])] = (document["job"]["status"], loud)
        if document["phases"]:
            wall = document["phases"][-1]["to"], document["phases"][0]["from"]
            seconds = (datetime.fromisoformat(wall[0]) - datetime.fromisoformat(wall[1])).total_seconds()
            assert sum(bucket["seconds"] for bucket in document["buckets"]) == pytest.approx(seconds, abs=1)
    assert found == {
        "gpt2-10b-smp": ("InProgress", []),
        "llama2-13b-smp2": ("InProgress", ["stall"]),
        "gptj-6b-smp": ("Failed", ["cuda-out-of-memory", "shard-optimizer-state", "activation-checkpointing"]),
        "gpt2-30b-smp": ("Completed", []),
        "gpt2-20b-smp-pp4": ("Completed", ["raise-active-microbatches"]),
        "llama2-7b-fsdp": ("Completed", ["slow-node", "unlike-gpu"]),
        "llama2-70b-pretrain": ("Failed", ["capacity"]),
        "bert-large-mlm-spot": ("Completed", ["spot-interruption"]),
        "vit-630m-mics-4": ("Completed", []),
        "vit-630m-mics-32": ("Completed", ["sharding-across-nodes"]),
        "whisper-small-finetune": ("Completed", ["one-gpu-in-use"]),
        "deberta-ner-finetune": ("Completed", ["small-batch"]),
        "deeplab-hetero": ("Completed", []),
        "churn-mlp": ("Completed", []),
    }


def test_the_mics_pair_comes_out_near_the_published_case(
    connected: DemoAccount, told: tuple[dict[str, Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    names = {job["name"] for job in _json(capsys, "jobs", "--name-contains", "vit-630m")["jobs"]}
    medians = {re.sub(r"-20\d\d-.*", "", name): told[0][name]["steps"]["median_s"] for name in names}
    assert medians["vit-630m-mics-4"] / medians["vit-630m-mics-32"] == pytest.approx(0.86, abs=0.02)


def test_jobs_are_filtered_and_printed(connected: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    running = _json(capsys, "jobs", "--status", "running")["jobs"]
    assert {job["status"] for job in running} == {"InProgress"}
    assert len(_json(capsys, "jobs", "--limit", "3")["jobs"]) == 3
    recent = _json(capsys, "jobs", "--since", "2d")["jobs"]
    assert 0 < len(recent) < len(connected.jobs)
    assert main(["jobs"]) == 0
    text = capsys.readouterr().out
    assert "4 x ml.p4d.24xlarge" in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_report_for_people_says_what_where_and_what_next(
    read_before: DemoAccount, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    name = next(job.name for job in read_before.jobs if job.name.startswith("gpt2-20b"))
    assert main(["report", name, "--format", form]) == 0
    text = capsys.readouterr().out
    for needed in (
        name,
        "4 x ml.p4d.24xlarge",
        "window too small",
        "Next:",
        "active_microbatches from 2 to 6",
        "algo-4",
    ):
        assert needed in text, needed
    assert "Traceback" not in text


def test_output_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "steps.csv"
    assert main(["steps", "--logs", SMP, "--format", "csv", "--output", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text(encoding="utf-8").startswith("node,rank,step")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["report"], 2, ["No job was named", "--logs"]),
        (["report", "job", "--logs", SMP], 2, ["Both a job"]),
        (["report", "--logs", "missing.log"], 3, ["missing.log"]),
        (["report", "archive:x"], 3, ["no archive at x", "archive:FOLDER/JOB"]),
        (["steps", "--logs", SMP, "--step-regex", "(?P<step>"], 2, ["--step-regex was refused"]),
        (["steps", "--logs", SMP, "--output", "/nonexistent/x.csv"], 3, ["cannot be written"]),
        (["jobs", "--since", "yesterday"], 2, ["--since yesterday", "7d"]),
        (["jobs", "--status", "asleep"], 2, ["asleep", "InProgress"]),
        (["jobs", "--limit", "0"], 2, ["--limit 0"]),
        (["jobs"], 3, ["egion"]),
        (["jobs", "--region", "us-east-1"], 3, ["credentials"]),
        (["jobs", "--profile", "nobody"], 3, ["nobody"]),
    ],
)
def test_bad_input_is_one_sentence_and_an_exit_code(
    argv: list[str], code: int, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith("trainwatch: ")
    for word in words:
        assert word in captured.err, captured.err


@pytest.mark.parametrize("command", ["report {}", "steps {}", "compare {} other"])
def test_a_path_in_place_of_a_name_is_told_how_to_write_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.5\n")
    assert main(command.format(log).split()) == 2
    said = capsys.readouterr().err
    assert f"logs:{log}" in said
    assert f"archive:{log}" in said


def test_a_wrong_job_name_names_the_nearest(connected: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    name = connected.jobs[0].name
    assert main(["report", name[:-1] + "x"]) == 3
    assert name in capsys.readouterr().err


def test_an_unknown_option_is_a_wrong_call() -> None:
    assert main(["report", "--colour"]) == 2


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [(["report", "my", "job"], "'my job'"), (["report", "my", "--jib"], None), (["jobs", "--jib"], None)],
)
def test_of_a_name_with_blanks_it_is_said_how_to_write_it(
    arguments: list[str], hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "unrecognized arguments" in said
    assert ("quotation marks" in said) is (hint is not None)
    assert hint is None or hint in said
