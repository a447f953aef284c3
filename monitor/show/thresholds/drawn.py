"""How are saved thresholds drawn in the charts of a job? A line where the axis is of values, a frame around what crosses one
in a heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from monitor.alert.conditions import Rule, Threshold, name_of
from monitor.alert.evaluate import Held, held
from monitor.alert.rules import saved
from monitor.charts.elements import Span, cut
from monitor.errors import BadCall
from monitor.model import Report
from monitor.show import data
from monitor.words import count


def kept() -> tuple[Rule, ...]:
    """The saved thresholds; none where their file cannot be used, which the Thresholds page says."""
    try:
        return saved()
    except BadCall:
        return ()


def lines_of(rules: Sequence[Rule], metric: str, highest: float) -> dict[str, float]:
    """``name: < 40`` and where the line lies, of all that lie within the chart."""
    return {
        _label(rule, metric): rule.when.value
        for rule in rules
        if isinstance(rule.when, Threshold) and _applies(rule.when, metric) and 0 <= rule.when.value <= highest
    }


def _label(rule: Rule, metric: str) -> str:
    name, asked = _named(rule)
    return f"{name}: {asked}" if name else asked


def _named(rule: Rule) -> tuple[str, str]:
    """The name that somebody gave it, empty where it was made of the condition; and what it asks, without its metric."""
    when = rule.when
    asked = str(replace(when, metric="")).strip() if isinstance(when, Threshold) else str(when)
    return "" if rule.name == name_of(when) else rule.name, asked


def above_words(rules: Sequence[Rule], metric: str, highest: float) -> str:
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


def crossed(report: Report, rules: Sequence[Rule], metric: str) -> pd.DataFrame:
    """Where thresholds on a metric are crossed, as the alert would have it: ``node start end name``; no node for all."""
    rows = [
        (one.node or "", one.start, one.end, _label(rule, metric))
        for rule in _of_metric(rules, metric)
        for one in _held(report, rule)
    ]
    frame = pd.DataFrame(rows, columns=["node", "start", "end", "name"])
    return frame.astype({"node": "str", "name": "str", **dict.fromkeys(("start", "end"), "datetime64[ms, UTC]")})


def _held(report: Report, rule: Rule) -> tuple[Held, ...]:
    when = rule.when
    assert isinstance(when, Threshold)
    return data.said_of(report, f"held {when}", lambda: held(report, when, report.reviewed_at))


def crossed_words(rules: Sequence[Rule], metric: str, spans: pd.DataFrame, part: Span | None, how: str) -> str:
    """``Saved thresholds, framed in red: idle (< 40 for 10m) is crossed on algo-3 and 2 more nodes.``; empty without any.

    ``how``: in which way the chart shows it.
    """
    said, shown = [], cut(spans, part)
    for rule in _of_metric(rules, metric):
        label = _label(rule, metric)
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


def _of_metric(rules: Sequence[Rule], metric: str) -> list[Rule]:
    return [rule for rule in rules if isinstance(rule.when, Threshold) and rule.when.metric == metric]
