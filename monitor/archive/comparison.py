"""Comparisons of jobs, kept and passed on: the pairs of jobs before and after a change, kept for good, which tell what
predictions were worth on the user's own jobs; and the document of ``compare --format json``, whose form is a contract with users.

One file, ``$XDG_DATA_HOME/trainwatch/pairs.jsonl`` (``~/.local/share`` otherwise, readable by the user alone), a JSON object
a line. It only grows: a pair that is compared again gets a new line, and of several the newest counts. Each line is
appended in one write, so that any number of processes may do so; a line that cannot be read is left out.

The top-level change, verdict and prediction are those of the second job against the first; ``comparisons`` has the same for
each further job. A change is (low, middle, high) percent, negative where the later job is faster.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from monitor.archive.document import SCHEMA, job_document
from monitor.archive.reading import fields_of, valued
from monitor.diagnose.comparison.comparability import ParameterDifference
from monitor.diagnose.comparison.compare import AppliedAdvice, Comparison, PairComparison
from monitor.diagnose.comparison.figures import Figures
from monitor.model import Pair
from monitor.model.document import Forms, document
from monitor.settings import user_folder

_FORMAT = 1
_NAME = "pairs.jsonl"


@dataclass(frozen=True, slots=True)
class PredictionRecord:
    """How predictions did on the pairs that were kept."""

    pairs: int
    """Of which the measurement says whether the prediction held."""
    held: int
    too_wide: int = 0
    """Further ones whose prediction fits whatever is measured."""


class Pairs:
    """The pairs in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def all(self) -> tuple[Pair, ...]:
        """One for each two jobs, the newest, oldest first. Empty where there is no file, or it cannot be read."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except OSError:
            return ()
        newest: dict[tuple[str, str], Pair] = {}
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                pair = _pair(line)
                held = newest.pop(key(pair), pair)
                newest[key(pair)] = max(held, pair, key=lambda each: each.compared_at)
        return tuple(sorted(newest.values(), key=lambda each: each.compared_at))

    def keep(self, pair: Pair) -> bool:
        """Appends the pair, unless the same is there already; whether it is in the file now."""
        if any(
            key(known) == key(pair) and replace(known, compared_at=pair.compared_at) == pair for known in self.all()
        ):
            return True
        line = json.dumps({"format": _FORMAT, **fields_of(pair)}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # A line that another process could not finish must not take this one with it.
                size = os.fstat(file).st_size
                cut = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                return os.write(file, b"\n" + line if cut else line) >= len(line)
            finally:
                os.close(file)
        except OSError:
            return False


def key(pair: Pair) -> tuple[str, str]:
    """Which two jobs are meant: a name may be used again."""
    return _job_key(pair.before.arn, pair.before.name, pair.before.created), _job_key(
        pair.after.arn, pair.after.name, pair.after.created
    )


def record(pairs: Iterable[Pair], without: Sequence[Pair] = ()) -> PredictionRecord:
    """What came of the predictions of these pairs; ``without`` those that are only being made."""
    left_out = {key(pair) for pair in without}
    came = Counter(pair.came for pair in pairs if key(pair) not in left_out)
    return PredictionRecord(came["held"] + came["missed"], came["held"], came["too wide to test"])


def record_line(earlier: PredictionRecord | None) -> str:
    """How earlier predictions did on the user's own pairs; empty where there are none."""
    if earlier is None or not (earlier.pairs or earlier.too_wide):
        return ""
    held = f"{earlier.held} of {earlier.pairs} held" if earlier.pairs else ""
    wide = f"{earlier.too_wide}{' more' if earlier.pairs else ''} too wide to test" if earlier.too_wide else ""
    return f"Earlier predictions on your own jobs: {'; '.join(filter(None, (held, wide)))}."


def user_pairs(environ: Mapping[str, str] | None = None) -> Pairs | None:
    """The user's file; None where there is no home to keep it in."""
    folder = user_folder("DATA", environ)
    return None if folder is None else Pairs(folder / _NAME)


def _job_key(arn: str, name: str, created: object) -> str:
    return f"{arn or name} {created}"


def _pair(line: bytes) -> Pair:
    data = json.loads(line)
    if data["format"] != _FORMAT:
        raise ValueError(f"format {data['format']}")
    pair: Pair = valued(Pair, data)
    numbers = (*pair.predicted, *pair.measured)
    if len(numbers) != 6 or not all(isinstance(each, int | float) for each in numbers):
        raise ValueError("no ranges")
    if pair.compared_at.tzinfo is None:
        raise ValueError("no time zone")
    return pair


def comparison_document(comparison: Comparison, record: PredictionRecord | None = None) -> dict[str, Any]:
    """Plain JSON types; unknown is null. ``record`` is how earlier predictions did on the user's own pairs."""
    whole = {
        "schema": SCHEMA,
        "jobs": [job_document(job) for job in comparison.jobs],
        "configuration_difference": comparison.different,
        **_result(comparison.against[0]),
        "figures": comparison.figures,
        "comparisons": [{"name": each.name, **_result(each)} for each in comparison.against],
        "earlier_predictions": record,
        "notes": comparison.notes,
    }
    found: dict[str, Any] = document(whole, _FORMS)
    return found


def _result(result: PairComparison) -> dict[str, Any]:
    told, work = result.predicted, result.work
    found = None if result.unlike is not None else result.change
    return {
        # As everywhere: for the same work, where it is known and differs.
        "step_time_change_percent": result.judged_pct,
        "per_step_change_percent": result.step_pct,
        "verdict": result.verdict,
        "comparable": result.unlike is None,
        "why_not": None if result.unlike is None else result.unlike.why,
        "would_make_comparable": None if result.unlike is None else result.unlike.remedy,
        "predicted_change_percent": told.change_pct,
        "reason": result.reason or None,
        "compared_by": None if found is None else "step" if work is None or work.unit is None else work.unit,
        "per_sample_change_percent": None
        if found is None or work is None or work.samples == 1
        else found.percent(work.samples),
        "per_token_change_percent": result.work_pct if work is not None and work.unit == "token" else None,
        "timed_by": None if found is None else found.by,
        "steps_compared": None if found is None else found.steps,
        "smallest_difference_percent": None if found is None else found.smallest_percent,
        "more_steps": None
        if found is None or result.verdict != "cannot tell"
        else found.more_steps(1.0 if work is None else work.ratio),
        "prediction": {
            "held": {"held": True, "missed": False}.get(result.came or ""),
            "outcome": result.came,
            "measured_percent": result.for_same_samples_pct,
            "method": told.method or None,
            "not_predicted": told.unknown,
            "says_nothing_of": told.beyond if told.change_pct is not None else (),
            "advice_followed": told.followed,
        },
    }


_FORMS: Forms = {
    ParameterDifference: "parameter values",
    AppliedAdvice: "finding parameter from=from_value to=to_value step_time_change_percent=change_pct",
    Figures: "name instance_count=nodes step_time_s=step_s step_time_p10_s=p10_s step_time_p90_s=p90_s "
    "step_time_came_by=came_by? steps first_step last_step samples_per_step samples_per_second=samples_per_s "
    "gpu_utilization=gpu_utilization_pct gpu_memory_utilization=gpu_memory_utilization_pct goodput_percent=goodput_pct "
    "wasted_percent=wasted_pct cost_usd cost_per_step_usd=usd_per_step cost_per_sample_usd=usd_per_sample "
    "scaling_efficiency_percent=scaling_pct",
    PredictionRecord: "pairs held too_wide_to_test=too_wide",
}
