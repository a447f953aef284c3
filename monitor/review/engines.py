"""Who runs the tasks of a review of exported logs: processes of this machine, or Spark (a row a task, a partition a task, and one
function mapped over them).

No log text passes through Spark: a worker reads its objects and writes its jobs itself, so nothing is shuffled, and a task that
Spark runs twice writes the same files twice. ``mapInArrow`` is ``mapInPandas`` without pandas, whose version 3 PySpark 4 does not
fully support.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from monitor.errors import CannotDo

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


_REMEDY = "Install the extra: pip install -r requirements-spark.txt, and Java 17 or newer."
#: An empty partition costs more than a task that waits for its turn.
MOST_PARTITIONS = 10_000
_UNKNOWN = 16
_COLUMNS = "place long, text string"


class Spark:
    """The session that there is, else one as the environment configures it, else one of this machine."""

    name = "spark"

    def __init__(self, workers: int | None = None, session: Any = None) -> None:
        self._session = session or _session(workers)
        try:
            context = self._session.sparkContext
            self.workers, master = int(context.defaultParallelism), str(context.master)
        except Exception:  # a session on a server tells nothing of it
            self.workers, master = workers or _UNKNOWN, ""
        self.is_here = master.startswith("local")

    def answers(self, function: Task, texts: Sequence[str]) -> Iterator[tuple[int, str]]:
        if not texts:
            return
        rows = (
            self._session.createDataFrame(list(enumerate(texts)), _COLUMNS)
            .repartition(min(len(texts), MOST_PARTITIONS))
            .mapInArrow(mapped(function), _COLUMNS)
            .collect()
        )
        yield from ((int(row["place"]), str(row["text"])) for row in rows)


class mapped:  # noqa: N801 - reads as what it makes of a function, and can be sent to a worker
    """A function of a text as Spark calls it: batches of texts in, batches of answers out."""

    def __init__(self, function: Task) -> None:
        self._function = function

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([row | {"text": self._function(row["text"])}], batch.schema)


def _session(workers: int | None) -> Any:
    # Of pandas, which is used for nothing here.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise CannotDo(f"Spark is not installed ({error}).", _REMEDY) from None
    # The same Python, with this program, where nobody says which.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("trainwatch").config("spark.ui.showConsoleProgress", "false")
    if not os.environ.get("PYSPARK_SUBMIT_ARGS") and not os.environ.get("SPARK_CONF_DIR"):
        builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    if workers is not None or not _has_master():
        builder = builder.master(f"local[{workers or '*'}]")
    try:
        return builder.getOrCreate()
    except Exception as error:  # Py4J has errors of its own, and Java what it prints
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CannotDo(f"Spark does not start: {reason[0]}.", _REMEDY) from error


def _has_master() -> bool:
    given = os.environ.get("PYSPARK_SUBMIT_ARGS", ""), os.environ.get("SPARK_REMOTE", ""), os.environ.get("MASTER", "")
    return any(given) or bool(os.environ.get("SPARK_CONF_DIR"))
