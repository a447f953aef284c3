"""Reads the same pages by the shapes of their lines and line by line, and holds all that is found of one against the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from monitor.model import LogPage
from monitor.parse.pages.line_shapes import LineShapes
from monitor.parse.recognise import RawRows, Recogniser
from monitor.parse.table import Rows


def paged(lines: Sequence[bytes], cuts: Sequence[int], timed: bool) -> list[LogPage]:
    """The lines as pages, cut before each of the indexes ``cuts``."""
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(lines)}), len(lines)]
    return [
        LogPage(
            "s",
            "algo-1",
            a + 1,
            b"\n".join(lines[a:b]),
            tuple(1_700_000_000_000 + 37 * at for at in range(a, b)) if timed else None,
        )
        for a, b in pairwise(edges)
        if b > a
    ]


def difference(pages: Sequence[LogPage], extra: tuple[Recogniser, ...] = ()) -> tuple[list[str], RawRows]:
    """Whatever is not the same both ways, and what was read by shapes."""
    by_shape, one_by_one = RawRows(extra, strangers=None), RawRows(extra, strangers=None, known=LineShapes(0))
    for page in pages:
        by_shape.add(page)
        one_by_one.add(page)
    found = _of_rows(by_shape.steps, one_by_one.steps) + _of_rows(by_shape.steps.beside, one_by_one.steps.beside)
    events = [sorted(raw.events, key=lambda row: (row.line, row.part, row.kind)) for raw in (by_shape, one_by_one)]
    found += [f"{ours} is not {theirs}" for ours, theirs in zip(*events, strict=False) if ours != theirs]
    if len(events[0]) != len(events[1]):
        found.append(f"{len(events[0])} events, not {len(events[1])}")
    for name, one, other in (
        ("examples", by_shape.examples.texts(), one_by_one.examples.texts()),
        ("formats", by_shape.steps.formats, one_by_one.steps.formats),
        ("failures", *([(each.reader, each.lines) for each in raw.failures] for raw in (by_shape, one_by_one))),
    ):
        if one != other:
            found.append(f"{name}: {one} is not {other}")
    return found, by_shape


def _of_rows(ours: Rows, theirs: Rows) -> list[str]:
    one, other = ours.table(), theirs.table()
    if len(one) != len(other):
        lines = set(one.line.tolist()) ^ set(other.line.tolist())
        return [f"{len(one)} rows, not {len(other)}; lines {sorted(lines)[:9]}"]
    found = []
    for name in ("line", "part", "time_ms", "stamp_ms", "rank", "local_rank", "task", "nested", *_NUMBERS):
        for line, a, b in zip(
            one.line.tolist(), getattr(one, name).tolist(), getattr(other, name).tolist(), strict=True
        ):
            if not _alike(a, b):
                found.append(f"line {line}: {name} is {a}, not {b}")
    for name in ("stream", "node", "host", "format", "meaning", "throughput_unit", "bar"):
        texts = one.texts[getattr(one, name)], other.texts[getattr(other, name)]
        found += [
            f"line {line}: {name} is {a!r}, not {b!r}" for line, a, b in zip(one.line, *texts, strict=True) if a != b
        ]
    return found


_NUMBERS = (
    *("step", "total", "time_s", "clock_s", "clock_tick_s", "throughput", "loss", "gpu_memory_gib", "learning_rate"),
    *("epoch", "epoch_share", "counter"),
)


def _alike(value: Any, other: Any) -> bool:
    if isinstance(value, float) and isinstance(other, float):
        return value == other or (value != value and other != other) or math.isclose(value, other, rel_tol=1e-12)
    return bool(value == other)
