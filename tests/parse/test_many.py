"""Families that read many lines together read each as they would alone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.parse.envelope import fragments
from monitor.parse.recognise import families
from monitor.parse.rows import Reading
from tests.parse.test_formats import LOGS

TOGETHER = [family for family in families() if hasattr(family, "read_many")]
OF_A_LOG = [
    [
        piece.text
        for line in log.read_text(encoding="utf-8").splitlines()
        for piece in fragments(line)
        if any(gate in line for family in TOGETHER for gate in family.GATES)
    ]
    for log in LOGS
]
TEXTS = [text for texts in OF_A_LOG for text in texts]
# What a column that is not given stands for; all others are None.
MISSING = {"meaning": "step", "nested": False, "clock_tick_s": 0.0, "throughput_unit": "", "bar": ""}
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _alike(value: Any, expected: Any) -> bool:
    if expected is None:
        return value is None or (isinstance(value, float) and math.isnan(value))
    if isinstance(expected, float):
        return bool(value == pytest.approx(expected, rel=1e-12, nan_ok=True))
    return bool(value == expected)


def _check(family: ModuleType, texts: Sequence[str]) -> int:
    """How many texts were read together; each is held against what the family reads in it alone."""
    taken: set[int] = set()
    for at, columns in family.read_many(texts):
        assert not taken & set(at)
        taken.update(at)
        for row, place in enumerate(at):
            (alone,) = list(family.read(texts[place]))
            for name in Reading._fields:
                column = columns.get(name)
                value = MISSING.get(name) if column is None else column if isinstance(column, str) else column[row]
                assert _alike(value, getattr(alone, name)), (name, texts[place], columns.get(name))
    return len(taken)


@pytest.mark.parametrize("family", TOGETHER, ids=lambda family: family.__name__.rpartition(".")[2])
def test_every_line_of_the_cases(family: ModuleType) -> None:
    assert sum(_check(family, texts) for texts in OF_A_LOG) > 2
    # One line of another kind among them, or one twice, changes nothing.
    assert sum(_check(family, [text, "Epoch 3 done", text]) for text in TEXTS) > 4
    _check(family, TEXTS)
    assert _check(family, []) == 0


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_numbers_stand_in_the_lines(data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(TOGETHER))
    own = [text for text in TEXTS if len(text) < 600 and any(gate in text for gate in family.GATES)]
    odd = st.sampled_from(
        ["0", "-1", "nan", "inf", "1e308", "1e-9", "999999999999999999", "", "1,000", "12.5s", "007", "?"]
    )
    numbers = st.one_of(odd, st.integers(0, 10**7).map(str), st.floats(0, 1e6).map(lambda value: f"{value:.4f}"))
    chosen = data.draw(st.lists(st.sampled_from(own), min_size=1, max_size=5))
    texts = [
        NUMBER.sub(lambda match: data.draw(numbers) if data.draw(st.booleans()) else match[0], text) for text in chosen
    ]
    _check(family, texts)
