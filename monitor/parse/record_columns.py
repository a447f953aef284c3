"""Records of one form, many at once: what ``monitor.parse.records.reading`` gives for each, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Columns, counts, durations, numbers
from monitor.parse.numbers import process_number
from monitor.parse.records import EPOCH_FIRST, MOST_A_SECOND, Form
from monitor.parse.vocabulary import BATCH


def readings(form: Form, columns: Sequence[Sequence[str]], name: str) -> tuple[NDArray[np.bool_], Columns] | None:
    """(which rows, their readings as columns): what ``reading`` gives for each, where the numbers are of the usual kind.

    ``columns`` are the numbers of a line as they are printed, one column a place.

    None of a form that needs a look at every line: its time may be a clock or of a micro-batch, its steps counted in
    thousands, its total none.
    """
    if (
        form.own < 0
        or form.micro >= 0
        or form.within is not None
        or form.elapsed is not None
        or form.memories
        or form.wait
    ):
        return None
    step_entry = form.steps[0]
    if form.loss < 0 and not form.told and not form.throughputs and step_entry.total >= 0:
        return None  # it may be a stage of a script
    if step_entry.least_total or step_entry.key.factor or step_entry.total_factor != 1.0:
        return None
    whole = {"step": step_entry.place, "rank": form.rank, "total": form.total}
    if form.epoch >= 0 and not step_entry.key.whole_run:
        whole["epoch"] = form.epoch
    elif form.total < 0 and not step_entry.in_epoch:
        whole["total"] = step_entry.total
    if not all(text.isdecimal() for place in whole.values() if place >= 0 for text in columns[place]):
        return None
    found = {field: counts(columns[place]) for field, place in whole.items() if place >= 0}
    steps, times = found["step"], durations(numbers(columns[form.own]) * form.factor)
    good = ~np.isnan(steps) & ~np.isnan(times)
    if "total" in found:
        if step_entry.key.order == BATCH and form.total < 0 and (found["total"] < EPOCH_FIRST * steps).any():
            return None
        found["total"] = np.where(found["total"] >= steps, found["total"], np.nan)
    out: dict[str, Any] = {**found, "time_s": times, "format": name, "meaning": form.meaning}
    if form.throughputs:
        entry = form.throughputs[0]
        rates = numbers(columns[entry.place])
        good &= (rates > 0) & (rates < MOST_A_SECOND)
        out |= {"throughput": rates * (entry.key.factor or 1.0), "throughput_unit": entry.key.unit}
    if form.loss >= 0:
        out["loss"] = numbers(columns[form.loss])
    ranks = out.pop("rank", None)
    if ranks is not None:
        out["rank"] = [process_number(rank) for rank in ranks.tolist()]
    return good, out
