"""Marian NMT.

``[2026-01-02 10:00:00] Ep. 1 : Up. 500 : Sen. 12,345 : Cost 7.12 * 414,436 after 414,436 : Time 34.9s : 679.5 words/s :
gNorm 0.3``: updates so far; the seconds are of the whole interval since the last report, validation included; words/s of
all devices. The cost is a mean per word or sentence, or the sum of a sentence, as the configuration has it.
``[valid] Ep. 1 : Up. 500 : perplexity : …`` is an evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "marian"
GATES = (" : Up. ",)

_LINE = re.compile(
    r"\bEp\. (?P<epoch>\d{1,9})(?:\.\d{1,9})? : Up\. (?P<step>\d[\d,]{0,15}) : Sen\. [\d,]{1,30}"
    r" : Cost (?P<loss>-?[\d.]{1,30}(?:e[-+]?\d{1,3})?|-?nan|-?inf)[^:]{0,80} : Time (?P<time>[\d.]{1,30})s"
    r"(?: : (?P<rate>[\d.]{1,30}) words/s)?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if "[valid]" in text:
        yield NO_STEP
        return
    match = _LINE.search(text)
    if match is None:
        return
    rate = number(match["rate"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"].replace(",", "")),
        epoch=count(match["epoch"]),
        time_s=duration_s(number(match["time"])),
        meaning="span",
        throughput=rate,
        throughput_unit="" if rate is None else "words/s",
        loss=number(match["loss"]),
    )
