"""Calls side by side, in threads that never keep the process: Ctrl-C ends it at once, whatever answer is still out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def begin(function: Callable[..., R], *arguments: Any) -> Future[R]:
    """Starts ``function`` in a thread of its own. The threads of concurrent.futures are waited for at the exit."""
    future: Future[R] = Future()
    # What is metered where the thread is begun is metered in it.
    context = copy_context()
    threading.Thread(target=context.run, args=(_run, future, function, arguments), daemon=True).start()
    return future


def side_by_side(function: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    """What ``function`` gives for each item, in the order of the items, with at most ``most`` calls at a time."""
    running: deque[Future[R]] = deque()
    for item in items:
        if len(running) >= most:
            yield running.popleft().result()
        running.append(begin(function, item))
    while running:
        yield running.popleft().result()


def _run(future: Future[R], function: Callable[..., R], arguments: tuple[Any, ...]) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)
