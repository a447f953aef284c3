"""Each sample job shows what its story says it shows."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from itertools import pairwise
from statistics import fmean, median

import pytest

from monitor.demo import stories
from monitor.demo.story import Story
from tests.demo.seen import NOW, Seen

SMP_V1 = re.compile(
    r"\[1,mpirank:0,algo-1\]<stdout>:\((\d+)s\), Batch (\d+) Loss: ([\d.]+), Speed: ([\d.]+) samples/sec"
)


def busy(seen: Seen, story: Story, node: str, metric: str) -> float:
    """Mean percent of one device from ten minutes after the first step to five before the end."""
    job = seen.job(story)
    begin = job.attempts[-1].began + timedelta(minutes=10)
    values = [
        v for t, v in seen.metrics(story)[node, metric].items() if begin < t < (job.ended or NOW) - timedelta(minutes=5)
    ]
    hardware = story.hardware(node)
    return fmean(values) / (hardware.gpus if metric.startswith("GPU") else hardware.vcpus)


def steps(seen: Seen, story: Story, node: str) -> dict[int, float]:
    """step -> step_time_s, as this node's own lines have it."""
    found = re.findall(r"step=(\d+) step_time_s=([\d.]+)", seen.text(story, node))
    return {int(step): float(seconds) for step, seconds in found}


@pytest.mark.parametrize(
    ("story", "gpu_pct", "memory_pct"),
    [
        (stories.HEALTHY, 93, 71),
        (stories.LIVE, 91, 76),
        (stories.SMALL_WINDOW, 46, 38),
        (stories.MICS_NODE, 88, 44),
        (stories.MICS_ALL, 83, 30),
        (stories.SMALL_BATCH, 44, 23),
        (stories.SPOT, 89, 74),
    ],
    ids=lambda value: value.base_name if isinstance(value, Story) else "",
)
def test_how_busy_the_gpus_are(seen: Seen, story: Story, gpu_pct: float, memory_pct: float) -> None:
    for node in story.training_nodes:
        assert busy(seen, story, node, "GPUUtilization") == pytest.approx(gpu_pct, abs=3.5)
        assert busy(seen, story, node, "GPUMemoryUtilization") == pytest.approx(memory_pct, abs=2)


@pytest.mark.parametrize(
    "story", [stories.HEALTHY, stories.SMALL_WINDOW, stories.LIVE, stories.OUT_OF_MEMORY], ids=lambda s: s.base_name
)
def test_speed_and_clock_of_the_gpt_sample_agree(seen: Seen, story: Story) -> None:
    reports = [
        (int(clock), int(batch), float(speed))
        for clock, batch, _, speed in SMP_V1.findall(seen.text(story, story.leader))
    ]
    by_clock = (reports[-1][0] - reports[0][0]) / (reports[-1][1] - reports[0][1])
    by_speed = median(story.units_per_step / speed for _, _, speed in reports[1:])
    assert by_clock == pytest.approx(by_speed, rel=0.04)
    assert by_speed == pytest.approx(story.step_s, rel=0.02)
    assert [batch for _, batch, _ in reports][:3] == [n * story.log_every - 1 for n in (1, 2, 3)]


def test_model_parallel_parameters_stand_in_hyperparameters_and_in_the_log(seen: Seen) -> None:
    parameters = json.loads(seen.describe(stories.SMALL_WINDOW)["HyperParameters"]["mp_parameters"])
    assert (parameters["pipeline_parallel_degree"], parameters["microbatches"]) == (4, 8)
    text = seen.text(stories.SMALL_WINDOW, "algo-1")
    assert "Configuration parameters:" in text
    assert f"  active_microbatches: {parameters['active_microbatches']}" in text
    assert "  placement_strategy: cluster" in text
    # Left at the library's default: pipeline degree + 2, at most microbatches.
    assert "  active_microbatches: 1" in seen.text(stories.LIVE, "algo-1")


def test_the_leader_of_an_mpi_job_prints_where_the_ranks_run(seen: Seen) -> None:
    text = seen.text(stories.OUT_OF_MEMORY, "algo-1")
    assert (
        "Env Hosts: ['algo-1', 'algo-2'] Hosts: ['algo-1:8', 'algo-2:8'] process_per_hosts: 8 num_processes: 16" in text
    )
    assert " Data for node: algo-2#011Num slots: 8#011" in text
    assert " #011Process OMPI jobid: [34076,1] App: 0 Process rank: 15 Bound: N/A" in text
    assert "SM_NUM_GPUS=8" in text
    hyperparameters = re.search(r"^SM_HPS=(.*)$", text, re.M)
    assert hyperparameters
    assert json.loads(hyperparameters[1])["train_batch_size"] == 2
    assert "mpirank" not in seen.text(stories.OUT_OF_MEMORY, "algo-2")


def test_slow_node_is_slow_by_its_own_clock_and_less_busy(seen: Seen) -> None:
    own = {node: steps(seen, stories.SLOW_NODE, node) for node in stories.SLOW_NODE.nodes}
    late = {node: median(s for step, s in of.items() if step > 600) for node, of in own.items()}
    early = {node: median(s for step, s in of.items() if 5 < step < 250) for node, of in own.items()}
    assert late["algo-3"] / late["algo-1"] == pytest.approx(1.3, abs=0.02)
    assert late["algo-2"] / late["algo-1"] == pytest.approx(1.0, abs=0.01)
    assert early["algo-3"] / early["algo-1"] == pytest.approx(1.0, abs=0.01)
    gpu = {node: busy(seen, stories.SLOW_NODE, node, "GPUUtilization") for node in stories.SLOW_NODE.nodes}
    assert gpu["algo-3"] < min(gpu[node] for node in ("algo-1", "algo-2", "algo-4")) - 12


def test_stalled_job_is_silent_for_26_minutes_with_all_gpus_at_100(seen: Seen) -> None:
    assert seen.describe(stories.STALLED)["TrainingJobStatus"] == "InProgress"
    last = max(seen.events(stories.STALLED, node)[-1][0] for node in stories.STALLED.nodes)
    assert timedelta(minutes=25.5) < NOW - last < timedelta(minutes=26.5)
    assert "Batch" in seen.events(stories.STALLED, "algo-1")[-1][1]
    metrics = seen.metrics(stories.STALLED)
    for node in stories.STALLED.nodes:
        silent = [v for t, v in metrics[node, "GPUUtilization"].items() if t > last + timedelta(minutes=1)]
        assert len(silent) >= 23
        assert set(silent) == {800.0}


def test_out_of_memory_names_rank_14_in_its_fourth_minute(seen: Seen) -> None:
    events = seen.events(stories.OUT_OF_MEMORY, "algo-1")
    first_step = next(at for at, text in events if "Batch 0 " in text) - timedelta(
        seconds=stories.OUT_OF_MEMORY.first_step_s
    )
    failed_at, line = next((at, text) for at, text in events if "CUDA out of memory" in text)
    assert line.startswith("[1,mpirank:14,algo-2]<stderr>:RuntimeError: CUDA out of memory. Tried to allocate")
    assert timedelta(minutes=3) < failed_at - first_step < timedelta(minutes=4)
    answer = seen.describe(stories.OUT_OF_MEMORY)
    assert answer["TrainingJobStatus"] == answer["SecondaryStatus"] == "Failed"
    assert answer["FailureReason"].startswith("AlgorithmError: ExecuteUserScriptError:")
    assert len(answer["FailureReason"]) <= 1024


def test_spot_job_was_interrupted_resumed_and_cheaper(seen: Seen) -> None:
    answer = seen.describe(stories.SPOT)
    order = [transition["Status"] for transition in answer["SecondaryStatusTransitions"]]
    assert order[:5] == ["Starting", "Downloading", "Training", "Interrupted", "Starting"]
    assert order[-2:] == ["Uploading", "Completed"]
    assert answer["EnableManagedSpotTraining"]
    assert answer["BillableTimeInSeconds"] < answer["TrainingTimeInSeconds"] / 2
    wall_s = (answer["TrainingEndTime"] - answer["TrainingStartTime"]).total_seconds()
    assert answer["TrainingTimeInSeconds"] < wall_s
    first, second = (seen.text(stories.SPOT, "algo-1", attempt) for attempt in (0, 1))
    saved = max(int(step) for step in re.findall(r"Saved checkpoint to /opt/ml/checkpoints/step_(\d+)", first))
    reached = max(int(step) for step in re.findall(r"step=(\d+)", first))
    assert f"Resuming from checkpoint /opt/ml/checkpoints/step_{saved}" in second
    assert min(int(step) for step in re.findall(r"step=(\d+)", second)) == saved + 5 <= reached


def test_small_sharding_groups_are_14_percent_faster(seen: Seen) -> None:
    def step_s(story: Story) -> float:
        found = re.findall(r"step: (\d+): step time is ([\d.]+)", seen.text(story, "algo-1"))
        printed = [(int(step), float(value)) for step, value in found]
        assert all(a[1] < b[1] for a, b in pairwise(printed))
        return (printed[-1][1] - printed[9][1]) / (printed[-1][0] - printed[9][0])

    assert step_s(stories.MICS_NODE) / step_s(stories.MICS_ALL) == pytest.approx(0.86, abs=0.01)
    different = {
        key: (a, b)
        for key, a in json.loads(seen.describe(stories.MICS_ALL)["HyperParameters"]["mp_parameters"]).items()
        if a != (b := json.loads(seen.describe(stories.MICS_NODE)["HyperParameters"]["mp_parameters"])[key])
    }
    assert different == {"sharded_data_parallel_degree": (32, 4)}


def test_one_gpu_never_passes_100_of_400(seen: Seen) -> None:
    metrics = seen.metrics(stories.ONE_GPU)
    assert 90 < max(metrics["algo-1", "GPUUtilization"].values()) <= 100
    assert max(metrics["algo-1", "GPUMemoryUtilization"].values()) <= 100
    assert re.search(
        r"\d+%\|[█▏▎▍▌▋▊▉ ]{10}\| \d+/3600 \[\d\d:\d\d<\d\d:\d\d, 1\.\d\dit/s\]", seen.text(stories.ONE_GPU, "algo-1")
    )


def test_small_batch_steps_are_steady_and_everything_is_mostly_free(seen: Seen) -> None:
    assert busy(seen, stories.SMALL_BATCH, "algo-1", "CPUUtilization") < 30
    rates = [float(rate) for rate in re.findall(r", ([\d.]+)it/s\]", seen.text(stories.SMALL_BATCH, "algo-2"))][20:]
    middle = median(rates)
    assert median(abs(rate - middle) for rate in rates) / middle < 0.03


def test_job_without_capacity_never_started(seen: Seen) -> None:
    answer = seen.describe(stories.NO_CAPACITY)
    assert answer["TrainingJobStatus"] == "Failed"
    assert answer["FailureReason"].startswith("CapacityError: ")
    assert "TrainingStartTime" not in answer
    assert "TrainingTimeInSeconds" not in answer


def test_heterogeneous_job_has_two_groups_that_its_log_maps_to_nodes(seen: Seen) -> None:
    resources = seen.describe(stories.HETEROGENEOUS)["ResourceConfig"]
    assert "InstanceType" not in resources
    assert [(g["InstanceGroupName"], g["InstanceCount"]) for g in resources["InstanceGroups"]] == [
        ("decode", 1),
        ("train", 2),
    ]
    text = seen.text(stories.HETEROGENEOUS, "algo-2")
    line = re.search(r"^SM_RESOURCE_CONFIG=(.*)$", text, re.M)
    assert line
    groups = {g["instance_group_name"]: g["hosts"] for g in json.loads(line[1])["instance_groups"]}
    assert groups == {"decode": ["algo-2"], "train": ["algo-1", "algo-3"]}
    assert "step_time_s=" not in text
    assert "step_time_s=" in seen.text(stories.HETEROGENEOUS, "algo-3")


def test_gpus_rest_while_a_checkpoint_is_written(seen: Seen) -> None:
    saved = [at for at, text in seen.events(stories.HEALTHY, "algo-1") if "Saved checkpoint" in text]
    gpu = seen.metrics(stories.HEALTHY)["algo-1", "GPUUtilization"]
    for at in saved:
        near = [value for minute, value in gpu.items() if abs(minute - at) < timedelta(minutes=2)]
        assert min(near) < 0.8 * median(gpu.values())
