"""``alarms`` as it is typed: its plan, its JSON, its sentences, on an account that moto stands in for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws
from moto.sagemaker.models import sagemaker_backends

from monitor.aws.calls import Pacer
from monitor.aws.clients import Clients
from monitor.cli.main import main
from tests.aws.fake import ACCOUNT, REGION, offline
from tests.fetch.sample import create_job

__all__ = ["offline"]

TOPIC = f"arn:aws:sns:{REGION}:123456789012:training"
IDLE = ("--when", "gpu_utilization < 40 for 10m")


@pytest.fixture(autouse=True)
def clients(offline: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Clients]:
    monkeypatch.setattr(Pacer, "wait", lambda self, operation: None)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with mock_aws():
        clients = Clients(REGION)
        create_job(clients, "vit", {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2})
        yield clients


def _document(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    assert main(["alarms", *argv, "--format", "json"]) == code
    return json.loads(capsys.readouterr().out)


def _there(clients: Clients) -> list[str]:
    return [row["AlarmName"] for row in clients.call("cloudwatch", "describe_alarms")["MetricAlarms"]]


def test_the_plan_touches_nothing(clients: Clients, capsys: pytest.CaptureFixture[str]) -> None:
    document = _document(capsys, "plan", "vit", *IDLE, "--when", "step_time > 1.3x")
    assert document["schema"] == 1
    assert document["job"] == "vit"
    assert document["usd_per_month"] == 0.2
    assert [alarm["threshold"] for alarm in document["alarms"]] == [320.0, 320.0]
    assert [refused["rule"] for refused in document["not_expressible"]] == ["step_time-above-1.3x"]
    assert set(document["not_expressible"][0]) == {"rule", "why"}
    assert _there(clients) == []
    assert clients.bill().calls == {"CreateTrainingJob": 1, "DescribeAlarms": 1}


def test_create_and_delete_also_after_the_job(
    clients: Clients, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nname = "idle"\nwhen = "gpu_utilization < 40 for 10m"\n', encoding="utf-8")
    call = ("vit", "--rules", str(rules), "--sns", TOPIC)
    document = _document(capsys, "create", *call)
    assert document["created"] == ["trainwatch/vit/idle/algo-1", "trainwatch/vit/idle/algo-2"] == _there(clients)
    assert document["alarms"][0]["actions"] == [TOPIC]
    assert _document(capsys, "create", *call)["unchanged"] == document["created"]

    del sagemaker_backends[ACCOUNT][REGION].training_jobs["vit"]
    assert main(["alarms", "plan", *call]) == 3
    capsys.readouterr()
    assert _document(capsys, "delete", *call)["deleted"] == document["created"]
    assert _there(clients) == []
    assert main(["alarms", "delete", "vit"]) == 0
    assert "nothing to delete" in capsys.readouterr().out


def test_the_text_tells_cost_limits_and_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alarms", "create", "vit", *IDLE, "--when", "finding critical"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in (
        "2 alarms (2 created), $0.20",
        "GPUUtilization < 320",
        "finding-critical:",
        "The alarms notify nobody",
        "alarms delete vit",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("plan", "vit"), 2, "none is saved"),
        (("plan", "logs:x.log", *IDLE), 2, "is not one"),
        (("plan", "other", *IDLE), 3, "no training job"),
        (("create", "vit", "--when", "loss > 3"), 3, "none of these rules"),
        (("create", "vit", *IDLE, "--sns", "topic"), 2, "not the ARN"),
        (("create", "vit", *IDLE, "--sns", TOPIC.replace(REGION, "eu-west-3")), 2, "not in the job's region"),
        (("delete", "a/b"), 2, "not the name"),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    argv: tuple[str, ...], code: int, words: str, clients: Clients, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["alarms", *argv]) == code
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert _there(clients) == []
