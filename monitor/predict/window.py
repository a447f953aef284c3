"""How does SMP v1 run a pipeline? A simulation of its window of active microbatches, event by event.

The first stage leads: it starts a backward where one is ready, else a new forward, and that only while fewer than
``active_microbatches`` are under way; the other stages do what has arrived, backwards first. As the library's
documentation and its source of version 1.12 describe it; the order of two requests of one kind is this project's.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import count
from math import inf

from monitor.predict.pipeline import Kind, Pipeline, Schedule, Work


def smp_window(pipeline: Pipeline, active_microbatches: int) -> Schedule:
    """The schedule of one step. ValueError for a window below 1; one above ``microbatches`` is as wide as these."""
    if active_microbatches < 1:
        raise ValueError("active_microbatches is at least 1")
    return _Simulation(pipeline, min(active_microbatches, pipeline.microbatches)).run()


def smp_window_seconds(pipeline: Pipeline, active_microbatches: int) -> float:
    """What ``smp_window`` takes, without its pieces: several times as quick, for ranges out of many draws.

    Microbatches pass a stage in their order, so that times of arrival are all that has to be remembered.
    """
    if active_microbatches < 1:
        raise ValueError("active_microbatches is at least 1")
    last, window = pipeline.stages - 1, min(active_microbatches, pipeline.microbatches)
    to_start, under_way, left = pipeline.microbatches, 0, 2 * pipeline.stages * pipeline.microbatches
    forwards = [deque[float]() for _ in range(last + 1)]
    backwards = [deque[float]() for _ in range(last + 1)]
    free = [0.0] * (last + 1)
    # When each stage begins its next work, as far as that is known.
    begin = [0.0, *[inf] * last]
    now = 0.0
    while left:
        now = min(begin)
        stage = begin.index(now)
        if backwards[stage] and backwards[stage][0] <= now:
            backwards[stage].popleft()
            end = now + pipeline.backward_s[stage]
            if stage:
                to, queue, arrival = stage - 1, backwards[stage - 1], end + pipeline.hop_s
            else:
                to, queue, arrival = 0, None, end
                under_way -= 1
        else:
            end = now + pipeline.forward_s[stage]
            if stage:
                forwards[stage].popleft()
            else:
                to_start, under_way = to_start - 1, under_way + 1
            if stage < last:
                to, queue, arrival = stage + 1, forwards[stage + 1], end + pipeline.hop_s
            else:
                to, queue, arrival = stage, backwards[stage], end
        left -= 1
        free[stage] = end
        if queue is not None:
            queue.append(arrival)
        for each in (stage, to) if to != stage else (stage,):
            ready = backwards[each][0] if backwards[each] else inf
            if each:
                ready = min(ready, forwards[each][0]) if forwards[each] else ready
            elif to_start and under_way < window:
                ready = 0.0
            begin[each] = ready if ready > free[each] else free[each]
    return max(free)


class _Simulation:
    def __init__(self, pipeline: Pipeline, window: int) -> None:
        self._pipeline, self._window = pipeline, window
        stages = pipeline.stages
        self._busy = [False] * stages
        self._waiting: dict[Kind, list[list[int]]] = {
            "forward": [[] for _ in range(stages)],
            "backward": [[] for _ in range(stages)],
        }
        # (time, order, stage, kind, microbatch, whether it ends there or arrives)
        self._events: list[tuple[float, int, int, Kind, int, bool]] = []
        self._order = count()
        self._started = self._finished = 0
        self._work: list[Work] = []

    def run(self) -> Schedule:
        self._dispatch(0, 0.0)
        while self._events:
            now = self._events[0][0]
            touched = {0}
            # All that happens at one moment is known before anyone decides what to do next.
            while self._events and self._events[0][0] <= now:
                _, _, stage, kind, microbatch, ends = heapq.heappop(self._events)
                touched.add(stage)
                if ends:
                    self._end(stage, kind, microbatch, now)
                else:
                    heapq.heappush(self._waiting[kind][stage], microbatch)
            for stage in sorted(touched):
                self._dispatch(stage, now)
        return Schedule(tuple(self._work), self._pipeline.stages)

    def _end(self, stage: int, kind: Kind, microbatch: int, now: float) -> None:
        self._busy[stage] = False
        last = self._pipeline.stages - 1
        if kind == "forward" and stage == last:
            heapq.heappush(self._waiting["backward"][stage], microbatch)
        elif kind == "backward" and stage == 0:
            self._finished += 1
        else:
            neighbour = stage + (1 if kind == "forward" else -1)
            arrival = (now + self._pipeline.hop_s, next(self._order), neighbour, kind, microbatch, False)
            heapq.heappush(self._events, arrival)

    def _dispatch(self, stage: int, now: float) -> None:
        if self._busy[stage]:
            return
        if self._waiting["backward"][stage]:
            self._start(stage, "backward", heapq.heappop(self._waiting["backward"][stage]), now)
        elif stage == 0:
            if self._started < self._pipeline.microbatches and self._started - self._finished < self._window:
                self._started += 1
                self._start(stage, "forward", self._started - 1, now)
        elif self._waiting["forward"][stage]:
            self._start(stage, "forward", heapq.heappop(self._waiting["forward"][stage]), now)

    def _start(self, stage: int, kind: Kind, microbatch: int, now: float) -> None:
        times = self._pipeline.forward_s if kind == "forward" else self._pipeline.backward_s
        self._busy[stage] = True
        self._work.append(Work(stage, kind, microbatch, now, now + times[stage]))
        heapq.heappush(self._events, (now + times[stage], next(self._order), stage, kind, microbatch, True))
