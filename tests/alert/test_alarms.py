"""Which rules CloudWatch can keep, with which alarms; and how they come and go on an account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from monitor.alert.alarms.alarm import Alarm, AlarmPlan, alarm_name, create, delete, parameters, parts, prefix_of
from monitor.alert.alarms.plan import alarms_of
from monitor.alert.rules import rules_of
from monitor.aws.calls import Pacer
from monitor.aws.clients import Clients
from monitor.errors import CannotDo, Throttled
from monitor.model import InstanceGroup, Job, Node
from tests.aws.fake import REGION, offline
from tests.builders import nodes_of

__all__ = ["offline"]

TOPIC = "arn:aws:sns:us-east-1:123456789012:training"
SMALL = Node("algo-2", "ml.g5.12xlarge", 4, 48)


def _job(nodes: tuple[Node, ...] = nodes_of(2), **changes: Any) -> Job:
    return replace(Job("vit", status="InProgress", nodes=nodes), **changes)


def _plan(*expressions: str, job: Job | None = None, topics: tuple[str, ...] = ()) -> AlarmPlan:
    return alarms_of(job or _job(), rules_of(expressions), topics)


def _one(expression: str, job: Job | None = None) -> Alarm:
    (alarm,) = _plan(expression, job=job).alarms
    return alarm


def test_any_is_an_alarm_a_node_in_sums_over_its_gpus() -> None:
    plan = _plan("gpu_utilization < 40 for 10m")
    assert [alarm.on for alarm in plan.alarms] == ["algo-1", "algo-2"]
    told = parameters(plan.alarms[1])
    assert told | {"AlarmName": "", "AlarmDescription": ""} == {
        "AlarmName": "",
        "AlarmDescription": "",
        "ActionsEnabled": True,
        "AlarmActions": [],
        "OKActions": [],
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": "GPUUtilization",
        "Dimensions": [{"Name": "Host", "Value": "vit/algo-2"}],
        "Statistic": "Average",
        "Period": 60,
        "EvaluationPeriods": 10,
        "DatapointsToAlarm": 10,
        "ComparisonOperator": "LessThanThreshold",
        "Threshold": 320.0,
        "TreatMissingData": "notBreaching",
    }
    assert "40 % x 8 GPUs" in told["AlarmDescription"]
    assert plan.usd_per_month == 0.2


@pytest.mark.parametrize(
    ("expression", "threshold", "periods", "comparison"),
    [
        ("gpu_memory_utilization >= 97 on algo-1", 776, 1, "GreaterThanOrEqualToThreshold"),
        ("cpu_utilization > 90 for 90s on algo-1", 8640, 2, "GreaterThanThreshold"),
        ("memory_utilization > 95 for 1h on algo-2", 95, 60, "GreaterThanThreshold"),
        ("disk_utilization <= 3 for 24h on algo-2", 3, 1440, "LessThanOrEqualToThreshold"),
    ],
)
def test_scales_and_periods(expression: str, threshold: float, periods: int, comparison: str) -> None:
    alarm = _one(expression)
    assert (alarm.threshold, alarm.periods, alarm.comparison) == (threshold, periods, comparison)


@pytest.mark.parametrize(
    ("expression", "nodes", "formula", "threshold"),
    [
        ("gpu_utilization < 40 for 10m on all", nodes_of(2), "MAX([m1, m2])", 320),
        ("gpu_utilization > 90 on all", nodes_of(2), "MIN([m1, m2])", 720),
        ("gpu_utilization < 40 on mean", nodes_of(3), "AVG([m1, m2, m3])", 320),
        ("gpu_utilization < 40 on mean", (*nodes_of(1), SMALL), "AVG([m1/8, m2/4])", 40),
        ("gpu_utilization < 40 on all", nodes_of(1), "", 320),
    ],
)
def test_all_and_mean_are_math(expression: str, nodes: tuple[Node, ...], formula: str, threshold: float) -> None:
    alarm = _one(expression, _job(nodes))
    assert (alarm.expression, alarm.threshold) == (formula, threshold)
    assert alarm.usd_per_month == pytest.approx(0.1 * len(nodes))
    if formula:
        queries = parameters(alarm)["Metrics"]
        assert [query["Id"] for query in queries if query["ReturnData"]] == ["e1"]
        assert not {"MetricName", "Period", "Statistic"} & set(parameters(alarm))


def test_more_nodes_than_an_expression_takes_are_several_alarms() -> None:
    plan = _plan("gpu_utilization < 40 for 10m on mean", job=_job(nodes_of(25)))
    assert [len(alarm.series) for alarm in plan.alarms] == [9, 8, 8]
    assert plan.alarms[0].on == "mean-algo-1-to-algo-9"
    assert any("at most 10 metrics" in note for note in plan.notes)
    assert plan.usd_per_month == 2.5


@given(st.integers(1, 300))
def test_parts_are_few_and_even(count: int) -> None:
    names = [f"algo-{number}" for number in range(count)]
    split = parts(names)
    assert [name for part in split for name in part] == names
    assert len(split) == -(-count // 10)
    assert max(map(len, split)) - min(map(len, split)) <= 1


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("step_time > 1.3x", "own median"),
        ("gpu_utilization < 40 for 20 steps", "not steps"),
        ("throughput < 100", "not throughput"),
        ("loss > 3", "not the loss"),
        ("cost_usd > 100", "not a CloudWatch metric"),
        ("finding stall", "finding"),
        ("gpu_utilization < 40 for 25h", "one day"),
        ("gpu_utilization < 40 on algo-9", "its nodes are algo-1, algo-2"),
        ("seconds_since_last_step > 900 on algo-2", "not that of algo-2"),
    ],
)
def test_what_cannot_be_kept_says_why(expression: str, why: str) -> None:
    plan = _plan(expression, "memory_utilization > 90 on algo-1")
    (refused,) = plan.not_expressible
    assert why in refused.why
    assert len(plan.alarms) == 1


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (Node("algo-1", "ml.c5.xlarge", 0, 4), "has no GPU"),
        (Node("algo-1", "ml.new"), "number of GPUs of ml.new is not known"),
        (Node("algo-1"), "which node is of which type (ml.a and ml.b)"),
    ],
)
def test_without_a_count_of_gpus_there_is_no_threshold(node: Node, why: str) -> None:
    groups = (InstanceGroup("x", "ml.a", 1), InstanceGroup("y", "ml.b", 1))
    for expression in ("gpu_utilization < 40", "gpu_utilization < 40 on all"):
        plan = _plan(expression, job=_job((node,), instance_groups=groups))
        assert plan.alarms == ()
        assert why in plan.not_expressible[0].why


def test_steps_are_what_a_watch_publishes() -> None:
    slow = _one("step_time > 45 for 10m on all")
    assert slow.series[0].dimensions == (("TrainingJobName", "vit"),)
    # Steps of up to 90 s end in every period, and each of them has to be slow.
    assert (slow.period_s, slow.periods, slow.series[0].statistic, slow.missing) == (120, 5, "Minimum", "ignore")
    each = _plan("step_time > 2 for 5m")
    assert [alarm.series[0].dimensions[1] for alarm in each.alarms] == [("Host", "vit/algo-1"), ("Host", "vit/algo-2")]
    assert "--watch --publish" in each.notes[0]
    silent = _one("seconds_since_last_step > 900")
    assert (silent.series[0].metric, silent.threshold, silent.on) == ("SecondsSinceLastStep", 900, "job")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("gpu_utilization < 40 on mean", "gpu_utilization < 40 on mean. The threshold is 40 % x 8 GPUs."),
        ("memory_utilization > 9 on algo-1", "memory_utilization > 9 on algo-1. Made"),
        ("seconds_since_last_step > 900", "seconds_since_last_step > 900, of the whole job. Made"),
    ],
)
def test_a_description_says_the_rule(expression: str, text: str) -> None:
    assert text in _one(expression).description


def test_topics_of_the_call_and_of_the_rule_are_told() -> None:
    (rule,) = rules_of(["memory_utilization > 90 on algo-1"])
    other = f"{TOPIC}-2"
    plan = alarms_of(_job(), [replace(rule, notify=(f"sns:{other}", "stdout"))], (TOPIC,))
    told = parameters(plan.alarms[0])
    assert told["AlarmActions"] == told["OKActions"] == [TOPIC, other]
    assert any("stdout" in note for note in plan.notes)
    assert any("The alarms notify nobody" in note for note in _plan("memory_utilization > 90").notes)


def test_a_job_that_is_over_and_a_price_that_nobody_knows() -> None:
    plan = _plan("memory_utilization > 90", job=_job(status="Stopped", arn="arn:aws-cn:sagemaker:cn-north-1:1:x"))
    assert plan.usd_per_month is None
    assert any("has ended (stopped)" in note for note in plan.notes)


_RULE = st.text("ab/-\n", min_size=1, max_size=12).flatmap(lambda text: st.sampled_from([text, 30 * text]))


@given(_RULE, _RULE)
def test_names_are_short_distinct_and_begin_with_the_job(one: str, other: str) -> None:
    job = "j" * 63
    name = alarm_name(job, one, "mean-algo-100-to-algo-109")
    assert len(name) <= 255
    assert name.startswith(prefix_of(job))
    assert not any(ord(character) < 32 for character in name)
    assert (name == alarm_name(job, other, "mean-algo-100-to-algo-109")) == (one == other)


@pytest.fixture
def clients(offline: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    monkeypatch.setattr(Pacer, "wait", lambda self, operation: None)
    with mock_aws():
        yield Clients(REGION)


def _names(clients: Clients) -> set[str]:
    return {row["AlarmName"] for row in clients.call("cloudwatch", "describe_alarms")["MetricAlarms"]}


def test_create_again_changes_what_changed_and_delete_finds_all(clients: Clients) -> None:
    first = _plan("gpu_utilization < 40 for 10m", "gpu_utilization < 40 on mean", "step_time > 9").alarms
    other = _plan("memory_utilization > 90", job=_job(name="vit-2")).alarms
    create(clients, "vit-2", other)
    assert create(clients, "vit", first).created == tuple(alarm.name for alarm in first)
    again = create(clients, "vit", first)
    assert (again.created, again.changed, again.removed, len(again.unchanged)) == ((), (), (), 5)

    told = _plan("gpu_utilization < 40 on mean", "gpu_utilization < 45 on algo-1", topics=(TOPIC,)).alarms
    third = create(clients, "vit", told)
    assert (third.created, third.changed) == ((told[1].name,), (told[0].name,))
    assert set(third.removed) == {alarm.name for alarm in first} - {told[0].name}
    assert _names(clients) == {alarm.name for alarm in (*told, *other)}

    assert set(delete(clients, "vit")) == {alarm.name for alarm in told}
    assert delete(clients, "vit") == ()
    assert _names(clients) == {alarm.name for alarm in other}


def test_alarms_are_tagged(clients: Clients) -> None:
    (alarm,) = _plan("memory_utilization > 90 on algo-1").alarms
    create(clients, "vit", [alarm])
    arn = f"arn:aws:cloudwatch:{REGION}:123456789012:alarm:{alarm.name}"
    tags = clients.call("cloudwatch", "list_tags_for_resource", ResourceARN=arn)["Tags"]
    assert {"Key": "trainwatch:job", "Value": "vit"} in tags


class _Stub:
    """CloudWatch with pages, and a quota that is used up."""

    def __init__(self, count: int) -> None:
        self.rows = [{"AlarmName": f"{prefix_of('vit')}{number}"} for number in range(count)]
        self.deleted: list[list[str]] = []

    def call(self, service: str, method: str, **told: Any) -> dict[str, Any]:
        if method == "describe_alarms":
            start = int(told.get("NextToken", 0))
            more = {"NextToken": str(start + 100)} if start + 100 < len(self.rows) else {}
            return {"MetricAlarms": self.rows[start : start + 100], **more}
        if method == "put_metric_alarm":
            raise Throttled("AWS kept throttling requests (cloudwatch:PutMetricAlarm, LimitExceeded).")
        self.deleted.append(told["AlarmNames"])
        return {}


def test_pages_of_alarms_are_deleted_a_hundred_at_once() -> None:
    stub = _Stub(250)
    assert len(delete(stub, "vit")) == 250  # type: ignore[arg-type]
    assert [len(names) for names in stub.deleted] == [100, 100, 50]


def test_a_quota_of_alarms_is_no_pace() -> None:
    stub = _Stub(3)
    with pytest.raises(CannotDo, match="limit of alarms") as caught:
        create(stub, "vit", _plan("memory_utilization > 90").alarms)  # type: ignore[arg-type]
    assert not isinstance(caught.value, Throttled)
    assert stub.deleted == []
