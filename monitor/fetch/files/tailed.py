"""Are these lines what `aws logs tail` printed, and what did each event say?

Only an event's first line carries time and stream; a message that is JSON is printed over many lines (--format json).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from monitor.model import LogPage
from monitor.parse.envelope import without_escapes

_HEAD = re.compile(
    r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?[+-]\d\d:\d\d [^\s/]{1,200}/algo-\d{1,9}(?:-\d{1,20})?(?: |$)"
)
_HEAD_CHARS = 400
_MOST_LINES = 1000


def looks_like(sample: Sequence[str]) -> bool:
    """Whether the first lines that are not blank are such events, and some of several lines."""
    heads = [_HEAD.match(without_escapes(line[:_HEAD_CHARS])) is not None for line in sample]
    return heads[0] and not all(heads)


def restored(pages: Iterator[LogPage]) -> Iterator[LogPage]:
    """Each line with its event's time and stream; JSON in one line, the one where it ended."""
    head = ""
    block: list[str] = []
    after_head = False
    for page in pages:
        lines: list[str] = []
        for line in page.lines:
            found = _HEAD.match(without_escapes(line[:_HEAD_CHARS]))
            if found:
                head, block = found[0].rstrip() + " ", []
                after_head = without_escapes(line).strip() == head.strip()
                lines.append(line)
                continue
            is_json = bool(block) or (after_head and line in {"{", "["})
            after_head = False
            if not is_json:
                lines.append(head + line if line else "")
                continue
            block.append(line)
            if line in {"}", "]"} or len(block) == _MOST_LINES:
                lines.append(head + _in_one(block))
                block = []
            else:
                lines.append("")
        yield LogPage.of(page.stream, page.node, page.first_line, lines, page.times_ms)


def _in_one(block: Sequence[str]) -> str:
    text = "\n".join(block)
    try:
        return json.dumps(json.loads(text))
    except (ValueError, RecursionError):
        return " ".join(line.strip() for line in block)
