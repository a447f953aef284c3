"""One sample job has what a profiler leaves: a newcomer sees single GPUs without an account of their own."""

from __future__ import annotations

import pytest

from monitor.demo.measurements import objects
from monitor.demo.stories import SLOW_NODE, SPOT
from monitor.demo.story import Story
from monitor.parse.profiler.gpu_lines import gpu_lines
from monitor.parse.profiler.names import minute_of
from tests.demo.seen import NOW, Seen


def test_the_job_names_its_output_and_it_lies_there(seen: Seen) -> None:
    answer = seen.describe(SLOW_NODE)
    bucket, _, prefix = answer["ProfilerConfig"]["S3OutputPath"].removeprefix("s3://").partition("/")
    s3 = seen.client("s3")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/{answer['TrainingJobName']}/")["Contents"]
    minutes = [found for row in listed if (found := minute_of(row["Key"]))]
    assert len(minutes) == len(listed) > 200
    assert {node for _, node in minutes} == set(SLOW_NODE.nodes)
    assert min(at for at, _ in minutes) >= answer["TrainingStartTime"].timestamp() - 60
    assert max(at for at, _ in minutes) <= answer["TrainingEndTime"].timestamp()


def test_the_gpus_of_a_host_have_the_mean_that_cloudwatch_shows(seen: Seen) -> None:
    sums = {int(at.timestamp()): value for at, value in seen.metrics(SLOW_NODE)["algo-3", "GPUUtilization"].items()}
    compared = 0
    for key, data in objects(seen.job(SLOW_NODE), NOW):
        place = minute_of(key)
        assert place is not None
        if place[1] == "algo-3" and place[0] in sums:
            mean = gpu_lines(data).frame["utilization_pct"].mean()
            assert mean == pytest.approx(sums[place[0]] / 8, abs=1.5)
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("story", [SPOT])
def test_the_others_have_none(seen: Seen, story: Story) -> None:
    assert "ProfilerConfig" not in seen.describe(story)
    assert list(objects(seen.job(story), NOW)) == []
