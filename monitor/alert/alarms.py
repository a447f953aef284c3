"""Which of a job's rules can CloudWatch evaluate by itself, with which alarms, and why not the others?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from monitor.alert.alarm import Alarm, AlarmPlan, NotExpressible
from monitor.alert.conditions import Found, Rule, Threshold
from monitor.alert.host_alarms import host_alarms
from monitor.alert.kept import Kept, cannot
from monitor.alert.measures import MEASURES
from monitor.alert.published_alarms import silence_alarms, step_alarms
from monitor.alert.sink_names import sink_of
from monitor.diagnose.headline import status_word
from monitor.model import ENDED_STATUSES, Job
from monitor.model.arn import partition_of

_WHY_NOT = {
    "throughput": "CloudWatch has no such metric: --publish sends step times there, but not throughput.",
    "loss": "CloudWatch has no such metric: --publish sends step times there, but not the loss.",
    "cost_usd": "The cost of a job is not a CloudWatch metric; alert --watch checks this rule.",
}


def alarms_of(job: Job, rules: Sequence[Rule], topics: Sequence[str] = ()) -> AlarmPlan:
    """The plan for ``rules``; ``topics`` are told of all of them, beside those that a rule names itself."""
    kept = {rule.name: _kept(job, rule, (*topics, *_topics(rule))) for rule in rules}
    alarms = tuple(chain.from_iterable(each.alarms for each in kept.values()))
    refused = tuple(NotExpressible(name, why) for name, each in kept.items() for why in each.why_not)
    price = round(sum(alarm.usd_per_month for alarm in alarms), 2) if _has_price(job) else None
    return AlarmPlan(job.name, alarms, refused, (*_of_rules(kept), *_notes(job, rules, alarms)), price)


def _kept(job: Job, rule: Rule, topics: tuple[str, ...]) -> Kept:
    when = rule.when
    if isinstance(when, Found):
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


def _topics(rule: Rule) -> Iterable[str]:
    return (sink.target for sink in map(sink_of, rule.notify) if sink.kind == "sns")


def _of_rules(kept: Mapping[str, Kept]) -> Iterable[str]:
    """What is to be known of single rules, once for all that it is true of."""
    names: dict[str, list[str]] = {}
    for name, each in kept.items():
        for note in each.notes:
            names.setdefault(note, []).append(name)
    return (f"{', '.join(mine)}: {note}" for note, mine in names.items())


def _notes(job: Job, rules: Sequence[Rule], alarms: Sequence[Alarm]) -> Iterable[str]:
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
