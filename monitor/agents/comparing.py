"""``compare``: which of some jobs takes less time for the same work, how sure that is, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from monitor.agents.account_session import AccountSession
from monitor.agents.quoting import ToolAnswer, clipped, fitted, quote, quotes_of
from monitor.agents.reviewing import range_of
from monitor.agents.shapes import Against, Difference
from monitor.archive.document import json_types
from monitor.diagnose.comparison import compare as compared_jobs
from monitor.diagnose.comparison.compare import Comparison, compare, letter
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, prediction_lines, verdict_lines
from monitor.diagnose.headline import facts, status_word
from monitor.errors import BadCall
from monitor.review import Progress

CAP = 2000
MOST = 5


def compared(session: AccountSession, jobs: Sequence[str], say: Progress, given_up: Callable[[], bool]) -> ToolAnswer:
    """The jobs against the first one."""
    if not 2 <= len(jobs) <= MOST:
        raise BadCall(f"{len(jobs)} jobs were named; compare takes 2 to {MOST}.", "The first is the baseline.")
    reports = [session.report(job, lambda text, job=job: say(f"{job}: {text}"), given_up) for job in jobs]  # type: ignore[misc]
    found = compare(reports)
    quotes = quotes_of(*reports)
    names = [letter(place) for place in range(len(reports))]
    against = [_against(each, job) for each, job in zip(found.against, jobs[1:], strict=True)]
    verdicts = [quotes.marked(clipped(line, 400)) for line in verdict_lines(found)]
    for row, said in zip(against, verdicts, strict=True):
        row["said"] = said
    different = _different(found)
    head = [
        f"{name} = {quotes.marked(each.job.name)}: {', '.join([status_word(each.job.status), *facts(each)])}"
        for name, each in zip(names, reports, strict=True)
    ]
    foot = [" | ".join(row) for row in figure_rows(found)]
    foot += [quotes.marked(clipped(line, 300)) for line in (*prediction_lines(found), *found.notes)]

    def make(shown: int) -> ToolAnswer:
        out = len(different) - shown
        lines = [
            *verdicts,
            *head,
            f"Differs (parameter | {' | '.join(names)}):"
            if different
            else "Nothing differs in what is known of the configuration.",
        ]
        lines += [" | ".join([row["parameter"], *row["values"]]) for row in different[:shown]]
        if out:
            lines.append(f'{out} more parameters differ; review(job, detail="full") of each shows its own.')
        following = f'plan(job="{jobs[0]}", change={{…}})'
        lines += [f"Figures ({' | '.join(names)}):", *foot, f"Next: {following} asks what one of these changes does."]
        data = {"jobs": [*jobs], "against": against, "different": different[:shown], "left_out": out, "next": following}
        return ToolAnswer("\n".join(lines), json_types(data))

    return fitted(make, len(different), CAP)


def _against(each: compared_jobs.PairComparison, job: str) -> Against:
    return {"job": job, "verdict": each.answer, "change_percent": range_of(each.judged_pct), "said": ""}


def _different(found: Comparison) -> list[Difference]:
    """Values are what the owner of a job wrote."""
    return [
        {"parameter": quote(row[0], 60), "values": [quote(cell, 60) for cell in row[1:]]}
        for row in difference_rows(found)
    ]
