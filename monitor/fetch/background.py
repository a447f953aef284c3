"""Calls side by side, in threads that never keep the process: Ctrl-C ends it at once, whatever answer is still out."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
# glibc gives each thread a heap of its own, up to eight a core, and keeps what was freed there: pages of a megabyte then
# take a quarter of the memory of a whole review. Its number of that setting, and how many heaps are enough.
_M_ARENA_MAX, _ARENAS = -8, 2


def begin(function: Callable[..., R], *arguments: Any) -> Future[R]:
    """Starts ``function`` in a thread of its own. The threads of concurrent.futures are waited for at the exit."""
    _few_heaps()
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


@cache
def _few_heaps() -> None:
    """Another C library has no such setting, or another one of that name: nothing is lost there."""
    try:
        if sys.platform == "linux":
            ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, _ARENAS)
    except (OSError, AttributeError):
        pass


def _run(future: Future[R], function: Callable[..., R], arguments: tuple[Any, ...]) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)
