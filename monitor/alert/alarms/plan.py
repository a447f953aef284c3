"""Which of a job's rules CloudWatch can evaluate by itself, with which alarms, and why not the others: rules on a host's devices,
and rules on steps, whose times ``alert --watch --publish`` puts into CloudWatch as metrics of its own.

Namespace ``Trainwatch``; ``StepTime`` (seconds, a statistic set a minute) with the dimensions ``TrainingJobName`` and
``Host``, and over all hosts with ``TrainingJobName`` alone; ``SecondsSinceLastStep`` of the job as of each look.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from monitor.alert.alarms.alarm import (
    MOST_METRICS,
    Alarm,
    AlarmPlan,
    AlarmTemplate,
    NotExpressible,
    RuleAlarms,
    Series,
    Statistic,
    cannot,
    parts,
    too_long,
)
from monitor.alert.conditions import MEASURES, AlertRule, FindingCondition, Threshold, number
from monitor.alert.ledger import Ledger
from monitor.alert.sinks.names import sink_of
from monitor.diagnose.headline import status_word
from monitor.model import ENDED_STATUSES, Job, Node, Report
from monitor.model.host_metrics import HOST_METRIC_NAMES, HOST_NAMESPACE, OF_WORK, devices, devices_word, host_name
from monitor.model.job import partition_of

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

NAMESPACE = "Trainwatch"
STEP_TIME, SILENCE = "StepTime", "SecondsSinceLastStep"
#: The dimension that names the job.
JOB = "TrainingJobName"
# PutMetricData takes as many at once.
_AT_ONCE = 1000
# Lines of the last minutes may still come; what is older than this is history, not worth an alarm.
_SETTLED, _HISTORY = timedelta(minutes=2), timedelta(hours=3)


def publish(clients: Clients, ledger: Ledger, report: Report, now: datetime) -> int:
    """Sends the minutes that were not sent before; how many figures that were. Errors of ``monitor.errors``."""
    mark = f"published {report.job.arn or report.job.name}"
    known = ledger.mark(mark)
    after = now - _HISTORY if known is None else datetime.fromtimestamp(known, UTC)
    until = (now - _SETTLED).replace(second=0, microsecond=0)
    figures = [*step_times(report, after, until), *silence(report, now)]
    for place in range(0, len(figures), _AT_ONCE):
        clients.call("cloudwatch", "put_metric_data", Namespace=NAMESPACE, MetricData=figures[place : place + _AT_ONCE])
    # A process that dies before this sends a minute twice: its mean stays the same.
    ledger.set_mark(mark, max(until.timestamp(), known or 0.0))
    return len(figures)


def step_times(report: Report, after: datetime, until: datetime) -> Iterator[dict[str, Any]]:
    """One figure for each host and minute with steps in it, and one for the job; from ``after`` to before ``until``."""
    rows = report.run.steps
    rows = rows[
        rows["step_time_s"].notna() & ~rows["warm_up"] & (rows["timestamp"] >= after) & (rows["timestamp"] < until)
    ]
    rows = rows.assign(minute=rows["timestamp"].dt.floor("min"))
    yield from _sets(report, rows, ["minute", "node"])
    yield from _sets(report, rows, ["minute"])


def silence(report: Report, now: datetime) -> Sequence[dict[str, Any]]:
    """How long no step was reported, in a running job that reported one."""
    last = report.run.steps["timestamp"].max() if len(report.run.steps) else pd.NaT
    if pd.isna(last) or not report.job.is_running:
        return ()
    seconds = max(0.0, (now - last.to_pydatetime()).total_seconds())
    return ({**_about(report, SILENCE, now), "Value": round(seconds, 3)},)


def _sets(report: Report, rows: pd.DataFrame, by: list[str]) -> Iterator[dict[str, Any]]:
    figures = rows.groupby(by, observed=True)["step_time_s"].agg(["count", "sum", "min", "max"])
    for place, row in figures.iterrows():
        minute, node = place if len(by) == 2 else (place, "")
        if len(by) == 2 and not node:
            continue
        yield {
            **_about(report, STEP_TIME, minute.to_pydatetime(), str(node)),
            "StatisticValues": {
                "SampleCount": float(row["count"]),
                "Sum": float(row["sum"]),
                "Minimum": float(row["min"]),
                "Maximum": float(row["max"]),
            },
        }


def _about(report: Report, name: str, at: datetime, node: str = "") -> dict[str, Any]:
    dimensions = [{"Name": JOB, "Value": report.job.name}]
    if node:
        dimensions.append({"Name": "Host", "Value": f"{report.job.name}/{node}"})
    return {"MetricName": name, "Dimensions": dimensions, "Timestamp": at, "Unit": "Seconds"}


_WHY_NOT = {
    "throughput": "CloudWatch has no such metric: --publish sends step times there, but not throughput.",
    "loss": "CloudWatch has no such metric: --publish sends step times there, but not the loss.",
    "cost_usd": "The cost of a job is not a CloudWatch metric; alert --watch checks this rule.",
}


def alarms_of(job: Job, rules: Sequence[AlertRule], topics: Sequence[str] = ()) -> AlarmPlan:
    """The plan for ``rules``; ``topics`` are told of all of them, beside those that a rule names itself."""
    kept = {rule.name: _alarms_of_rule(job, rule, (*topics, *_topics(rule))) for rule in rules}
    alarms = tuple(chain.from_iterable(each.alarms for each in kept.values()))
    refused = tuple(NotExpressible(name, why) for name, each in kept.items() for why in each.why_not)
    price = round(sum(alarm.usd_per_month for alarm in alarms), 2) if _has_price(job) else None
    return AlarmPlan(job.name, alarms, refused, (*_of_rules(kept), *_notes(job, rules, alarms)), price)


def _alarms_of_rule(job: Job, rule: AlertRule, topics: tuple[str, ...]) -> RuleAlarms:
    when = rule.when
    if isinstance(when, FindingCondition):
        return cannot("A finding needs the log and a full review, which CloudWatch cannot do.")
    why = _why_not(when) or _no_such_node(job, when)
    if why:
        return cannot(why)
    kind = MEASURES[when.metric].kind
    make = {"host": host_alarms, "step": step_alarms, "silence": silence_alarms}[kind]
    return make(job, rule, when, tuple(dict.fromkeys(topics)))


def _why_not(when: Threshold) -> str:
    if when.metric in _WHY_NOT:
        return _WHY_NOT[when.metric]
    if when.gpu is not None:
        return "CloudWatch has no figures for single GPUs; `alert --watch` reads them from the job's profiler."
    if when.relative:
        return "CloudWatch does not know the job's own median; state a number instead of a multiple."
    if when.lasting is not None and when.lasting.steps is not None:
        return "CloudWatch counts minutes, not steps; give a time instead, such as 10m."
    return ""


def _no_such_node(job: Job, when: Threshold) -> str:
    if not when.scope.startswith("algo-") or when.scope in job.node_names:
        return ""
    named = ", ".join(job.node_names[:8]) + (" …" if len(job.node_names) > 8 else "")
    return f"The job has no node {when.scope}; its nodes are {named}."


def _topics(rule: AlertRule) -> Iterable[str]:
    return (sink.target for sink in map(sink_of, rule.notify) if sink.kind == "sns")


def _of_rules(by_rule: Mapping[str, RuleAlarms]) -> Iterable[str]:
    """What is to be known of single rules, once for all that it is true of."""
    names: dict[str, list[str]] = {}
    for name, each in by_rule.items():
        for note in each.notes:
            names.setdefault(note, []).append(name)
    return (f"{', '.join(mine)}: {note}" for note, mine in names.items())


def _notes(job: Job, rules: Sequence[AlertRule], alarms: Sequence[Alarm]) -> Iterable[str]:
    if not alarms:
        return
    if job.status in ENDED_STATUSES:
        yield f"The job has ended ({status_word(job.status)}): its alarms would get no more data."
    kept = {alarm.rule for alarm in alarms}
    others = {
        sink.kind for rule in rules if rule.name in kept for sink in map(sink_of, rule.notify) if sink.kind != "sns"
    }
    if others:
        yield f"CloudWatch only notifies SNS topics; {', '.join(sorted(others))} sinks are left to alert --watch."
    silent = [name for name in kept if not any(alarm.actions for alarm in alarms if alarm.rule == name)]
    if silent:
        who = "The alarms" if len(silent) == len(kept) else f"The alarms of {', '.join(sorted(silent))}"
        yield f"{who} notify nobody: without an SNS topic (--sns ARN) an alarm only changes color in the console."


def _has_price(job: Job) -> bool:
    return partition_of(job.arn) in {None, "aws"}


_PERIOD_S = 60
_WHY_HOST_MISSING = (
    "the host sends nothing before the job starts and after it ends, which must neither fire the alarm nor keep it red"
)


def host_alarms(job: Job, rule: AlertRule, when: Threshold, topics: tuple[str, ...]) -> RuleAlarms:
    """The alarms of a rule about one of CloudWatch's five metrics of a host."""
    if why := too_long(when, _PERIOD_S):
        return cannot(why)
    if not job.nodes:
        return cannot("The instances of this job are not known.")
    asked = [node for node in job.nodes if not when.scope.startswith("algo-") or node.name == when.scope]
    counts = {node.name: count for node in asked if (count := devices(node, when.metric))}
    why_not = tuple(_without(job, asked, when.metric, some=bool(counts)))
    if not counts:
        return RuleAlarms(why_not=why_not)
    form = AlarmTemplate(job.name, rule, when, "notBreaching", _WHY_HOST_MISSING, topics)
    if when.scope in {"all", "mean"} and len(counts) > 1:
        if any(node.name not in counts and devices(node, when.metric) is None for node in asked):
            return RuleAlarms(why_not=why_not)
        alarms = tuple(_together(form, part, counts, len(counts)) for part in parts(tuple(counts)))
    else:
        alarms = tuple(_of_node(form, name, count) for name, count in counts.items())
    return RuleAlarms(alarms, why_not, tuple(_host_notes(when, len(counts))))


def _without(job: Job, nodes: Sequence[Node], metric: str, some: bool) -> list[str]:
    """Why nodes have no alarm, a sentence for each instance type; ``some`` others have one."""
    word, reasons = devices_word(metric), {}
    for node in nodes:
        count = devices(node, metric)
        if count == 0 and not some:
            reasons[node.instance_type] = f"{node.instance_type} has no {word[:-1]}."
        elif count is None and node.instance_type is None:
            groups = " and ".join(dict.fromkeys(group.instance_type for group in job.instance_groups))
            reasons[None] = (
                f"AWS does not say which node is of which type ({groups or 'unknown'}), and CloudWatch's figure is a "
                f"sum over a node's {word}."
            )
        elif count is None:
            reasons[node.instance_type] = (
                f"The number of {word} of {node.instance_type} is not known, and CloudWatch's figure is a sum over them."
            )
    return list(reasons.values())


def _series(form: AlarmTemplate, node: str) -> Series:
    host = (("Host", host_name(form.job, node)),)
    return Series(HOST_NAMESPACE, HOST_METRIC_NAMES[form.when.metric], host, "Average", _PERIOD_S)


def _of_node(form: AlarmTemplate, node: str, count: int) -> Alarm:
    return form.alarm(node, (_series(form, node),), form.when.value * count, _meaning(form.when, count))


def _together(form: AlarmTemplate, nodes: tuple[str, ...], counts: dict[str, int], total: int) -> Alarm:
    """Their mean, or for ``all`` the node that is nearest to the other side."""
    when = form.when
    function = "AVG" if when.scope == "mean" else "MAX" if when.op.startswith("<") else "MIN"
    sizes = {counts[node] for node in nodes}
    places = enumerate(nodes, 1)
    if len(sizes) == 1:
        (count,) = sizes
        terms, scale, meaning = [f"m{place}" for place, _ in places], count, _meaning(when, count)
    else:
        # Hosts of different size are compared in percent of one device.
        terms, scale, meaning = [f"m{place}/{counts[node]}" for place, node in places], 1, ""
    on = when.scope if len(nodes) == total else f"{when.scope}-{nodes[0]}-to-{nodes[-1]}"
    series = tuple(_series(form, node) for node in nodes)
    return form.alarm(on, series, when.value * scale, meaning, f"{function}([{', '.join(terms)}])")


def _meaning(when: Threshold, count: int) -> str:
    word = devices_word(when.metric)
    return f"{number(when.value)} % x {count} {word if count > 1 else word[:-1]}" if word else ""


def _host_notes(when: Threshold, nodes: int) -> list[str]:
    notes = []
    if when.scope in {"all", "mean"} and nodes > MOST_METRICS:
        what = "the mean of each part" if when.scope == "mean" else "each part separately"
        notes.append(
            f"an expression can have at most {MOST_METRICS} metrics, so the {nodes} nodes are split, and an alarm "
            f"judges {what}: it can fire where the rule would not."
        )
    if when.metric in OF_WORK and when.op.startswith("<"):
        words = MEASURES[when.metric].words
        notes.append(
            f"CloudWatch does not know when the first step was, so low {words} while the job initializes also counts."
        )
    return notes


_MINUTE_S = 60
_WHY_PUBLISHED_MISSING = "these figures come from a watch, and a minute without any says nothing about the job"


def step_alarms(job: Job, rule: AlertRule, when: Threshold, topics: tuple[str, ...]) -> RuleAlarms:
    """``step_time``: one alarm a node for ``any``, one on the series over all hosts for ``all`` and ``mean``."""
    period_s, statistic = _period_s(when), _statistic(when)
    if why := too_long(when, period_s):
        return cannot(why)
    if not job.nodes:
        return cannot("The instances of this job are not known.")
    form = AlarmTemplate(job.name, rule, when, "ignore", _WHY_PUBLISHED_MISSING, topics)
    of_job = ((JOB, job.name),)
    notes = [_needs_watch(job)]
    if when.scope in {"all", "mean"}:
        series = Series(NAMESPACE, STEP_TIME, of_job, statistic, period_s)
        return RuleAlarms((form.alarm(when.scope, (series,), when.value),), notes=tuple(notes))
    asked = job.node_names if when.scope == "any" else (when.scope,)
    alarms = []
    for node in asked:
        on_host = (*of_job, ("Host", host_name(job.name, node)))
        series = Series(NAMESPACE, STEP_TIME, on_host, statistic, period_s)
        alarms.append(form.alarm(node, (series,), when.value))
    if len(asked) > 1:
        notes.append(
            "if the log does not show a node's steps, that node's alarm has no data; with `on mean` or `on all` "
            "there is one alarm for the job."
        )
    return RuleAlarms(tuple(alarms), notes=tuple(notes))


def silence_alarms(job: Job, rule: AlertRule, when: Threshold, topics: tuple[str, ...]) -> RuleAlarms:
    """``seconds_since_last_step``, which is published of the job: since the last step of any node."""
    if why := too_long(when, _MINUTE_S):
        return cannot(why)
    several = len(job.nodes) > 1
    if several and (when.scope == "mean" or when.scope.startswith("algo-")):
        return cannot(f"--publish sends the time since the last step of the job, not {_of(when.scope)}.")
    form = AlarmTemplate(job.name, rule, when, "ignore", _WHY_PUBLISHED_MISSING, topics)
    series = Series(NAMESPACE, SILENCE, ((JOB, job.name),), "Maximum", _MINUTE_S)
    notes = [_needs_watch(job)]
    if several and when.scope == "any":
        notes.append(
            "the published figure is the time since any node's last step, so a single node that falls silent is not "
            "noticed."
        )
    return RuleAlarms((form.alarm("job", (series,), when.value),), notes=tuple(notes))


def _of(scope: str) -> str:
    return "the mean over its nodes" if scope == "mean" else f"that of {scope}"


def _needs_watch(job: Job) -> str:
    return (
        f"there are figures only while `alert {job.name} --watch --publish` runs; AWS charges for these custom "
        "metrics in addition to the alarms."
    )


def _period_s(when: Threshold) -> int:
    """Long enough that a step as long as the threshold, and up to twice that, ends in each period."""
    return max(_MINUTE_S, _MINUTE_S * math.ceil(2 * when.value / _MINUTE_S))


def _statistic(when: Threshold) -> Statistic:
    """Where each step counts, the one nearest to the other side; else the mean."""
    if when.scope == "mean" or (when.lasting is None and when.scope != "all"):
        return "Average"
    return "Minimum" if when.op.startswith(">") else "Maximum"
