"""A rule about jobs that pay on-demand prices though an interruption would cost them little."""

from __future__ import annotations

from monitor.analyze.checkpoints import Cadence, Save, cadence, saves
from monitor.analyze.phases import beginning, billed_seconds
from monitor.diagnose.rulebook import Case, rule
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import count, duration, usd

# Shorter jobs save little, and wait for capacity as long as others.
LEAST_S = 2 * 3600.0
# An interruption that costs more than this share of the job is not worth advising.
MOST_LOST = 0.1
#: What the developer guide gives as the most that managed spot training saves.
MOST_SAVED = 0.9


@rule("managed-spot", silenced_by=("checkpoint-overdue", "lost-work", "stall"), about="risk", whole_log=True)
def managed_spot(case: Case) -> Finding | None:
    """The job runs on demand, though it saves regularly to S3 and could go on after an interruption.

    What it means: the job has no managed spot training, trained for two hours or more, and saved at least three times at a
    regular interval to the folder that its checkpoint configuration copies to S3; starting again and half an interval of
    work are less than a tenth of its time.

    Why it matters: managed spot training is billed at what the capacity costs, which is up to 90 % less than on demand.

    What to do: set EnableManagedSpotTraining and a MaxWaitTimeInSeconds, make sure that the script loads the newest
    checkpoint at its start, and try it with one job; large GPU types may wait long for spot capacity.

    Source: SageMaker developer guide, managed spot training (up to 90 %); the limits are this project's.
    """
    job = case.run.job
    if job.spot or not job.outputs.checkpoints or job.source == "logs" or job.warm_pool_billable_seconds is not None:
        return None
    trained_s = billed_seconds(case.phases)
    known = saves(case.journal, case.run.events)
    usual = cadence(known) if known else None
    if usual is None or trained_s < LEAST_S or job.status in {"Failed", "Stopped"}:
        return None
    begun = beginning(case.run, case.journal, case.now)
    start_s = begun.seconds(case.now) if begun is not None and begun.first_step is not None else None
    if start_s is None or start_s + usual.seconds / 2 > MOST_LOST * trained_s:
        return None
    return _finding(case, known, usual, trained_s, start_s)


def _finding(case: Case, known: tuple[Save, ...], usual: Cadence, trained_s: float, start_s: float) -> Finding:
    job, price = case.run.job, case.usd_per_hour
    each_s = start_s + usual.seconds / 2
    money = f" ({usd(price * each_s / 3600)})" if price else ""
    total = price * (job.training_seconds or trained_s) / 3600 if price else None
    so_far = " so far" if job.is_running else ""
    most = f"Managed spot would save up to {usd(MOST_SAVED * total)} of {usd(total)}{so_far}. " if total else ""
    return Finding(
        "managed-spot",
        "info",
        "low",
        "On demand, though it could restart: spot saves up to 90 %",
        f"{most}{count(len(known), 'checkpoint')} went to {job.outputs.checkpoints}, one every {duration(usual.seconds)}. "
        f"An interruption would cost about {duration(each_s)} on all instances{money}: {duration(start_s)} to the first step, "
        "and half an interval of work.",
        (
            Evidence("interval between checkpoints, median", usual.seconds, "s"),
            Evidence("from the start of training to the end of the first step", start_s, "s", view="steps"),
            Evidence("billed", trained_s, "s"),
        ),
        Recommendation(
            "Set EnableManagedSpotTraining and MaxWaitTimeInSeconds, and load the newest checkpoint from /opt/ml/checkpoints "
            "at the start. Try it with one job: how long this type waits for spot capacity, and how often it is taken back, "
            "nobody publishes.",
            "EnableManagedSpotTraining",
            False,
            True,
            "SageMaker developer guide, managed spot training (up to 90 %)",
        ),
        None,
        ("spot prices and capacity: AWS publishes none for training", "whether the script loads its checkpoints"),
    )
