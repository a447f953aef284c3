"""The epoch bars of Ultralytics (YOLOv5, YOLOv8 and later), drawn by tqdm or by Ultralytics' own bar.

``1/100  2.73G  1.162  2.341  1.252  16  640:  25%|##5       | 50/200 [00:12<00:37,  4.05it/s]`` and, since 2025,
``1/100  2.7G  1.162 … 640: 25% ━━━───────── 50/200 4.1it/s 12.3s<37.0s``: epoch, memory held by the allocator, the losses by
part (no sum, so none is taken), instances, image size; then a bar over the batches of the epoch with a moving average, or
at its end the mean since its start. The description changes with every redraw, so that only this family knows it to be
ONE bar; it is handed on as a tqdm bar. Traps: the bar of the validation has words (``Class  Images  Instances``) in
front; versions differ in whether "G" is 10^9 or 2^30 bytes (today 2^30, as taken here).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import clock_s, count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tqdm"
GATES = ("it/s", "s/it")

_BAR = re.compile(
    r"(?:^|\s)(?P<epoch>\d{1,9})/\d{1,9}\s{1,12}(?P<memory>\d{1,5}(?:\.\d{1,9})?(?:e[-+]\d\d)?)G"
    r"(?:\s{1,40}(?:-?\d[\d.e+-]{0,15}|nan|-?inf)){1,14}\s{0,40}:\s{1,3}\d{1,3}%"
    r"(?:\|[^|]{0,200}\|\s{0,9}(?P<step>\d{1,15})/(?P<total>\d{1,15}) \[(?P<clock>[\d:]{4,12})<[\d:?]{1,12},\s{1,4}"
    r"(?P<rate>[\d.]{1,15}|\?)(?P<unit>it/s|s/it)"
    r"| [━─╸╺]{0,80} ?(?P<step2>\d{1,15})/(?P<total2>\d{1,15}) (?P<rate2>[\d.]{1,15})(?P<unit2>K?it/s)"
    r" (?P<clock2>[\d:.]{1,12}s?))"
)


def read(text: str) -> Iterator[Reading]:
    """The redraws of training bars in ``text``."""
    if "G " not in text:
        return  # every other tqdm bar
    for match in _BAR.finditer(text):
        own = match["step2"] is not None
        rate, unit = number(match["rate2" if own else "rate"]), match["unit2" if own else "unit"]
        if rate and unit.startswith("K"):
            rate *= 1000
        per_second = unit != "s/it"
        clock = match["clock2" if own else "clock"]
        memory = number(match["memory"])
        yield Reading(
            format=FORMAT,
            step=count(match["step2" if own else "step"]),
            total=count(match["total2" if own else "total"]),
            epoch=count(match["epoch"]),
            time_s=duration_s(1.0 / rate if per_second else rate) if rate else None,
            meaning="smoothed",
            clock_s=number(clock[:-1]) if clock.endswith("s") else clock_s(clock),
            clock_tick_s=1.0,
            throughput=rate if per_second else None,
            throughput_unit="it/s" if per_second and rate else "",
            gpu_memory_gib=memory or None,
            bar="ultralytics",
        )
