"""Are the lines those of srun --label, and whose is each?

srun puts the task's number before each line ("0: text", " 3: text" where there are ten tasks or more), and cuts a line
that is longer than its buffer, each piece with the label. A bare number may as well be an epoch or a step, so only a
whole page can tell. Its lines then get a label that cannot be mistaken ("[task3]: text"); what was cut is put together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from monitor.model import LogPage

_LABEL = re.compile(r"(?:P\d{1,6} )? {0,6}(?P<task>\d{1,6}):(?: (?P<text>.*+)|$)", re.S)
# The buffer of a task's output, in bytes; a character cut in two is read as one sign of three bytes on each side.
_BUFFER = 1024
_BUFFER_MOST = _BUFFER + 8
_NUMBERS = re.compile(r"\d++(?:[.,]\d++)*+")
_REDRAWS = "\r\b"
# What shows that a line is one by itself, and the number before it no counter of it.
_COUNTER = re.compile(r"step|iter|epoch|batch|it/s|s/it", re.IGNORECASE)
_LOOKED_AT = 2000


def are_labelled(lines: Sequence[str]) -> bool:
    """Whether these lines, the first of a log, are tasks of srun speaking in turns; a script may have spoken before."""
    spoken = [line for line in lines if line.strip()]
    labels = [_LABEL.match(line) for line in spoken]
    begin = next((at for at, label in enumerate(labels) if label), None)
    if begin is None:
        return False
    labels = labels[begin : begin + _LOOKED_AT]
    known = [label for label in labels if label]
    if len(known) < 4 or len(known) < 0.9 * len(labels):
        return False
    tasks = [int(label["task"]) for label in known]
    texts = [(label["text"] or "")[:200] for label in known]
    shapes = {_NUMBERS.sub("0", text) for text in texts}
    if len(shapes) < 3 and not any(_COUNTER.search(text) for text in texts):
        return False
    changes = [later - earlier for earlier, later in pairwise(tasks) if later != earlier]
    if not changes:
        # One task alone: every line of the log is its, and they are of many kinds.
        return begin == 0 and len(known) == len(labels) and len(known) >= 8 and len(shapes) >= 3
    falls = [change for change in changes if change < 0]
    # Epochs and steps rise by one, and begin again at most now and then.
    counted = all(change == 1 for change in changes if change > 0) and len(changes) < 0.5 * len(tasks)
    return len(falls) >= 2 and not counted


def relabelled(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """The pages with labels that name the task. A redraw that was cut moves to the line in which it ends."""
    begun: dict[str, str] = {}
    for page in pages:
        lines = [_relabelled(line, begun) for line in page.lines]
        yield LogPage.of(page.stream, page.node, page.first_line, lines, page.times_ms)


def _relabelled(line: str, begun: dict[str, str]) -> str:
    label = _LABEL.match(line)
    if label is None:
        return line
    task, text = label["task"], label["text"] or ""
    is_cut = _BUFFER <= len(text.encode("utf-8", "replace")) <= _BUFFER_MOST
    before = begun.pop(task, "")
    if before.endswith("\ufffd") and text.startswith("\ufffd"):
        before, text = before.rstrip("\ufffd"), text.lstrip("\ufffd")
    text = before + text
    if is_cut:
        end = max(text.rfind(mark) for mark in _REDRAWS) + 1
        # Without redraws a line may go on for long: what is longer than any report is let go.
        begun[task] = text[end:] if len(text) - end < 64 * _BUFFER else ""
        text = text[:end]
    return f"[task{int(task)}]: {text}" if text else ""
