"""How much work is in a step of one job, and how much more in one of another? So that unlike steps are not held for alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from monitor.analyze.journal import plain_rows
from monitor.analyze.work import work_of_steps
from monitor.diagnose.configuration_difference import Difference
from monitor.model import Report
from monitor.predict.samples import OF_THE_RANKS, samples_of_step, samples_ratio
from monitor.predict.setup import setup_of

Unit = Literal["sample", "token"]
# A ratio of rounded throughputs is 1 within this.
_ALIKE = 0.01
_BATCH = (
    "batch",
    "microbatches",
    "accumulation",
    "sequence_length",
    "seq_len",
    "seq_length",
    "max_length",
    "context_width",
)


@dataclass(frozen=True, slots=True)
class Work:
    """A step of the second job over one of the first; ``unit`` is that of the work where a step's is not the same."""

    samples: float
    length: float = 1.0
    """Tokens of a sample, over those of the first job's."""

    @property
    def unit(self) -> Unit | None:
        """None where steps do the same."""
        return "token" if self.length != 1 else "sample" if self.samples != 1 else None

    @property
    def ratio(self) -> float:
        return self.samples * self.length


def samples_per_step(report: Report) -> float | None:
    """Samples of one step of the whole job: as the log prints them, else by the configuration; None where neither tells."""
    events = report.run.events
    told = pd.to_numeric(events.loc[events["kind"] == "samples-per-step", "text"], errors="coerce").dropna()
    return float(told.iloc[-1]) if len(told) else samples_of_step(setup_of(report.job))


def is_batch(name: str) -> bool:
    """Whether a parameter of this name says how much is in a step."""
    return any(word in name for word in _BATCH)


def work_between(
    before: Report,
    after: Report,
    journal_before: pd.DataFrame,
    journal_after: pd.DataFrame,
    different: Sequence[Difference] = (),
) -> Work | None:
    """What a step of ``after`` does over one of ``before``: by configuration, else by the throughput that both print in the
    same form on as many instances. Where neither tells and nothing about the batch is ``different``, it is the same; None
    where it is not known."""
    setups = setup_of(before.job), setup_of(after.job)
    lengths = [setup.number("sequence_length") for setup in setups]
    length = lengths[1] / lengths[0] if lengths[0] and lengths[1] else 1.0
    printed = samples_per_step(before), samples_per_step(after)
    if printed[0] and printed[1]:
        return Work(printed[1] / printed[0], length)
    by_setup = samples_ratio(*setups)
    if by_setup is not None:
        return Work(by_setup, length)
    if before.job.instance_count != after.job.instance_count:
        return None  # what is printed may be of one process or of all
    (unit, first), (other, second) = _printed(journal_before), _printed(journal_after)
    if first is None or second is None or unit != other or _formats(before) != _formats(after):
        alike = not any(is_batch(each.parameter) or each.parameter in OF_THE_RANKS for each in different)
        return Work(1.0, length) if alike else None
    ratio = second / first
    ratio = 1.0 if abs(ratio - 1) < _ALIKE else ratio
    return Work(1.0, ratio) if unit.startswith(("token", "word")) else Work(ratio, length)


def _printed(journal: pd.DataFrame) -> tuple[str, float | None]:
    """Unit of the throughput and the usual work of a step in it."""
    if journal.empty:
        return "", None
    rows = plain_rows(journal)
    work = work_of_steps(rows, rows["time_s"].to_numpy("float64"))
    units = {str(unit) for unit in rows["throughput_unit"].unique()} - {""}
    return (units.pop(), float(np.nanmedian(work))) if work is not None and len(units) == 1 else ("", None)


def _formats(report: Report) -> frozenset[str]:
    return frozenset(report.steps.formats) if report.steps else frozenset()
