"""Jobs that cross a threshold. Running ones as of now, finished ones as of their end; how thresholds are written on a page, and
drawn in the charts of a job: a line where the axis is of values, a frame around what crosses one in a heatmap.

Judged are the reviews of the jobs that the Jobs page reviews anyway, each of them once: no job is read for a threshold.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pandas as pd
import streamlit as st

from monitor import settings
from monitor.alert.conditions import MEASURES, AlertRule, Threshold, name_of
from monitor.alert.evaluate import ConditionStretch, RuleVerdict, judge, stretches_of, value_words, when_words
from monitor.alert.rules import saved
from monitor.charts.elements import Span, clipped
from monitor.choices import RuleSeverity
from monitor.diagnose.headline import status_word
from monitor.errors import BadCall, TrainwatchError
from monitor.installed import PROGRAM
from monitor.model import Report
from monitor.show import data
from monitor.show.trouble import advice
from monitor.words import count

#: Name, expression, how loud, and what it is good for: to begin with.
EXAMPLES: tuple[tuple[str, str, RuleSeverity, str], ...] = (
    ("idle GPUs", "gpu_utilization < 40% for 10 min", "warning", "GPUs you pay for that sit idle, on any node"),
    ("slow steps", "step_time > 1.3x for 20 steps", "warning", "Steps that take 1.3 times the job's own median so far"),
    (
        "no progress",
        "seconds_since_last_step > 15 min",
        "critical",
        "No step for 15 minutes: the job may be hanging",
    ),
)


def typed(text: str) -> str:
    """An expression on one line."""
    return " ".join(text.split())


def command(job: str | None, text: str, *options: str) -> str:
    """The same threshold at a terminal; expressions hold nothing that a shell would read inside quotes."""
    words = [f"{PROGRAM} alert", shlex.quote(job) if job else "JOB"]
    if root := os.environ.get(settings.ARCHIVE_SHOWN):
        words.append(f"--archive {shlex.quote(root)}")
    return " ".join([*words, f'--when "{typed(text)}"', *options])


def show_command(job: str | None, text: str) -> None:
    """Three commands, each with what it is for."""
    for what, options in (
        ("Once", ()),
        ("Until the job ends, with a line for anything new", ("--watch",)),
        ("On a finished job, with what stopping at the alert would have saved", ("--backtest",)),
    ):
        st.caption(what)
        st.code(command(job, text, *options), language=None, wrap_lines=True)


def show_grammar() -> None:
    """What can be typed, in a few lines."""
    names = " ".join(f"`{name}`" for name in MEASURES)
    st.markdown(
        f"`METRIC OP VALUE [for DURATION] [on SCOPE]`, or `finding ID`, `finding critical`\n\n"
        f"- **METRIC** {names}\n"
        "- **OP** `<` `<=` `>` `>=`\n"
        "- **VALUE** `40%`, `15 min`, `$500`, a plain number (percent, seconds, USD), or `1.3x`: a multiple of the job's own "
        "median so far\n"
        "- **DURATION** `90s` `10 min` `2h` `20 steps`, without a break\n"
        "- **SCOPE** `any` node (the default), `all` at once, their `mean`, one such as `algo-2`, "
        "or one of its GPUs: `algo-2/gpu5` (of jobs with a profiler)"
    )


def show_wrong(error: TrainwatchError, title: str) -> None:
    """What cannot be read, as the command line says it: a sentence, and a caret under the wrong word."""
    sentence, _, shown = error.message.partition("\n")
    st.error(advice(f"{sentence} {error.remedy}"), title=title, icon=":material/error:")
    if shown:
        st.code("\n".join(line.removeprefix("  ") for line in shown.split("\n")), language=None)


#: So long at most is judged in one go: a page with hundreds of verdicts to find fills in place.
PATIENCE_S = 0.8

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ThresholdResult:
    """What a threshold says of one job."""

    report: Report
    verdict: RuleVerdict

    @property
    def words(self) -> str:
        """``running · algo-3 and 2 more · 31 % · since 25 Sep, 14:05 UTC``; of a finding its title."""
        verdict, state = self.verdict, status_word(self.report.job.status)
        worst = verdict.firing[0] if verdict.firing else None
        more = len({one.node for one in verdict.firing}) - 1
        others = f" and {count(more, 'other node')}" if more > 0 else ""
        node = f"{verdict.node}{others}" if verdict.node else ""
        when = when_words(worst.since, worst.until) if worst else ""
        # Of a finding its title: its page tells the rest.
        title = next((each.title for each in self.report.findings if worst and each.id == worst.finding), "")
        parts = (state, "" if title else node, title or value_words(verdict), verdict.came_by, when)
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Crossings:
    """One threshold over the jobs that are reviewed."""

    crossed: tuple[ThresholdResult, ...]
    """Running jobs first."""
    unknown: tuple[ThresholdResult, ...]
    running: int
    """So many running jobs could be judged."""
    finished: int
    waiting: int
    """Reviewed, but not looked at yet."""

    @property
    def now(self) -> int:
        """How many running jobs cross it."""
        return sum(one.report.job.is_running for one in self.crossed)

    @property
    def past(self) -> int:
        return len(self.crossed) - self.now

    @property
    def words(self) -> str:
        """``Crossed now by 1 of 2 running jobs``, ``Not crossed``."""
        if self.now:
            return f"Crossed now by {self.now} of {count(self.running, 'running job')}"
        if self.past:
            return f"Crossed by {self.past} of {count(self.finished, 'finished job')}"
        if self.running + self.finished:
            return "Not crossed"
        return "No data" if self.unknown else ""

    @property
    def beside(self) -> str:
        """What else there is to say: ``2 of 9 finished jobs crossed it``, ``checked on 2 running jobs and 9 finished jobs``."""
        running, finished = count(self.running, "running job"), count(self.finished, "finished job")
        if self.now:
            return f"{self.past or 'none'} of {finished} crossed it" if self.finished else ""
        if self.past:
            return f"not by {'the' if self.running == 1 else 'any of'} {running}" if self.running else ""
        on = " and ".join(part for part, there in ((running, self.running), (finished, self.finished)) if there)
        return f"checked on {on}" if on else ""

    @property
    def reasons(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Why there is no data, and in which jobs."""
        found: dict[str, list[str]] = {}
        for one in self.unknown:
            found.setdefault(one.verdict.why, []).append(one.report.job.name)
        return tuple((why, tuple(names)) for why, names in found.items())


def crossings(rule: AlertRule, reports: Sequence[Report]) -> Crossings:
    """What a threshold says of all of them, as far as it is found out in time."""
    judged = tuple(
        ThresholdResult(report, verdict) for report, verdict in in_time(reports, lambda report: _verdict(report, rule))
    )
    known = [one for one in judged if one.verdict.state != "no data"]
    running = sum(one.report.job.is_running for one in known)
    crossed = [one for one in judged if one.verdict.state == "firing"]
    crossed.sort(key=lambda one: not one.report.job.is_running)
    unknown = tuple(one for one in judged if one.verdict.state == "no data")
    return Crossings(tuple(crossed), unknown, running, len(known) - running, len(reports) - len(judged))


def in_time(reports: Sequence[Report], find: Callable[[Report], Value]) -> list[tuple[Report, Value]]:
    """What ``find`` finds of each report, of as many as are done in time; the next time goes on from there."""
    until, found = time.monotonic() + PATIENCE_S, []
    for report in reports:
        found.append((report, find(report)))
        if time.monotonic() > until:
            break
    return found


def _verdict(report: Report, rule: AlertRule) -> RuleVerdict:
    # Name and loudness change nothing in a verdict's figures.
    return data.detail_of(report, f"verdict {rule.text}", lambda: judge(report, rule, report.reviewed_at))


def saved_rules() -> tuple[AlertRule, ...]:
    """The saved thresholds; none where their file cannot be used, which the Thresholds page says."""
    try:
        return saved()
    except BadCall:
        return ()


def lines_of(rules: Sequence[AlertRule], metric: str, highest: float) -> dict[str, float]:
    """``name: < 40`` and where the line lies, of all that lie within the chart."""
    return {
        _label(rule): rule.when.value
        for rule in rules
        if isinstance(rule.when, Threshold) and _applies(rule.when, metric) and 0 <= rule.when.value <= highest
    }


def _label(rule: AlertRule) -> str:
    name, asked = _named(rule)
    return f"{name}: {asked}" if name else asked


def _named(rule: AlertRule) -> tuple[str, str]:
    """The name that somebody gave it, empty where it was made of the condition; and what it asks, without its metric."""
    when = rule.when
    asked = str(replace(when, metric="")).strip() if isinstance(when, Threshold) else str(when)
    return "" if rule.name == name_of(when) else rule.name, asked


def above_words(rules: Sequence[AlertRule], metric: str, highest: float) -> str:
    """Which lie above what the chart shows; empty where none does."""
    names = [
        f"{rule.name} ({rule.text})"
        for rule in rules
        if isinstance(rule.when, Threshold) and _applies(rule.when, metric) and rule.when.value > highest
    ]
    return f" Above the drawn range: {', '.join(names)}." if names else ""


def _applies(when: Threshold, metric: str) -> bool:
    # What is drawn is of hosts.
    return when.metric == metric and not when.relative and when.gpu is None


def crossed(report: Report, rules: Sequence[AlertRule], metric: str) -> pd.DataFrame:
    """Where thresholds on a metric are crossed, as the alert would have it: ``node start end name``; no node for all."""
    rows = [
        (one.node or "", one.start, one.end, _label(rule))
        for rule in _of_metric(rules, metric)
        for one in _stretches(report, rule)
    ]
    frame = pd.DataFrame(rows, columns=["node", "start", "end", "name"])
    return frame.astype({"node": "str", "name": "str", **dict.fromkeys(("start", "end"), "datetime64[ms, UTC]")})


def _stretches(report: Report, rule: AlertRule) -> tuple[ConditionStretch, ...]:
    when = rule.when
    assert isinstance(when, Threshold)
    return data.detail_of(report, f"held {when}", lambda: stretches_of(report, when, report.reviewed_at))


def crossed_words(rules: Sequence[AlertRule], metric: str, spans: pd.DataFrame, part: Span | None, how: str) -> str:
    """``Saved thresholds, framed in red: idle (< 40 for 10m) is crossed on algo-3 and 2 more nodes.``; empty without any.

    ``how``: in which way the chart shows it.
    """
    said, shown = [], clipped(spans, part)
    for rule in _of_metric(rules, metric):
        label = _label(rule)
        names = list(dict.fromkeys(shown.loc[shown["name"] == label, "node"]))
        name, asked = _named(rule)
        words = f"{name} ({asked})" if name else asked
        if not names:
            said.append(f"{words} is not crossed")
        elif names == [""]:
            said.append(f"{words} is crossed by all nodes together")
        else:
            more = f" and {count(len(names) - 3, 'more node')}" if len(names) > 3 else ""
            said.append(f"{words} is crossed on {', '.join(names[:3])}{more}")
    return f"Saved thresholds, {how}: {'; '.join(said)}." if said else ""


def _of_metric(rules: Sequence[AlertRule], metric: str) -> list[AlertRule]:
    return [rule for rule in rules if isinstance(rule.when, Threshold) and rule.when.metric == metric]
