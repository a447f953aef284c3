"""How much work is in a step of one job, and how much more in one of another? So that different steps are not taken
for equal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from monitor.analyze.journal import plain_rows
from monitor.analyze.pace import work_of_steps
from monitor.diagnose.comparison.differences import Difference
from monitor.model import Report
from monitor.predict.layout import OF_THE_RANKS, samples_of_step, samples_ratio
from monitor.predict.parameters import OTHER_NAMES, plain_name
from monitor.predict.setup import setup_of

Unit = Literal["sample", "token"]
# A ratio of rounded throughputs is 1 within this.
_ALIKE = 0.01
_IN_A_STEP = ("batch", "accumulation", "sequence_length", "seq_len", "seq_length", "max_length", "context_width")
_SHORT = frozenset({"bs", "bsz", "mbs", "gbs", "mini_bs"})
# Of steps that do not train, and of what is only named after a batch.
_NOT_IN_A_STEP = re.compile(
    r"(^|_)(eval|valid|val|validation|test|predict|prediction|inference|generation|active)(_|$)|batch_?norm|prefetch"
)
#: A plan's name of a sample's tokens.
SEQUENCE = "sequence_length"


@dataclass(frozen=True, slots=True)
class Work:
    """A step of the second job over one of the first; ``unit`` is that of the work where a step's is not the same."""

    samples: float
    length: float = 1.0
    """Tokens of a sample, over those of the first job's."""
    assumed: bool = False
    """The samples per step are not known; they are assumed to be the same since nothing that affects them differs."""

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
    plain = plain_name(name)
    known = any(word in OTHER_NAMES.get(plain, plain) for word in _IN_A_STEP) or plain in _SHORT
    return known and not _NOT_IN_A_STEP.search(plain)


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
    lengths = [setup.number(SEQUENCE) for setup in setups]
    if (lengths[0] is None) != (lengths[1] is None):
        return None  # the other may have any
    length = lengths[1] / lengths[0] if lengths[0] and lengths[1] else 1.0
    printed = samples_per_step(before), samples_per_step(after)
    if printed[0] and printed[1]:
        return Work(printed[1] / printed[0], length)
    by_setup = samples_ratio(*setups)
    if by_setup is not None:
        return Work(by_setup, length)
    if before.job.instance_count != after.job.instance_count:
        return None  # what is printed may be of one process or of all
    units = _units(journal_before), _units(journal_after)
    first, second = _per_step(journal_before), _per_step(journal_after)
    if first is None or second is None or units[0] != units[1] or _formats(before) != _formats(after):
        alike = not any(is_batch(each.parameter) or each.parameter in OF_THE_RANKS for each in different)
        # Rates of unlike things are of unlike scripts.
        rates_alike = not units[0] or not units[1] or bool(units[0] & units[1])
        return Work(1.0, length, assumed=True) if alike and rates_alike else None
    ratio = second / first
    ratio = 1.0 if abs(ratio - 1) < _ALIKE else ratio
    of_tokens = all(unit.startswith(("token", "word")) for unit in units[0])
    return Work(1.0, ratio) if of_tokens else Work(ratio, length)


def _per_step(journal: pd.DataFrame) -> float | None:
    """The usual work of a step, in the one unit of the throughput; None where it is not told."""
    if journal.empty or len(_units(journal)) != 1:
        return None
    rows = plain_rows(journal)
    work = work_of_steps(rows, rows["time_s"].to_numpy("float64"))
    return None if work is None else float(np.nanmedian(work))


def _units(journal: pd.DataFrame) -> frozenset[str]:
    """What the printed rates count; a rate of steps counts none of their work."""
    if journal.empty:
        return frozenset()
    units = (str(unit) for unit in journal["throughput_unit"].unique())
    return frozenset(unit for unit in units if unit and not unit.startswith(("it", "step")))


def _formats(report: Report) -> frozenset[str]:
    return frozenset(report.steps.formats) if report.steps else frozenset()
