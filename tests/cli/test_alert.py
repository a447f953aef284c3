"""``alert`` as it is typed: exit codes, its JSON, its sentences, on log files and on the embedded account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from tests.cli.commands import SMP
from tests.cli.commands import named as _name

_KEYS = {"name", "when", "state", "severity", "node", "since", "value", "unit"}


def _alert(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, Any, str]:
    code = main(["alert", *argv, "--format", "json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out), printed.err


@pytest.mark.parametrize(
    ("expressions", "code", "states"),
    [
        (["step_time > 1"], 1, ["firing"]),
        (["step_time > 100"], 0, ["ok"]),
        (["gpu_utilization < 40 for 10m"], 3, ["no data"]),
        (["gpu_utilization < 40 for 10m", "step_time > 1"], 1, ["no data", "firing"]),
        (["gpu_utilization < 40 for 10m", "step_time > 100"], 3, ["no data", "ok"]),
        (["step_time > 1 on algo-1"], 3, ["no data"]),
        (["step_time > 1 on algo-2"], 1, ["firing"]),
        (["finding critical"], 0, ["ok"]),
    ],
)
def test_exit_codes_and_document_of_log_files(
    expressions: list[str], code: int, states: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for expression in expressions for word in ("--when", expression)]
    got, document, said = _alert(capsys, "--logs", SMP, *given)
    assert got == code
    assert document["schema"] == 1
    assert document["evaluated_at"].endswith("Z")
    assert [rule["state"] for rule in document["rules"]] == states
    assert [rule["when"] for rule in document["rules"]] == expressions
    assert all(set(rule) >= _KEYS for rule in document["rules"])
    assert said.count("\n") == (1 if code == 3 else 0)


def test_values_of_log_files(capsys: pytest.CaptureFixture[str]) -> None:
    _, document, _ = _alert(capsys, f"logs:{SMP}", "--when", "step_time > 1 for 3 steps")
    rule = document["rules"][0]
    assert (rule["node"], rule["unit"], rule["severity"], rule["since"]) == ("algo-2", "s", "warning", None)
    assert rule["value"] == pytest.approx(2.8)
    assert rule["name"] == "step_time-above-1-for-3-steps"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--logs", SMP], ["No threshold was given", "--when", "thresholds add"]),
        (["--logs", SMP, "--when", "gpu_utilisation < 40"], ["nearest is gpu_utilization", "\n  ^^^^^^^^^^^^^^^\n"]),
        (["--when", "loss > 3"], ["No job was named"]),
    ],
)
def test_a_wrong_call(argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alert", *argv]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert all(word in printed.err for word in words), printed.err


def test_what_cannot_be_read_is_no_data_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, said = _alert(capsys, "--logs", "missing.log", "--when", "loss > 3", "--when", "step_time > 3")
    assert code == 3
    assert [rule["state"] for rule in document["rules"]] == ["no data", "no data"]
    assert said.count("\n") == 1
    assert "missing.log" in said


def test_the_text_names_rule_node_value_and_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alert", "--logs", SMP, "--when", "step_time > 1", "--when", "gpu_utilization < 40"]) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    for needed in ("firing", "step_time > 1", "algo-2", "2.00 s", "no data", "Log files contain no host metrics"):
        assert needed in printed.out
    assert "\x1b" not in printed.out


def test_jobs_of_the_account(read_before: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    slow = _name(read_before, "llama2-7b-fsdp")
    code, document, _ = _alert(
        capsys, slow, "--when", "step_time > 1.15x for 5m", "--when", "finding slow-node", "--when", "finding critical"
    )
    by_time, by_finding, critical = document["rules"]
    assert code == 1
    assert [(rule["state"], rule["node"]) for rule in (by_time, by_finding)] == [("firing", "algo-3")] * 2
    assert by_time["since"].startswith("20")
    assert "algo-3" in by_finding["why"]
    assert critical["state"] == "ok"
    healthy = _name(read_before, "vit-630m-mics-4")
    assert _alert(capsys, healthy, "--when", "gpu_utilization < 40 for 10m", "--when", "cost_usd > 1000")[0] == 0
    stalled = _name(read_before, "llama2-13b")
    code, document, _ = _alert(capsys, stalled, "--when", "seconds_since_last_step > 300")
    assert (code, document["rules"][0]["state"]) == (1, "firing")
    assert document["rules"][0]["value"] > 300


def test_no_such_job_prints_its_document(read_before: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    code, document, said = _alert(capsys, "nobody", "--when", "loss > 3")
    assert (code, document["rules"][0]["state"]) == (3, "no data")
    assert said.startswith("trainwatch: ")
    assert said.count("\n") == 1


def test_rules_of_a_file_and_of_the_call_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nname = "slow"\nwhen = "step_time > 1"\nseverity = "critical"\n', encoding="utf-8")
    code, document, _ = _alert(capsys, "--logs", SMP, "--rules", str(rules), "--when", "loss > 100")
    assert code == 1
    assert [(rule["name"], rule["severity"]) for rule in document["rules"]] == [
        ("slow", "critical"),
        ("loss-above-100", "warning"),
    ]
    rules.write_text('[[rule]]\nname = "slow"\n\nwen = "step_time > 1"\n', encoding="utf-8")
    assert main(["alert", "--logs", SMP, "--rules", str(rules)]) == 2
    assert f"{rules}, line 4, wen: " in capsys.readouterr().err


def test_saved_thresholds_are_judged_where_no_others_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["thresholds"]) == 0
    assert "No threshold is saved" in capsys.readouterr().out
    assert main(["thresholds", "add", "slow", "step_time > 1", "--severity", "critical"]) == 0
    assert main(["thresholds", "add", "lost", "loss", ">", "100"]) == 0
    capsys.readouterr()
    code, document, _ = _alert(capsys, "--logs", SMP)
    assert (code, [rule["name"] for rule in document["rules"]]) == (1, ["slow", "lost"])
    assert main(["thresholds", "remove", "slow"]) == 0
    capsys.readouterr()
    assert main(["thresholds", "list", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": 1,
        "thresholds": [{"name": "lost", "when": "loss > 100", "severity": "warning", "notify": []}],
    }


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["add", "slow"], "needs a name and an expression"),
        (["add", "slow", "step_tim > 1"], "nearest is step_time"),
        (["remove"], "needs one name"),
        (["remove", "slow"], "None is saved"),
        (["list", "slow"], "takes no further"),
        (["drop", "slow"], "Write one of list, add, remove"),
        (["add", "slow", "loss > 3", "--notify", "slak:x"], "nearest is slack"),
    ],
)
def test_wrong_calls_of_thresholds(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["thresholds", *argv]) == 2
    printed = capsys.readouterr()
    assert (printed.out, words in printed.err) == ("", True), printed.err


def test_a_saved_address_is_shown_without_its_secret(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["thresholds", "add", "slow", "loss > 3", "--notify", "slack:https://hooks.slack.com/SECRET"]) == 0
    printed = capsys.readouterr()
    assert "SECRET" not in printed.out + printed.err
    assert "slack:env:NAME" in printed.err


def test_a_backtest_over_two_logs(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--backtest", f"logs:{SMP}", f"logs:{SMP}", "--when", "step_time > 5", "--when", "loss > 100"]
    code, document, said = _alert(capsys, *argv)
    assert (code, said) == (1, "")
    assert [(rule["state"], rule["jobs_firing"]) for rule in document["rules"]] == [("firing", 2), ("ok", 0)]
    assert all(set(rule) >= _KEYS for rule in document["rules"])
    assert len(document["jobs"]) == 2
    assert document["jobs"][0]["rules"][0]["alerts"][0]["node"] == "algo-2"
    assert main(["alert", *argv]) == 1
    text = capsys.readouterr().out
    assert "2 of 2 jobs" in text


def test_backtests_of_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alert", "--backtest", "logs:none", f"logs:{SMP}", "--when", "loss > 100"]) == 3
    printed = capsys.readouterr()
    assert "left out" in printed.err
    assert "nothing" in printed.out
    assert main(["alert", "--backtest", "logs:none", "--when", "loss > 100"]) == 3
    assert main(["alert", "a", "b", "--when", "loss > 100"]) == 2
    assert "Name one" in capsys.readouterr().err


def test_a_backtest_of_the_account(read_before: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    name = _name(read_before, "llama2-7b-fsdp")
    argv = ("--backtest", name, "--when", "step_time > 1.15x for 5m", "--when", "cost_usd > 50")
    code, document, _ = _alert(capsys, *argv)
    assert code == 1
    slow = document["jobs"][0]["rules"][0]["alerts"][0]
    assert slow["node"] == "algo-3"
    assert slow["seconds_before_end"] > 600
    assert slow["usd_after"] > slow["wasted_usd_after"] > 0
    assert _alert(capsys, *argv)[1] == document


def test_a_topic_gets_an_alert_once(read_before: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.sns.models import sns_backends

    backend = sns_backends[DEFAULT_ACCOUNT_ID]["us-east-1"]
    topic = backend.create_topic("training")
    argv = [_name(read_before, "llama2-7b-fsdp"), "--when", "finding slow-node", "--notify", f"sns:{topic.arn}"]
    for _ in range(2):
        assert _alert(capsys, *argv)[0] == 1
    (sent,) = topic.sent_notifications
    assert "algo-3" in sent[2]


def test_a_topic_that_is_not_there_is_told(read_before: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    sink = "sns:arn:aws:sns:us-east-1:123456789012:nobody"
    argv = [_name(read_before, "llama2-7b-fsdp"), "--when", "finding slow-node", "--notify", sink]
    code, _, said = _alert(capsys, *argv)
    assert code == 1
    assert f"{sink} did not accept an alert" in said
    assert said.count("\n") == 1


def test_a_watch_of_a_job_that_is_over_ends_at_once(
    read_before: DemoAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["alert", _name(read_before, "vit-630m-mics-4"), "--watch", "--when", "cost_usd > 1000"]) == 0
    out = capsys.readouterr().out
    assert "The job has ended: completed" in out
    assert "No alert." in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--notify", "slak:https://x"], "nearest is slack"),
        (["--notify", "slack:env:NOT_SET_AT_ALL"], "NOT_SET_AT_ALL is empty or not set"),
        (["--watch", "--interval", "soon"], "--interval soon"),
        (["--cool-down", "soon"], "--cool-down soon"),
        (["--backtest", "--watch"], "--watch"),
    ],
)
def test_wrong_calls_of_watch_and_notify(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alert", f"logs:{SMP}", "--when", "loss > 3", *argv]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


def test_step_times_are_published(read_before: DemoAccount, capsys: pytest.CaptureFixture[str]) -> None:
    from monitor.aws.clients import Clients

    name = _name(read_before, "gpt2-10b")
    assert main(["alert", name, "--when", "loss < -1", "--publish"]) == 0
    assert capsys.readouterr().err == ""
    listed = Clients().call("cloudwatch", "list_metrics", Namespace="Trainwatch")["Metrics"]
    dimensions = {tuple(each["Value"] for each in metric["Dimensions"]) for metric in listed}
    assert dimensions >= {(name,), (name, f"{name}/algo-1")}
    assert main(["alert", f"logs:{SMP}", "--when", "loss < -1", "--publish"]) == 2
    assert "--publish" in capsys.readouterr().err


def test_what_cannot_be_published_is_told(
    read_before: DemoAccount,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from monitor.aws.clients import Clients
    from monitor.errors import NotAllowed

    real = Clients.call

    def call(self: Clients, service: str, method: str, **parameters: Any) -> dict[str, Any]:
        if method == "put_metric_data":
            raise NotAllowed("AWS does not allow cloudwatch:PutMetricData to these credentials.", "Have it allowed.")
        return real(self, service, method, **parameters)

    monkeypatch.setattr(Clients, "call", call)
    argv = ["alert", _name(read_before, "gpt2-10b"), "--publish", "--when"]
    assert main([*argv, "loss < -1"]) == 3
    assert "Step times were not published" in capsys.readouterr().err
    assert main([*argv, "loss > -1"]) == 1


def test_an_archive_is_judged_as_of_then_and_backtested_as_a_whole(
    read_before: DemoAccount,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    slow, running, root = _name(read_before, "llama2-7b-fsdp"), _name(read_before, "gpt2-10b"), str(tmp_path / "kept")
    assert main(["archive", slow, running, "--to", root, "--quiet"]) == 0
    capsys.readouterr()
    rule = ("--when", "step_time > 1.15x for 5m")
    code, document, _ = _alert(capsys, "--backtest", "--archive", root, *rule)
    assert (code, {job["name"] for job in document["jobs"]}) == (1, {slow, running})
    assert document["rules"][0]["node"] == "algo-3"
    assert _alert(capsys, "--backtest", f"archive:{root}/{slow}", *rule)[0] == 1
    assert _alert(capsys, slow, "--archive", root, *rule)[0] == 1
    # The running job stands still in the archive: a watch of it is one look.
    assert main(["alert", running, "--archive", root, "--watch", "--when", "seconds_since_last_step > 600"]) == 0
    assert "No alert." in capsys.readouterr().out
    assert main(["alert", "--backtest", "--archive", str(tmp_path / "none"), *rule]) == 3
    assert "none" in capsys.readouterr().err
