"""NVIDIA NeMo-RL (GRPO, DPO, SFT, reward models, distillation): a head at the start of each step, its figures at its end.

``========================= Step 3/60 =========================``, between them whatever the actors print, then
``  • Loss: 0.0412``, ``  • Total step time: 45.10s`` and ``    - E2E (Tokens/sec/gpu): 1073.59``: the time is of that step
with all its rollouts, the throughput of one GPU. The number behind the slash is the length of an epoch where that is less
than the plan, so no total is taken. A step whose figures are not yet there is none. Figures of a validation
have names of their own (``• Validation loss``), and the parts of the step (``• generation: 20.1s (44.6%)``) no gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "nemo-rl"
GATES = ("===== Step ", "• Total step time: ", "• Loss: ", "- E2E (Tokens/sec/gpu): ")

_HEAD = re.compile(r"={5,40} Step (?P<step>\d{1,12})/\d{1,12} ={5,40}\s*$")
_FIGURE = re.compile(
    r"(?:^|[\])]|\s)\s{0,8}(?:• (?P<name>Loss|Total step time)|- E2E \(Tokens/sec/gpu\)):"
    r" (?P<value>-?[\d.]{1,30}|nan|inf)s?\s*$"
)


def read(text: str) -> Iterator[Reading]:
    """The step that ``text`` begins, or what it says of it."""
    if "=====" in text:
        match = _HEAD.search(text)
        if match is not None:
            yield Reading(format=FORMAT, step=count(match["step"]))
        return
    match = _FIGURE.search(text)
    if match is None:
        return
    value = number(match["value"])
    if match["name"] == "Loss":
        yield Reading(format=FORMAT, meaning="of-last", loss=value)
    elif match["name"]:
        yield Reading(format=FORMAT, meaning="of-last", time_s=duration_s(value))
    else:
        yield Reading(format=FORMAT, meaning="of-last", throughput=value, throughput_unit="tokens/s/GPU")
