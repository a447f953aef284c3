"""What does a line tell that was learned as a step report? By the shape that its review learned, whatever else is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from monitor.parse.fields.ordinals import named_first
from monitor.parse.linear import compiled
from monitor.parse.lines.envelope import fragments
from monitor.parse.lines.written_out import line_written_out
from monitor.parse.strangers.lines import without_runs

_PLACE = re.compile(r"<(step|loss|time|throughput)>|N")
_TOKEN = (
    r"(?:N|\d{4}\D\d\d\D\d\d[ T_]\d\d:\d\d:\d\d[\d.,Z:+-]*|\d+ days?, \S+"
    r"|[-+]?[\d.][\w.,:+/-]*|[-+]?(?:nan|NaN|inf|[0-9a-f-]+))"
)
_COUNT = r"\d[\d,]*(?:\.0*)?"
_FIGURE = r"[-+]?[\w.,+-]+"


def teller(shapes: Sequence[str]) -> Callable[[str], str]:
    """A function from a line to ``step 412 · loss 2.1``, or to nothing where the line has none of the shapes."""
    patterns = [compiled(_pattern(shape)) for shape in shapes]

    def told(line: str) -> str:
        for piece in fragments(line_written_out(line)):
            text = " ".join(without_runs(named_first(piece.text.strip())).split())
            for pattern in patterns:
                if match := pattern.match(text):
                    return _said(match.groupdict())
        return ""

    return told


def _pattern(shape: str) -> str:
    """A shape as a pattern; one that was cut is the beginning of its lines."""
    whole = not shape.endswith("…")
    shape, pattern, end = shape.removesuffix("…"), "^", 0
    for place in _PLACE.finditer(shape):
        pattern += re.escape(shape[end : place.start()])
        if place[1] in {"step", "loss"}:
            pattern += rf"(?P<{place[1]}>{_COUNT if place[1] == 'step' else _FIGURE})"
        else:
            pattern += _TOKEN
        end = place.end()
    return pattern + re.escape(shape[end:]) + ("$" if whole else "")


def _said(found: dict[str, str | None]) -> str:
    step, loss = found.get("step"), found.get("loss")
    parts = [f"step {int(float(step.replace(',', ''))):,}" if step else "", _loss(loss) if loss else ""]
    return " · ".join(part for part in parts if part)


def _loss(text: str) -> str:
    try:
        return f"loss {float(text.replace(',', '')):.4g}"
    except ValueError:
        return ""
