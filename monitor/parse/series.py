"""One writer's reports in order: echoes taken out, parts summed, counters that begin again cut into segments."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.parse.rows import StepRow


def said_once(rows: Sequence[StepRow]) -> list[StepRow]:
    """Without the echo of a second log handler, which prints every report of a stream twice, right behind the first.

    Where a report stands there more than twice it is several ranks that print the same: all are kept.
    """
    groups: list[list[StepRow]] = []
    for row in rows:
        same = bool(groups) and row.reading == groups[-1][-1].reading and row.line - groups[-1][-1].line <= 2
        if same and row.reading.step is not None:
            groups[-1].append(row)
        else:
            groups.append([row])
    if any(len(group) > 2 for group in groups):
        return list(rows)
    return [group[0] for group in groups]


def by_epoch(rows: Sequence[StepRow]) -> Sequence[StepRow]:
    """Numbers the reports of a trainer that speaks only at the end of each epoch ("40/40 …") by their epoch."""
    if not rows[0].reading.format.startswith("keras"):
        return rows
    if len({row.reading.step for row in rows}) > 1:
        return rows
    return [row._replace(reading=row.reading._replace(step=epoch)) for epoch, row in enumerate(rows, start=1)]


def whole_steps(rows: Sequence[StepRow]) -> list[StepRow]:
    """Micro-batches summed into the optimizer step they end in; one whose micro-batches are not all there has no time."""
    whole: list[StepRow] = []
    parts: dict[int, float] = {}
    for row in rows:
        reading = row.reading
        if reading.meaning == "part":
            if reading.counter is not None and reading.time_s is not None:
                parts[reading.counter] = reading.time_s
            continue
        done, step, last_s = reading.counter, reading.step, reading.time_s
        if done is not None and step and done > step and last_s is not None:
            each, left = divmod(done, step)
            before = [parts.get(done - back) for back in range(1, each)]
            known = [time_s for time_s in before if time_s is not None]
            time_s = last_s + sum(known) if not left and len(known) == len(before) else None
            row = row._replace(reading=reading._replace(time_s=time_s))
        parts.clear()
        whole.append(row)
    return whole


def numbered(rows: Sequence[StepRow]) -> Sequence[StepRow]:
    """Numbers the reports of a trainer that prints its loss and nothing else, once a step: the n-th is step n."""
    if any(row.reading.format != "loss-only" for row in rows):
        return rows
    return [row._replace(reading=row.reading._replace(step=place)) for place, row in enumerate(rows, start=1)]


def segments(rows: Sequence[StepRow]) -> list[list[StepRow]]:
    """Cut where the step counter began again."""
    parts: list[list[StepRow]] = []
    last = -1
    for row in rows:
        step = row.reading.step if row.reading.step is not None else last
        if not parts or step < last:
            parts.append([])
        parts[-1].append(row)
        last = step
    return parts
