"""Which saved thresholds are lines in the charts of a job? Those that hold a figure of the chart against a plain number."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.alert.conditions import Rule, Threshold, name_of
from monitor.alert.saved import saved
from monitor.errors import BadCall


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
    asked = str(rule.when).removeprefix(metric).strip()
    # A name that was made of the condition says nothing more.
    return asked if rule.name == name_of(rule.when) else f"{rule.name}: {asked}"


def above_words(rules: Sequence[Rule], metric: str, highest: float) -> str:
    """Which lie above what the chart shows; empty where none does."""
    names = [
        f"{rule.name} ({rule.text})"
        for rule in rules
        if isinstance(rule.when, Threshold) and _applies(rule.when, metric) and rule.when.value > highest
    ]
    return f" Above what is drawn: {', '.join(names)}." if names else ""


def _applies(when: Threshold, metric: str) -> bool:
    return when.metric == metric and not when.relative
