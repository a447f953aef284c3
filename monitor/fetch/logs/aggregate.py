"""A very large log: is it worth asking Logs Insights instead of reading it, and what does it answer?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from math import ceil

import pandas as pd

from monitor.aws.clients import Clients
from monitor.errors import CannotDo, NoCredentials, TrainwatchError
from monitor.fetch.logs import insights, samples
from monitor.fetch.logs.streams import node_of_stream
from monitor.fetch.source import Aggregated, gap_of
from monitor.model import Gap, Job
from monitor.parse.aggregated import aggregated_steps
from monitor.parse.assemble import assemble
from monitor.parse.choose import Choice, Line, choose
from monitor.parse.insights import query
from monitor.parse.recognise import RawRows
from monitor.words import about_usd, count, duration, usd

#: Reading that takes longer than this is worth another way.
LONG_S = 180.0
# No job that is smaller writes so much.
_LEAST_NODE_HOURS = 8.0
# Lines of a job may come some minutes after its end.
_LATE_S = 300

Say = Callable[[str], None]


def offer(clients: Clients, job: Job, now: datetime, tell: Say) -> Aggregated:
    """Tells of the other way where reading would take minutes; never raises but for NoCredentials."""
    begun = job.started or job.created
    if begun is None:
        return Aggregated()
    hours = ((job.ended or now) - begun).total_seconds() / 3600
    if hours * (job.instance_count or 1) >= _LEAST_NODE_HOURS:
        try:
            guess = samples.estimate(clients, job, samples.read_samples(clients, job, now), now)
        except NoCredentials:
            raise
        except TrainwatchError:
            return Aggregated()
        if guess is not None and guess.seconds > LONG_S:
            tell(
                f"Reading all log lines takes about {duration(guess.seconds)} at the quota (some {guess.pages:,.0f} "
                "pages); --aggregate asks Logs Insights for medians per minute instead, for "
                f"{_cost(guess, clients.region)}."
            )
    return Aggregated()


def aggregate(
    clients: Clients, job: Job, now: datetime, tell: Say, progress: Say, max_usd: float | None = None
) -> Aggregated:
    """The steps as Logs Insights sums them up, its cost told before.

    CannotDo where it would cost more than ``max_usd``. What else goes wrong is a gap, and the lines are then to be read.
    """
    try:
        windows = samples.read_samples(clients, job, now)
        guess = samples.estimate(clients, job, windows, now)
    except NoCredentials:
        raise
    except TrainwatchError as error:
        return _instead(gap_of("logs", error, "no samples for --aggregate"), tell)
    raw, texts = RawRows(), dict[Line, str]()
    for window in windows:
        for page in window.pages:
            raw.add(page)
            texts |= {(page.stream, page.first_line + i): line for i, line in enumerate(page.lines)}
    parsed = assemble(raw.steps, raw.events)
    choice = choose(raw.steps.table(), parsed, texts)
    if choice is None or guess is None:
        why = "Logs Insights cannot find this job's steps: none of its patterns matches them in the sampled lines"
        return _instead(Gap("logs", f"{why}; all lines were read instead."), tell)
    if max_usd is not None and guess.usd > max_usd:
        raise CannotDo(
            f"The query would cost {_cost(guess, clients.region)}, more than --max-usd {max_usd:g}; none was started.",
            "Allow more, or leave out --aggregate.",
        )
    tell(f"Logs Insights scans {_cost(guess, clients.region)}; reading all lines: {duration(guess.seconds)}.")
    answered, minutes = _ask(clients, job, now, choice, len(raw.streams), max_usd, progress)
    if answered.trouble is not None:
        return _instead(gap_of("logs", answered.trouble, "Logs Insights"), tell)
    steps = aggregated_steps(answered.rows, choice.ask, choice.meant, parsed.identity, node_of_stream)
    if steps.empty:
        return _instead(Gap("logs", "Logs Insights found no step; all lines were read instead."), tell)
    return Aggregated(steps, raw, (_marked(steps, minutes, answered, raw.lines, clients.region),))


def _ask(
    clients: Clients, job: Job, now: datetime, choice: Choice, streams: int, max_usd: float | None, progress: Say
) -> tuple[insights.Answered, int]:
    begun, end = job.started or job.created or now, job.ended or now
    writers = (
        ceil(1.25 * choice.writers) if choice.ask.tagged else max(choice.writers, streams, job.instance_count or 1)
    )
    cut = insights.cut(int(begun.timestamp()), int(end.timestamp()) + _LATE_S, writers)
    text = query(choice.ask, job.name, cut.bin_minutes)
    return insights.ask(clients, text, cut.slices, max_usd, progress), cut.bin_minutes


def _instead(gap: Gap, tell: Say) -> Aggregated:
    tell(f"{gap.why} {gap.remedy}".rstrip())
    return Aggregated(gaps=(gap,))


def _cost(guess: samples.Estimate, region: str) -> str:
    what = (
        "all jobs' lines of that time"
        if guess.whole_group
        else "this job's lines; other jobs' lines of that time come on top"
    )
    return f"{about_usd(guess.usd)} (an estimate: {_size(guess.scanned_bytes)}, {what}, at ${insights.usd_per_gb(region):g} a GB)"


def _size(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _marked(steps: pd.DataFrame, minutes: int, answered: insights.Answered, sampled: int, region: str) -> Gap:
    reports = int(steps["reports"].sum())
    paid = usd(insights.price_usd(answered.scanned_bytes, region))
    return Gap(
        "logs",
        f"The step figures are aggregated: medians of each process over {minutes} min, from {count(reports, 'report')} "
        f"(Logs Insights scanned {_size(answered.scanned_bytes)}, about {paid}).",
        f"Everything else from the logs comes from {count(sampled, 'sampled line')}; leave out --aggregate to read "
        "every line.",
    )
