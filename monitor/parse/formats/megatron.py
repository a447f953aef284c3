"""Megatron-LM and its descendants (Megatron-DeepSpeed, GPT-NeoX, the BLOOM fork, Megatron-Bridge, NeMo's older loop).

`` iteration  20/ 1000 | … | elapsed time per iteration (ms): 1572.7 | … | lm loss: 1.21E+01 | …``: the time is the mean
over the log interval, its unit stands in the key (ms or s); printed by the last rank only, and global. GPT-NeoX puts
``samples/sec: 31.2 |`` in front and writes ``lm_loss:``; the first releases write ``lm loss 6.1E+00 |``. An interval whose
iterations were all skipped has no loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from monitor.parse.columns import NUMBER, Columns, counts, durations, matched, numbers
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading
from monitor.parse.said import Said

FORMAT = "megatron"
GATES = ("elapsed time per iteration",)

_RECORD = re.compile(
    r"\biteration\s{1,12}(?P<step>\d{1,12})\s{0,9}/\s{0,12}(?P<total>\d{1,12})\s{0,9}\|"
    r".{0,600}?elapsed time per iteration \((?P<unit>ms|s)\):\s{0,9}(?P<time>[\d.eE+-]{1,30})",
    re.DOTALL,
)
_NUMBER = r"[-+]?(?:\d[\d.]{0,30}(?:[eE][-+]?\d{1,3})?|nan|inf)"
_LOSS = re.compile(rf"lm[ _-]loss:?\s{{1,9}}(?P<loss>{_NUMBER})")
_OTHER_LOSS = re.compile(rf"\| (?:total |train )?loss:?\s{{1,9}}(?P<loss>{_NUMBER})")
# In this order: of all devices, of one, and what both follow from. The text tells quickly whether one is there.
_RATES = (
    ("samples", "samples/s", re.compile(rf"samples(?: per second|/sec):\s{{0,9}}(?P<rate>{_NUMBER})")),
    (
        "tokens per",
        "tokens/s/GPU",
        re.compile(
            rf"tokens per (?:gpu per second(?: \(tgs\))?|second per (?:gpu|device)):\s{{0,9}}(?P<rate>{_NUMBER})"
        ),
    ),
    ("throughput per GPU", "TFLOP/s/GPU", re.compile(rf"\(TFLOP/s/GPU\):\s{{0,9}}(?P<rate>{_NUMBER})")),
    (" TFLOPs:", "TFLOP/s/GPU", re.compile(rf" TFLOPs:\s{{0,9}}(?P<rate>{_NUMBER})")),
)
_EITHER_LOSS = re.compile(rf"(?:lm[ _-]loss|\| (?:total |train )?loss):?\s{{1,9}}(?P<loss>{_NUMBER})")
INSIGHTS = (Said(FORMAT, (_RECORD, _EITHER_LOSS), rates=tuple((unit, pattern) for _, unit, pattern in _RATES)),)
# ms-swift's.
_MEMORY = re.compile(r"\bmemory\(GiB\): (?P<gib>\d{1,6}(?:\.\d{1,9})?)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _RECORD.search(text)
    if match is None:
        return
    printed = number(match["time"])
    time_s = None if printed is None else printed * (0.001 if match["unit"] == "ms" else 1.0)
    loss = _LOSS.search(text, match.end()) or _OTHER_LOSS.search(text, match.end())
    unit, rate = _throughput(text)
    memory = _MEMORY.search(text, match.end()) if "memory(GiB)" in text else None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        total=count(match["total"]),
        time_s=duration_s(time_s),
        meaning="interval",
        throughput=rate,
        throughput_unit=unit,
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=number(memory["gib"]) if memory else None,
    )


def _throughput(text: str) -> tuple[str, float | None]:
    for words, unit, pattern in _RATES:
        if words in text and (found := pattern.search(text)) is not None:
            return unit, number(found["rate"])
    return "", None


# The usual line, with a time in ms and an lm loss, alone on its line; other spellings are read one by one.
_USUAL = (
    r"(?:[^\n|]{0,300}?\s)?iteration {1,12}(\d{1,12})/ {0,12}(\d{1,12}) \|"
    r"(?:[^\n|]{0,100}\|){0,5}? elapsed time per iteration \(ms\): "
    rf"({NUMBER}) \|(?:[^\n|]{{0,100}}\|){{0,12}}? lm loss: ({NUMBER}) \|"
    r"(?![^\n]*(?:elapsed time per iteration|memory\(GiB\)))[^\n]*"
)


def read_many(texts: Sequence[str]) -> Iterator[tuple[list[int], Columns]]:
    """The same of the usual lines, as columns."""
    at, columns = matched(_USUAL, texts)
    if not at:
        return
    steps, totals, times, losses = columns
    together = "\n".join(texts)
    unit: list[str] | str = ""
    rates: list[float | None] = [None] * len(at)
    if any(words in together for words, _, _ in _RATES):
        found = [_throughput(texts[place]) for place in at]
        unit, rates = [unit for unit, _ in found], [rate for _, rate in found]
    yield (
        at,
        {
            "format": FORMAT,
            "meaning": "interval",
            "step": counts(steps),
            "total": counts(totals),
            "time_s": durations(numbers(times) * 0.001),
            "throughput": rates,
            "throughput_unit": unit,
            "loss": numbers(losses),
        },
    )
