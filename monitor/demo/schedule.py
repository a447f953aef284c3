"""When does each part of a sample job happen, seen from now?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from monitor.demo.story import Interruption, NoCapacity, OutOfMemory, Story
from monitor.demo.work import Span, spans

REPLACEMENT_S = 95.0
"""From new spot instances to the data being there again."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One life of the job's containers. ``recorded`` is None for a job that is still running."""

    number: int
    began: datetime
    from_step: int = 0
    recorded: tuple[Span, ...] | None = None

    def spans(self, story: Story) -> Iterator[Span]:
        """The spans from the first on; of a running job without an end, so take no more than you need."""
        return iter(self.recorded) if self.recorded is not None else spans(story, self.number, self.from_step)


@dataclass(frozen=True, slots=True)
class Status:
    """One entry of SecondaryStatusTransitions."""

    status: str
    start: datetime
    end: datetime | None
    message: str


@dataclass(frozen=True, slots=True)
class SampleJob:
    """A story that has got its name and its times (aware UTC)."""

    story: Story
    name: str
    created: datetime
    statuses: tuple[Status, ...]
    attempts: tuple[Attempt, ...]
    started: datetime | None
    ended: datetime | None
    training_s: int | None
    status: str
    """TrainingJobStatus."""


def schedule(story: Story, now: datetime) -> SampleJob:
    """The story as it stands at ``now``: the same result for the same two."""
    now = now.astimezone(UTC).replace(microsecond=0)
    if isinstance(story.fault, NoCapacity):
        return _never_started(story, story.fault, now)
    attempts: tuple[Attempt, ...]
    if story.ended_ago is None:
        created = now - (story.created_ago or timedelta())
        attempts = (Attempt(0, created + _s(story.container_after_s)),)
    else:
        # Backwards from the end: what the containers do says how long the job took.
        lives = _lives(story)
        last_begin_s, _, last = lives[-1]
        first_began = now - story.ended_ago - _s(last_begin_s + last[-1].end_s + story.uploading_s)
        created = first_began - _s(story.container_after_s)
        attempts = tuple(
            Attempt(number, first_began + _s(begin_s), from_step, recorded)
            for number, (begin_s, from_step, recorded) in enumerate(lives)
        )
    statuses = tuple(_statuses(story, created, attempts))
    started = created + _s(story.pending_s)
    ended = None if story.ended_ago is None else now - story.ended_ago
    training_s = None
    if ended is not None:
        away = sum((attempt.began - _life_end(before) for before, attempt in pairwise(attempts)), timedelta())
        # The new data download is training time again.
        training_s = round((ended - started - away).total_seconds() + REPLACEMENT_S * (len(attempts) - 1))
    status = "InProgress" if ended is None else "Failed" if isinstance(story.fault, OutOfMemory) else "Completed"
    return SampleJob(story, _name(story, created), created, statuses, attempts, started, ended, training_s, status)


def _name(story: Story, created: datetime) -> str:
    """As the SageMaker SDK names jobs: base, time to the second, three digits of milliseconds."""
    digits = sum(map(ord, story.base_name)) * 37 % 1000
    return f"{story.base_name}-{created:%Y-%m-%d-%H-%M-%S}-{digits:03d}"


def _lives(story: Story) -> list[tuple[float, int, tuple[Span, ...]]]:
    """Each attempt of an ended job as (seconds after the first containers began, its first step, its spans)."""
    first = tuple(spans(story))
    if not isinstance(story.fault, Interruption):
        return [(0.0, 0, first)]
    saved = max((span.step for span in first if span.kind == "checkpoint"), default=0)
    again_s = story.fault.after_s + story.fault.waited_s + REPLACEMENT_S
    return [(0.0, 0, first), (again_s, saved, tuple(spans(story, 1, saved)))]


def _statuses(story: Story, created: datetime, attempts: tuple[Attempt, ...]) -> Iterator[Status]:
    downloading = created + _s(story.pending_s)
    training = downloading + _s(story.downloading_s)
    yield Status("Starting", created, downloading, "Preparing the instances for training")
    yield Status("Downloading", downloading, training, "Downloading input data")
    for before, attempt in pairwise(attempts):
        gone = _life_end(before)
        back = attempt.began - _s(REPLACEMENT_S)
        yield Status("Training", training, gone, "Training image download completed. Training in progress.")
        yield Status("Interrupted", gone, gone + _s(20), "Training job interrupted: spot capacity was taken away")
        yield Status("Starting", gone + _s(20), back, "Preparing the instances for training")
        training = attempt.began - _s(REPLACEMENT_S / 2)
        yield Status("Downloading", back, training, "Downloading input data")
    if story.ended_ago is None:
        yield Status("Training", training, None, "Training image download completed. Training in progress.")
        return
    uploading = _life_end(attempts[-1])
    ended = uploading + _s(story.uploading_s)
    yield Status("Training", training, uploading, "Training image download completed. Training in progress.")
    yield Status("Uploading", uploading, ended, "Uploading generated training model")
    if isinstance(story.fault, OutOfMemory):
        yield Status("Failed", ended, ended, "Training job failed")
    else:
        yield Status("Completed", ended, ended, "Training job completed")


def _never_started(story: Story, fault: NoCapacity, now: datetime) -> SampleJob:
    ended = now - (story.ended_ago or timedelta())
    created = ended - _s(fault.waited_s)
    statuses = (
        Status("Starting", created, ended, "Insufficient capacity error from EC2 while launching instances, retrying!"),
        Status("Failed", ended, ended, "Training job failed"),
    )
    return SampleJob(story, _name(story, created), created, statuses, (), None, ended, None, "Failed")


def _life_end(attempt: Attempt) -> datetime:
    """When a recorded attempt's containers were gone; a spot interruption cuts a step short."""
    assert attempt.recorded is not None
    return attempt.began + _s(attempt.recorded[-1].end_s)


def _s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)
