"""Who runs the tasks of a review of exported logs: processes of this machine, or Spark."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol

Task = Callable[[str], str]
#: Instead of an answer: the process that worked on it ended, as where memory runs out.
LOST = ""


class Engine(Protocol):
    """Calls a function for many texts, and gives the answers as they come, in any order, each with its text's place."""

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int:
        """How many tasks are worked on at a time."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether all workers see the folders of this machine."""
        ...

    def answers(self, function: Task, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """(place, answer); the answer is ``LOST`` where a worker was lost with it again and again."""
        ...


class Local:
    """Processes of this machine; one is this process itself."""

    name, is_here = "local", True

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1

    def answers(self, function: Task, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        if self.workers == 1:
            for place, text in enumerate(texts):
                yield place, function(text)
            return
        lost: list[int] = []
        yield from self._side_by_side(function, texts, range(len(texts)), self.workers, lost)
        # Which of them it was nobody says: each alone, so that one that ends its process takes no other with it.
        for place in lost:
            again: list[int] = []
            yield from self._side_by_side(function, texts, [place], 1, again)
            yield from ((each, LOST) for each in again)

    def _side_by_side(
        self, function: Task, texts: Sequence[str], places: Sequence[int], workers: int, lost: list[int]
    ) -> Iterator[tuple[int, str]]:
        todo = deque(places)
        while todo:
            # Spawned: a fork would copy locks that a thread holds.
            pool = ProcessPoolExecutor(min(workers, len(todo)), multiprocessing.get_context("spawn"))
            running: dict[Future[str], int] = {}
            try:
                while todo or running:
                    while todo and len(running) < 2 * workers:
                        running[pool.submit(function, texts[todo[0]])] = todo[0]
                        todo.popleft()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        answer = future.result()
                        yield running.pop(future), answer
            except BrokenProcessPool:
                lost += running.values()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
