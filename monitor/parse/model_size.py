"""Lines that tell how many parameters the whole model has, and how many tokens a step takes.

An event's text has a fixed form: ``parameters=6050882784``, ``tokens=491520``.

Counts of one rank's shard, of one partition and of what is trained alone are other things, and are not read.
"""

from __future__ import annotations

import re

from monitor.parse.reader import event

_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
# What is smaller or larger was misread.
_LEAST, _MOST = 1e5, 1e14
_COUNT = r"(?P<count>\d{1,3}(?:,\d{3}){1,5}|\d{1,16}(?:\.\d{1,6})?)"


def _whole(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    count = float(match["count"].replace(",", "")) * _SCALE[(groups.get("unit") or "").upper()]
    return f"parameters={count:.0f}" if _LEAST <= count <= _MOST else None


def _billions(match: re.Match[str]) -> str | None:
    count = float(match["count"]) * 1e9
    return f"parameters={count:.0f}" if _LEAST <= count <= _MOST else None


ROWS = (
    # The model parallel library's samples.
    event("model-size", "# total parameters: ", rf"# total parameters: {_COUNT}\s*$", _whole),
    # Megatron's estimate of memory.
    event(
        "model-size",
        "Total number of parameters in billions: ",
        rf"Total number of parameters in billions: {_COUNT}\s*$",
        _billions,
    ),
    # peft: what is trained stands in front.
    event("model-size", "all params: ", rf"\|\| all params: {_COUNT} \|\|", _whole),
    # torchtitan: "Model llama3 8B size: 8,030,261,248 total parameters".
    event("model-size", " total parameters", rf"\bsize: {_COUNT} total parameters\b", _whole),
    # nanoGPT and its descendants.
    event("model-size", "number of parameters: ", rf"^\s*+number of parameters: {_COUNT}(?P<unit>[KMB]?)\s*$", _whole),
    # Of all processes together.
    event(
        "tokens-per-step",
        "tokens per iteration will be: ",
        rf"^\s*+tokens per iteration will be: {_COUNT}\s*$",
        lambda match: f"tokens={match['count'].replace(',', '')}",
    ),
)
