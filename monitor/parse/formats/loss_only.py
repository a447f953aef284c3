"""Loss and nothing else, as the BERT sample of the SageMaker model parallel library prints it.

``Loss: 7.482915401458740`` alone on its line, from one rank, once a step: no step number, no time. Only a number with the
full digits of a tensor's item is taken, as a rounded one alone on a line is as often a result of an epoch or a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import number
from monitor.parse.rows import Reading

FORMAT = "loss-only"
GATES = ("Loss: ",)
GENERIC = True

_LINE = re.compile(r"\s*Loss: (?P<loss>\d{1,12}\.\d{8,20}(?:e[-+]?\d{1,3})?|nan|inf)\s*")


def read(text: str) -> Iterator[Reading]:
    """The loss in ``text``, if it is all there is."""
    match = _LINE.fullmatch(text)
    if match is not None:
        yield Reading(format=FORMAT, loss=number(match["loss"]))
