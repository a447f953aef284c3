"""A simulated job as files, for who wants to look at one."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.planted.scenario import Scenario


def dump(scenario: Scenario, folder: Path) -> Path:
    """Writes job.json, metrics.csv, truth.json and a log file a stream into a folder named for the job; gives the folder."""
    place = folder / scenario.plan.name
    place.mkdir(parents=True, exist_ok=True)
    (place / "job.json").write_text(json.dumps(scenario.answer, default=_said, indent=1), encoding="utf-8")
    truth = asdict(scenario.truth) | {"now": scenario.now}
    (place / "truth.json").write_text(json.dumps(truth, default=_said, indent=1), encoding="utf-8")
    (place / "plan.json").write_text(json.dumps(asdict(scenario.plan), default=_said, indent=1), encoding="utf-8")
    scenario.metrics.to_csv(place / "metrics.csv", index=False)
    for stream in scenario.streams:
        lines = (
            f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + f"Z {text}"
            for at, text in stream.lines
        )
        (place / f"{stream.name.rpartition('/')[2]}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def _said(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return sorted(value) if isinstance(value, frozenset) else str(value)
