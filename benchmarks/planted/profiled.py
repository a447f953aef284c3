"""What the profiler of a simulated job shows: objects of its nodes and minutes, made when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from benchmarks.planted.course import Floats
from benchmarks.planted.plan import Habit
from benchmarks.planted.scenario import Scenario
from monitor.demo.measurements import MINUTE_S, Sampled, minute
from monitor.fetch.metrics.profiler import ObjectListing
from monitor.parse.profiler.names import minute_of

_LINE_BYTES = 128
_BUSY_PCT = 96.0


class PlantedMinutes:
    """The MinuteStore of a scenario."""

    spent_usd = 0.0

    def __init__(self, scenario: Scenario, habit: Habit) -> None:
        self.label = f"s3://planted/{scenario.plan.name}"
        self._plan, self._habit = scenario.plan, habit
        rows = scenario.metrics
        self._level: Mapping[tuple[str, str, int], float] = {
            (str(metric), str(node), int(at.timestamp())): float(value)
            for metric, node, at, value in zip(
                rows["metric"], rows["node"], rows["timestamp"], rows["value"], strict=True
            )
        }
        hardware = scenario.plan.hardware
        size = (8 + 2 * hardware.vcpus + 2 * hardware.gpus) * habit.samples * _LINE_BYTES
        self._sizes = {
            f"{datetime.fromtimestamp(at, UTC):%Y%m%d%H}/{at}.{node}.json": size
            for metric, node, at in self._level
            if metric == "gpu_utilization"
        }

    def listed(self, near_s: int | None = None, hours: bool = True) -> ObjectListing:
        return ObjectListing(self._sizes)

    def read(self, name: str, most: int | None = None) -> bytes | None:
        place = minute_of(name)
        if place is None or name not in self._sizes:
            return None
        data = minute(place[1], place[0], self._sampled(place[1], place[0]))
        return data if most is None else data[:most]

    def _sampled(self, node: str, at_s: int) -> Sampled:
        plan, habit, number = self._plan, self._habit, int(node.removeprefix("algo-")) - 1
        hardware, rng = plan.hardware, np.random.default_rng((plan.seed, at_s, number))
        used = plan.levels.gpus_used or hardware.gpus
        mean = self._level["gpu_utilization", node, at_s] / used
        held = self._level["gpu_memory_utilization", node, at_s] / used
        count = habit.samples
        seconds = at_s + MINUTE_S / count * np.arange(count)
        still = np.mod(seconds, habit.period_s) < habit.still_s
        busy = np.full((count, hardware.gpus), mean)
        if habit.still_s:
            busy[:] = np.where(still, habit.low_pct, _BUSY_PCT)[:, None]
        if habit.odd is not None and habit.odd[0] == number:
            # The mean is what CloudWatch shows.
            busy -= habit.odd[2] / hardware.gpus
            busy[:, habit.odd[1]] += habit.odd[2]
        busy = np.clip(busy + rng.normal(0, 1.0, busy.shape) * (busy > 3), 0, 100)
        memory = np.full(busy.shape, held)
        if habit.memory is not None and habit.memory[0] == number:
            memory[:, habit.memory[1]] = habit.memory[2]
        if habit.empty is not None and habit.empty[0] == number:
            busy[:, habit.empty[1]] = memory[:, habit.empty[1]] = 0.0
        busy[:, used:] = memory[:, used:] = 0.0
        cores = np.clip(rng.normal(plan.levels.cpu, 4.0, (count, hardware.vcpus)), 1, 85)
        for waits, full in zip((True, False), habit.cores_full, strict=True):
            cores[still == waits, :full] = 99.0
        waiting = np.where(still, *habit.cores_waiting)[:, None] * 100 / hardware.vcpus
        io_wait: Floats = np.broadcast_to(waiting, cores.shape)
        return Sampled(
            np.round(busy, 1),
            np.round(memory, 1),
            np.round(cores, 2),
            np.round(io_wait, 3),
            received_bytes_s=habit.gbps / 8e-9,
        )
