"""What was recognized in each of some lines, in a few words to stand beside them: a step, a checkpoint, an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from monitor.model import LogPage
from monitor.parse.assemble import assemble
from monitor.parse.pages.gates import Recogniser
from monitor.parse.recognise import RawRows
from monitor.words import step_seconds

LONGEST = 120
_TEXT = 80
#: Kinds of events that make a line an error whatever its logger calls it.
ERRORS = frozenset({"error", "oom-kill", "collective-timeout", "nccl-error", "traceback"})
# Kind of event -> its words; "{}" stands for what the line says.
_WORDS: Mapping[str, str] = {
    "error": "error: {}",
    "oom-kill": "error: the host's memory ran out",
    "nccl-error": "error: NCCL",
    "collective-timeout": "error: a collective timed out",
    "traceback": "traceback",
    "frame": "at {}",
    "error-message": "the toolkit quotes the error",
    "toolkit-error": "the toolkit reports: {}",
    "exit-code": "exit code {}",
    "root-cause": "the launcher's first failure",
    "worker-exit": "process ended: {}",
    "launcher-abort": "the launcher aborted",
    "ignored-exception": "an ignored exception",
    "outcome": "ended: {}",
    "signal": "signal",
    "cancelled": "canceled",
    "interruption": "spot interruption",
    "restart": "restart",
    "resume": "resumed from a checkpoint",
    "checkpoint-begin": "checkpoint begins",
    "checkpoint-end": "checkpoint",
    "evaluation-begin": "evaluation begins",
    "evaluation-end": "evaluation",
    "nan": "loss is not a number",
    "curriculum": "steps do more work from here on",
    "cache-flush": "allocator cache flush",
    "network-problem": "network problem",
    "network": "startup: {}",
    "nccl-setting": "startup: {}",
    "transport": "startup: via {}",
    "world-size": "startup: {}",
    "environment": "startup: environment",
    "hyperparameters": "startup: hyperparameters",
    "configuration": "startup: {}",
    "printed-configuration": "startup: {}",
    "rank-map-node": "startup: rank placement",
    "rank-map-rank": "startup: rank placement",
    "rank-order": "startup: host order",
    "torchrun": "startup: torchrun",
    "hint": "a library's hint",
    "epochs-only": "epochs and no step: {} of them",
    "model-size": "startup: model size {}",
    "trainable-size": "startup: trainable {}",
    "part-size": "startup: part of the model {}",
    "gpu-memory": "GPU memory {}",
    "planned-steps": "planned steps: {}",
    "steps-per-epoch": "steps per epoch: {}",
    "samples-per-step": "samples per step: {}",
    "samples-per-epoch": "samples of an epoch: {}",
    "samples-per-process": "samples a step of one process: {}",
    "images-per-step": "images a step: {}",
    "tokens-per-step": "tokens per step: {}",
    "status": "SageMaker: {}",
    "run-rate": "mean of the run: {} steps a second",
    "training-seconds": "training seconds: {}",
    "billable-seconds": "billed seconds: {}",
}
_NETWORK = re.compile(r"NET/\w+|network \S+|[Pp]rovider is \S+")


def line_labels(
    pages: Sequence[LogPage], extra: tuple[Recogniser, ...] = (), further: tuple[Recogniser, ...] = ()
) -> tuple[dict[tuple[str, int], str], set[tuple[str, int]]]:
    """((stream, number of the line) -> what it tells, those that tell of an error); lines nobody knows are left out.

    Step times are those of the lines given: a clock that began before them has no time at its first line here.
    """
    raw = RawRows(extra, further, strangers=None)
    for page in pages:
        raw.add(page)
    said: dict[tuple[str, int], list[str]] = {}
    _steps(raw, said)
    errors: set[tuple[str, int]] = set()
    for event in raw.events:
        form = _WORDS.get(event.kind)
        if form is None:
            continue
        place = (event.stream, event.line)
        text = event.text
        if event.kind == "network":
            text = " ".join(match[0] for match in _NETWORK.finditer(text)) or text
        words = form.format(_cut(text, _TEXT))
        if words not in (known := said.setdefault(place, [])):
            known.append(words)
        if event.kind in ERRORS:
            errors.add(place)
    return {place: _cut(" · ".join(words), LONGEST) for place, words in said.items()}, errors


def _steps(raw: RawRows, said: dict[tuple[str, int], list[str]]) -> None:
    if not len(raw.steps):
        return
    table = raw.steps.table()
    texts, places = table.texts, {}
    # Of a bar that was drawn many times in one line the last counts.
    for at, (stream, line) in enumerate(zip(texts[table.stream], table.line.tolist(), strict=True)):
        places[str(stream), line] = at
    frame = assemble(raw.steps, raw.events).steps
    columns = (frame["stream"], frame["line"], frame["step"], frame["step_time_s"], frame["loss"])
    timed = {
        (str(stream), int(line)): (step, time_s, loss)
        for stream, line, step, time_s, loss in zip(*columns, strict=True)
    }
    for place, at in places.items():
        step, time_s, loss = timed.get(place, (table.step[at], np.nan, table.loss[at]))
        said[place] = [_step(step, time_s, loss)]


def _step(step: object, time_s: float, loss: float) -> str:
    parts = [
        "" if pd.isna(step) else f"step {int(step):,}",  # type: ignore[call-overload]
        "" if pd.isna(time_s) else step_seconds(time_s),
        "" if pd.isna(loss) else f"loss {loss:.4g}",
    ]
    return " · ".join(part for part in parts if part) or "a step's report"


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def streams(lines: Iterable[tuple[str, str, int, str]]) -> tuple[LogPage, ...]:
    """Lines (stream, node, time in ms, text) as one page a stream, numbered from 1 in their order."""
    found: dict[str, tuple[str, list[str], list[int | None]]] = {}
    for stream, node, time_ms, text in lines:
        _, texts, times = found.setdefault(stream, (node, [], []))
        texts.append(text)
        times.append(time_ms)
    return tuple(LogPage.of(stream, node, 1, texts, tuple(times)) for stream, (node, texts, times) in found.items())
