"""Running jobs go on, finished ones do not, and chance plays no part."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

from monitor.demo import stories
from monitor.demo.account import Feeder
from monitor.demo.describe import describe
from monitor.demo.measurements import HostMinute
from monitor.demo.stories import STORIES
from monitor.demo.story import Story, schedule
from tests.demo.seen import NOW, Seen


class Notebook:
    """Stands where the simulated AWS would, and notes what is written."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, datetime, str]] = []
        self.minutes: list[tuple[str, HostMinute]] = []

    def put_log_event(self, stream_name: str, at: datetime, text: str) -> None:
        self.lines.append((stream_name, at, text))

    def put_host_minute(self, job_name: str, point: HostMinute) -> None:
        self.minutes.append((job_name, point))


def fed(story: Story, now: datetime = NOW, *later: timedelta) -> Notebook:
    notebook: Any = Notebook()
    feeder = Feeder(notebook, (schedule(story, now),), now)
    for wait in later:
        feeder.tick(now + wait)
    noted: Notebook = notebook
    return noted


def test_the_same_moment_gives_the_same_account() -> None:
    for story in STORIES:
        one, other = fed(story), fed(story)
        assert one.lines == other.lines
        assert one.minutes == other.minutes
        assert describe(schedule(story, NOW)) == describe(schedule(story, NOW))


def test_another_moment_shifts_the_account_and_changes_nothing_else() -> None:
    later = NOW + timedelta(days=3)
    for story in (stories.OUT_OF_MEMORY, stories.SPOT):
        one, other = fed(story), fed(story, later)
        assert [at + timedelta(days=3) for _, at, _ in one.lines] == [at for _, at, _ in other.lines]
        assert [point.values for _, point in one.minutes] == [point.values for _, point in other.minutes]


def test_nothing_is_ahead_of_the_clock() -> None:
    for story in STORIES:
        notebook = fed(story)
        assert all(at <= NOW for _, at, _ in notebook.lines)
        assert all(point.timestamp + timedelta(minutes=1) <= NOW for _, point in notebook.minutes)


def test_a_tick_brings_new_lines_and_new_minutes_of_the_live_job() -> None:
    before, after = fed(stories.LIVE), fed(stories.LIVE, NOW, timedelta(seconds=150))
    new = after.lines[len(before.lines) :]
    assert 60 < len(new) < 80
    assert all(NOW < at <= NOW + timedelta(seconds=150) for _, at, _ in new)
    minutes = {point.timestamp for _, point in after.minutes[len(before.minutes) :]}
    assert len(minutes) in {2, 3}


def test_many_small_ticks_write_what_one_big_tick_writes() -> None:
    small = [timedelta(seconds=2 * n) for n in range(1, 150)]
    for story in (stories.LIVE, stories.STALLED):
        one, other = fed(story, NOW, small[-1]), fed(story, NOW, *small)
        assert sorted(one.lines) == sorted(other.lines)
        assert one.minutes == other.minutes


def test_a_tick_leaves_finished_jobs_alone_and_the_stalled_one_silent() -> None:
    assert fed(stories.HEALTHY, NOW, timedelta(hours=1)).lines == fed(stories.HEALTHY).lines
    before, after = fed(stories.STALLED), fed(stories.STALLED, NOW, timedelta(minutes=10))
    assert after.lines == before.lines
    fresh = [point for _, point in after.minutes[len(before.minutes) :]]
    assert len(fresh) == 10 * len(stories.STALLED.nodes)
    assert {point.values["GPUUtilization"] for point in fresh} == {800.0}


def test_the_live_job_looks_45_minutes_old_and_reaches_the_present() -> None:
    notebook = fed(stories.LIVE)
    steps = [at for _, at, text in notebook.lines if ", Batch " in text]
    assert timedelta(minutes=40) < NOW - steps[0] < timedelta(minutes=50)
    assert NOW - steps[-1] < timedelta(seconds=25)
    assert NOW - max(point.timestamp for _, point in notebook.minutes) <= timedelta(minutes=2)


def test_new_lines_are_seen_where_the_reader_had_stopped(seen: Seen) -> None:
    job = seen.job(stories.LIVE)
    stream = next(name for name in seen.streams(stories.LIVE) if "/algo-1-" in name)
    request = {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": stream, "startFromHead": True}
    end = seen.logs.get_log_events(**request)["nextForwardToken"]
    assert seen.logs.get_log_events(**request, nextToken=end)["events"] == []
    seen.account.feeder.tick(NOW + timedelta(seconds=30))
    new = seen.logs.get_log_events(**request, nextToken=end)["events"]
    assert 10 < len(new) < 20
    assert job.name in stream


def test_the_thread_ends_at_once_when_stopped() -> None:
    notebook: Any = Notebook()
    feeder = Feeder(notebook, (schedule(stories.LIVE, NOW),), NOW)
    feeder.start()
    feeder.stop()
    feeder.stop()
    assert "demo-feeder" not in {thread.name for thread in threading.enumerate()}
