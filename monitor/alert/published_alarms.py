"""Which alarms keep a rule about steps? Those on the metrics that ``alert --watch --publish`` puts into CloudWatch."""

from __future__ import annotations

import math

from monitor.alert.alarm import Series, Statistic
from monitor.alert.conditions import Rule, Threshold
from monitor.alert.kept import Form, Kept, cannot, too_long
from monitor.alert.publish import JOB, NAMESPACE, SILENCE, STEP_TIME
from monitor.model import Job
from monitor.model.host_metrics import host_name

_MINUTE_S = 60
_WHY_MISSING = "these figures come from a watch, and a minute without any says nothing about the job"


def step_alarms(job: Job, rule: Rule, when: Threshold, topics: tuple[str, ...]) -> Kept:
    """``step_time``: one alarm a node for ``any``, one on the series over all hosts for ``all`` and ``mean``."""
    period_s, statistic = _period_s(when), _statistic(when)
    if why := too_long(when, period_s):
        return cannot(why)
    if not job.nodes:
        return cannot("The instances of this job are not known.")
    form = Form(job.name, rule, when, "ignore", _WHY_MISSING, topics)
    of_job = ((JOB, job.name),)
    notes = [_needs_watch(job)]
    if when.scope in {"all", "mean"}:
        series = Series(NAMESPACE, STEP_TIME, of_job, statistic, period_s)
        return Kept((form.alarm(when.scope, job.node_names, (series,), when.value),), notes=tuple(notes))
    asked = job.node_names if when.scope == "any" else (when.scope,)
    alarms = []
    for node in asked:
        on_host = (*of_job, ("Host", host_name(job.name, node)))
        series = Series(NAMESPACE, STEP_TIME, on_host, statistic, period_s)
        alarms.append(form.alarm(node, (node,), (series,), when.value))
    if len(asked) > 1:
        notes.append(
            "if the log does not show a node's steps, that node's alarm has no data; with `on mean` or `on all` "
            "there is one alarm for the job."
        )
    return Kept(tuple(alarms), notes=tuple(notes))


def silence_alarms(job: Job, rule: Rule, when: Threshold, topics: tuple[str, ...]) -> Kept:
    """``seconds_since_last_step``, which is published of the job: since the last step of any node."""
    if why := too_long(when, _MINUTE_S):
        return cannot(why)
    several = len(job.nodes) > 1
    if several and (when.scope == "mean" or when.scope.startswith("algo-")):
        return cannot(f"--publish sends the time since the last step of the job, not {_of(when.scope)}.")
    form = Form(job.name, rule, when, "ignore", _WHY_MISSING, topics)
    series = Series(NAMESPACE, SILENCE, ((JOB, job.name),), "Maximum", _MINUTE_S)
    notes = [_needs_watch(job)]
    if several and when.scope == "any":
        notes.append(
            "the published figure is the time since any node's last step, so a single node that falls silent is not "
            "noticed."
        )
    return Kept((form.alarm("job", job.node_names, (series,), when.value),), notes=tuple(notes))


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
