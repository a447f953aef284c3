"""Was a finding reported that a rule asks for? Its absence counts only if the data it needs could be read."""

from __future__ import annotations

from typing import Literal

from monitor.alert.conditions import SEVERITIES, Found, Rule
from monitor.alert.verdict import Firing, Verdict
from monitor.diagnose.rulebook import rules
from monitor.model import Finding, Report

Need = Literal["metrics", "steps", "logs", "profiler", ""]

#: A family of rules (a file of monitor.diagnose) -> what it reads; "" where its silence always means something.
NEEDS: dict[str, Need] = {
    "failures": "logs",
    "progress": "steps",
    "transfers": "",
    "pace": "steps",
    "checkpoints": "steps",
    "spot_advice": "steps",
    "utilization": "metrics",
    "starvation": "metrics",
    "parallelism": "metrics",
    "low_utilization": "metrics",
    "memory": "metrics",
    "disk": "metrics",
    "activations": "metrics",
    "sizing": "metrics",
    "balance": "metrics",
    "configuration": "",
    "bubble": "",
    "microbatch": "metrics",
    "needless": "metrics",
    "precision": "",
    "low_mfu": "steps",
    "sharding": "",
    "network": "logs",
    "visibility": "",
    "single_gpus": "profiler",
    "host_waits": "profiler",
    "sub_minute": "profiler",
}
# These speak before a first step, or from status and reasons alone.
_OWN_NEEDS: dict[str, Need] = {
    "long-initialization": "",
    "slow-node": "",
    "max-runtime": "",
    "stopped-by-user": "",
    "capacity": "",
    "access-denied": "",
}


def findings_verdict(report: Report, rule: Rule, when: Found) -> Verdict:
    """The verdict of ``finding ID`` or ``finding critical``."""
    said = [found for found in report.findings if when.subject in {found.id, found.severity}]
    if said:
        firing = tuple(_firing(found) for found in said)
        first = firing[0]
        return Verdict(rule, "firing", first.node, first.since, firing=firing, summary=said[0].summary)
    lacks = missing(report, when.subject)
    return Verdict(rule, "no data", why=lacks) if lacks else Verdict(rule, "ok")


def missing(report: Report, subject: str) -> str:
    """Why nothing can be said of a finding, or of a severity; empty where its silence means something."""
    if report.broken and (subject in SEVERITIES or subject in report.broken):
        return " ".join(f"{gap.why} {gap.remedy}" for gap in report.faults if gap.what == "program")
    need: Need = "logs" if subject in SEVERITIES else _need(subject)
    run = report.run
    if run.job.source == "aws" and run.job.started is None:
        return ""  # what has not begun does none of it
    if need == "metrics" and run.metrics.empty:
        return _because(report, "metrics", "This finding needs metrics, and there are none.")
    if need == "profiler" and run.gpus.empty:
        return _because(report, "profiler", "This finding needs the output of the job's profiler, and none was read.")
    if need == "steps" and run.steps.empty:
        return _because(report, "logs", "This finding needs steps, and none were seen.")
    if need == "logs" and not run.logs.lines:
        return _because(report, "logs", "This finding needs log lines, and there are none.")
    return ""


def _need(finding_id: str) -> Need:
    if finding_id in _OWN_NEEDS:
        return _OWN_NEEDS[finding_id]
    family = next((rule.check.__module__.rpartition(".")[2] for rule in rules() if rule.id == finding_id), "")
    return NEEDS.get(family, "")


def _because(report: Report, what: str, sentence: str) -> str:
    gap = next((gap for gap in report.run.gaps if gap.what == what), None)
    return sentence if gap is None else " ".join(part for part in (sentence, gap.why, gap.remedy) if part)


def _firing(found: Finding) -> Firing:
    # The first evidence is what the finding is about; others go further back.
    since = next((evidence.start for evidence in found.evidence if evidence.start is not None), None)
    nodes = {evidence.node for evidence in found.evidence if evidence.node}
    return Firing(nodes.pop() if len(nodes) == 1 else None, since, None, None, None, found.id)
