"""ModelScope SWIFT: the dicts of the Hugging Face Trainer with a step of their own.

``{'loss': 1.5, …, 'epoch': 0.1, 'global_step/max_steps': '10/1000', 'memory(GiB)': 53.8, 'train_speed(s/it)': 2.5}``: beside
bars the dict gives the loss of the bar's last step, as any Trainer's; without bars it is the report. The speed (before,
``train_speed(iter/s)``) is the mean since training began. A line that holds a bar, too, is the bar's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "hf-trainer"
GATES = ("'global_step/max_steps': '",)

_STEP = re.compile(r"'global_step/max_steps': '(?P<step>\d{1,12})/(?P<total>\d{1,12})'")
_NUMBER = r"'?(?P<value>-?[\d.]{1,30}(?:e[-+]?\d{1,3})?|nan|inf)'?[,}]"
_LOSS = re.compile(rf"[{{ ]'loss': {_NUMBER}")
_EPOCH = re.compile(rf"'epoch': {_NUMBER}")
_SPEED = re.compile(rf"'train_speed\((?P<unit>s/it|iter/s)\)': {_NUMBER}")
_MEMORY = re.compile(rf"'memory\(GiB\)': {_NUMBER}")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    step, loss = _STEP.search(text), _LOSS.search(text)
    if step is None or loss is None or "%|" in text:
        return
    epoch, speed, memory = (_EPOCH.search(text), _SPEED.search(text), _MEMORY.search(text))
    time = number(speed["value"]) if speed else None
    if speed and time and speed["unit"] == "iter/s":
        time = 1.0 / time
    yield Reading(
        format=FORMAT,
        step=count(step["step"]),
        total=count(step["total"]),
        time_s=duration_s(time),
        meaning="running-mean",
        loss=number(loss["value"]),
        gpu_memory_gib=number(memory["value"]) if memory else None,
        epoch_share=number(epoch["value"]) if epoch else None,
    )
