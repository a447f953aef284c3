"""The confusion table: of each fault, how often it was named first, at all, or not; of healthy jobs, what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.planted.measure import Verdict

Row = tuple[str, ...]
NAMED_FIRST_GOAL = 0.97
HEALTHY_GOAL = 0.005


def rows(verdicts: Sequence[Verdict]) -> list[Row]:
    """A head, a row for each fault, one for all of them, one for healthy jobs, and the result."""
    table: list[Row] = [("planted", "jobs", "named first", "named", "silent", "what was said first instead")]
    faults = [verdict for verdict in verdicts if verdict.truth.planted]
    named = dict.fromkeys(str(verdict.truth.planted) for verdict in faults)
    table.extend(_of_fault(name, [v for v in faults if v.truth.planted == name]) for name in named)
    if faults:
        table.append(_of_fault("all faults", faults, tell=False))
    healthy = [verdict for verdict in verdicts if verdict.truth.planted is None]
    if healthy:
        table.append(_of_healthy(healthy))
    table.append(_result(faults, healthy))
    return table


def _of_fault(name: str, verdicts: Sequence[Verdict], tell: bool = True) -> Row:
    first = sum(verdict.named_first for verdict in verdicts)
    named = sum(verdict.named for verdict in verdicts)
    silent = sum(not verdict.loud and not verdict.named for verdict in verdicts)
    instead = _counted(_instead(verdict) for verdict in verdicts if not verdict.named_first) if tell else ""
    return (name, str(len(verdicts)), f"{first} ({first / len(verdicts):.0%})", str(named), str(silent), instead)


def _instead(verdict: Verdict) -> str:
    if verdict.trouble:
        return verdict.trouble.partition(":")[0]
    return verdict.wrong[0] if verdict.wrong else verdict.loud[0] if verdict.loud else "nothing"


def _of_healthy(verdicts: Sequence[Verdict]) -> Row:
    crying = [verdict for verdict in verdicts if verdict.loud or verdict.trouble]
    said = _counted(id for verdict in crying for id in verdict.loud or (verdict.trouble,))
    quiet = len(verdicts) - len(crying)
    return (
        "healthy",
        str(len(verdicts)),
        "",
        f"{len(crying)} with a warning ({len(crying) / len(verdicts):.1%})",
        str(quiet),
        said,
    )


def _result(faults: Sequence[Verdict], healthy: Sequence[Verdict]) -> Row:
    good = passed(faults, healthy)
    seconds = sum(verdict.seconds for verdict in (*faults, *healthy))
    each = seconds / max(len(faults) + len(healthy), 1)
    goal = (
        f"goal: {NAMED_FIRST_GOAL:.0%} of faults named first, at most {HEALTHY_GOAL:.1%} of healthy jobs with a warning"
    )
    return ("pass" if good else "FAIL", "", "", "", "", f"{goal}; {each:.2f} s a review")


def passed(faults: Sequence[Verdict], healthy: Sequence[Verdict]) -> bool:
    """Whether both goals are met."""
    first = sum(verdict.named_first for verdict in faults)
    crying = sum(bool(verdict.loud or verdict.trouble) for verdict in healthy)
    return first >= NAMED_FIRST_GOAL * len(faults) and crying <= HEALTHY_GOAL * len(healthy)


def misses(verdicts: Iterable[Verdict]) -> list[Row]:
    """Each job of which something else was said than should be: its name, its sort, loud and quiet findings."""
    table: list[Row] = [("job", "sort", "asks for action", "remarks")]
    for verdict in verdicts:
        wrong = verdict.wrong or verdict.trouble if verdict.truth.planted is None else not verdict.named_first
        if wrong:
            loud = verdict.trouble or ", ".join(verdict.loud) or "nothing"
            table.append((verdict.ticket.name, verdict.truth.kind, loud, ", ".join(verdict.quiet)))
    return table


def markdown(table: Sequence[Row]) -> str:
    """The table as a table of Markdown."""
    head, *body = table
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(row)} |" for row in body]
    return "\n".join(lines)


def _counted(texts: Iterable[str]) -> str:
    return ", ".join(f"{text} {count}" for text, count in Counter(texts).most_common())
