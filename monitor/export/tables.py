"""The tables behind a report, as CSV: steps, metrics, findings, phases, configuration, nodes. And those behind a comparison: what
differs, the figures, the step times, the verdicts and predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from monitor.archive.comparison import comparison_document
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.verdict import gain_words
from monitor.model import METRICS, STEP_CSV_COLUMNS, Report, line_numbers
from monitor.predict.setup import resolved

# What a spreadsheet would take for a formula when the file is opened in it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def steps_csv(steps: pd.DataFrame) -> str:
    """The step reports with the columns of ``steps --format csv``; what was not observed is empty."""
    text: str = steps_table(steps).to_csv(index=False, lineterminator="\n", float_format="%.9g")
    return text


def steps_table(steps: pd.DataFrame) -> pd.DataFrame:
    """The step reports as they are passed on: times as texts, lines without a number empty."""
    table = steps[list(STEP_CSV_COLUMNS)]
    return table.assign(timestamp=iso(table["timestamp"]), line=line_numbers(table["line"]))


def iso(times: pd.Series) -> pd.Series:
    """Instants as ISO 8601 UTC with milliseconds."""
    return times.dt.tz_convert("UTC").dt.strftime("%Y-%m-%dT%H:%M:%S.%f").str.slice(0, 23) + "Z"


def findings_csv(report: Report) -> str:
    """One row a finding, in the order of acting."""
    rows = [
        {
            "id": finding.id,
            "severity": finding.severity,
            "confidence": finding.confidence,
            "title": finding.title,
            "summary": finding.summary,
            "next_step": finding.recommendation.whole if finding.recommendation else None,
            "parameter": finding.recommendation.parameter if finding.recommendation else None,
            "from": finding.recommendation.from_value if finding.recommendation else None,
            "to": finding.recommendation.to_value if finding.recommendation else None,
            "prediction": gain_words(finding.prediction) if finding.prediction else None,
            "not_checked": "; ".join(finding.not_checked),
            "quoted_lines": "\n".join(fact.line for fact in finding.evidence if fact.line),
        }
        for finding in report.findings
    ]
    names = ["id", "severity", "confidence", "title", "summary", "next_step", "parameter", "from", "to", "prediction"]
    return as_csv(pd.DataFrame(rows, columns=[*names, "not_checked", "quoted_lines"]))


def phases_csv(report: Report) -> str:
    """One row a phase, in time; they cover the job's wall time once."""
    rows = [(each.name, each.start, each.end, each.seconds, each.billed) for each in report.phases]
    table = pd.DataFrame(rows, columns=["phase", "from", "to", "seconds", "billed"])
    for name in ("from", "to"):
        table[name] = iso(pd.to_datetime(table[name], utc=True))
    return as_csv(table)


def configuration_csv(report: Report) -> str:
    """Parameter, value, and where it was read."""
    known = resolved(report.job)
    rows = [(name, str(parameter.value), parameter.read_from) for name, parameter in known.items()]
    return as_csv(pd.DataFrame(rows, columns=["parameter", "value", "read_from"]))


def nodes_csv(report: Report) -> str:
    """One row a node: mean, p5 and p95 of each metric, and its steps."""
    rows = []
    for stats in report.nodes:
        row: dict[str, object] = {"node": stats.node.name, "instance_type": stats.node.instance_type}
        for metric in METRICS:
            spread = getattr(stats, metric)
            for part in ("mean", "p5", "p95"):
                row[f"{metric}_{part}_pct"] = None if spread is None else getattr(spread, part)
        for part in ("count", "median_s", "p10_s", "p90_s"):
            row[f"steps_{part}"] = None if stats.steps is None else getattr(stats.steps, part)
        rows.append(row)
    return as_csv(pd.DataFrame(rows, columns=[*rows[0]] if rows else ["node"]))


#: What a reader may want as a table -> how it is made.
TABLES: Mapping[str, Callable[[Report], str]] = {
    "steps": lambda report: steps_csv(report.run.steps),
    # ``timestamp node metric value_pct period_s``, percent of one device.
    "metrics": lambda report: as_csv(report.run.metrics),
    "findings": findings_csv,
    "phases": phases_csv,
    "nodes": nodes_csv,
    "configuration": configuration_csv,
}


def differences_csv(comparison: Comparison) -> str:
    """One row a parameter and job: its value, and where it was read."""
    rows = [
        (each.parameter, letter(place), job.name, None if value is None else str(value), read_from)
        for each in comparison.different
        for place, (job, value, read_from) in enumerate(zip(comparison.jobs, each.values, each.read_from, strict=True))
    ]
    return as_csv(pd.DataFrame(rows, columns=["parameter", "job", "name", "value", "read_from"]))


def figures_csv(comparison: Comparison) -> str:
    """One row a job; what is not known is empty."""
    rows = comparison_document(comparison)["figures"]
    table = pd.DataFrame(rows)
    table.insert(0, "job", [letter(place) for place in range(len(table))])
    return as_csv(table)


def step_times_csv(comparison: Comparison) -> str:
    """One row a time of the stable part, in the order of the reports: of a step, and for the work of one of the first job's."""
    columns = ["job", "name", "report", "step_time_s", "same_work_s"]
    tables = []
    for place, (job, steps, same_s) in enumerate(
        zip(comparison.jobs, comparison.steps, comparison.times_s, strict=True)
    ):
        if steps is not None:
            reports = range(1, len(steps.times_s) + 1)
            values = (letter(place), job.name, reports, steps.times_s, same_s)
            tables.append(pd.DataFrame(dict(zip(columns, values, strict=True))))
    return as_csv(pd.concat(tables) if tables else pd.DataFrame(columns=columns))


def verdicts_csv(comparison: Comparison) -> str:
    """One row a job after the first: verdict, change with its interval, what was predicted, what came of it."""
    rows = []
    for place, result in enumerate(comparison.against, 1):
        row: dict[str, object] = {"job": letter(place), "name": result.name, "verdict": result.verdict}
        row["comparable"] = "yes" if result.unlike is None else "no"
        for title, found in (
            ("change", result.judged_pct),
            ("predicted", result.predicted.change_pct),
            ("measured_for_same_samples", result.for_same_samples_pct),
        ):
            for part, value in zip(("low", "middle", "high"), found or (None, None, None), strict=True):
                row[f"{title}_{part}_pct"] = value
        held = {"held": "true", "missed": "false"}.get(result.came or "")
        row |= {"held": held, "prediction": result.came, "reason": result.reason or None}
        rows.append(row)
    return as_csv(pd.DataFrame(rows))


#: As ``TABLES``, of a comparison.
COMPARISON_TABLES: Mapping[str, Callable[[Comparison], str]] = {
    "verdicts": verdicts_csv,
    "differences": differences_csv,
    "figures": figures_csv,
    "step times": step_times_csv,
}


def as_csv(table: pd.DataFrame) -> str:
    """The table for people and programs: times in UTC, figures with six digits, no text that a spreadsheet would run."""
    shown = table.copy()
    for name in shown.columns:
        if isinstance(shown[name].dtype, pd.DatetimeTZDtype):
            shown[name] = iso(shown[name])
        elif not pd.api.types.is_numeric_dtype(shown[name]):
            shown[name] = shown[name].map(_cell, na_action="ignore")
    text: str = shown.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    return text


def _cell(value: object) -> object:
    """Text that begins like a formula gets a quote before it, as spreadsheets read it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
