"""An address restores what was asked, whatever it was; what is no number stays a word."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.predict.parameters import CANONICAL
from monitor.predict.presets import PRESETS
from monitor.show.plan.inputs import EXAMPLE, JOB, NOTHING, PlanRequest, link, of_parameters, started, value_of

_NAMES = st.sampled_from(sorted(CANONICAL))
_VALUES = st.one_of(
    st.booleans(), st.integers(-9, 10**9), st.floats(-1e6, 1e6), st.sampled_from(["full_shard", "ml.x"])
)
_GIVEN = st.dictionaries(_NAMES, _VALUES, max_size=5)


@given(
    st.sampled_from([JOB, NOTHING, *(each.name for each in PRESETS)]),
    st.sampled_from([None, "smp1", "fsdp"]),
    st.one_of(st.none(), _NAMES),
    _GIVEN,
    _GIVEN,
)
def test_what_is_asked_comes_back_from_its_address(
    source: str, framework: Any, knob: str | None, stated: dict[str, Any], changes: dict[str, Any]
) -> None:
    asked = PlanRequest(source, "a-job" if source == JOB else None, framework, knob, stated, changes)
    found = of_parameters(asked.parameters())
    assert found == asked
    assert list(found.changes) == list(asked.changes)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), (" 4 ", 4), ("0.5", 0.5), ("true", True), ("off", False), ("full_shard", "full_shard"), ("nan", "nan"),
     ("inf", "inf"), ("99999999999999999999", "99999999999999999999"), ("-3", -3), ("", "")],
)  # fmt: skip
def test_values_of_an_address_are_numbers_switches_or_words(text: str, value: Any) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_an_address_of_something_else_is_left_alone() -> None:
    assert of_parameters({}) == PlanRequest(EXAMPLE)
    assert of_parameters({"job": "a-job"}) == PlanRequest(JOB, "a-job")
    assert of_parameters({"from": "gpt2-10b", "of": "a-job"}) == PlanRequest("gpt2-10b")
    assert of_parameters({"from": "elsewhere", "framework": "torch", "knob": "<b>"}) == PlanRequest(EXAMPLE)
    asked = of_parameters(
        {"set.layers": "4", "change.": "1", "change.A B": "1", "other.layers": "3", "set.x": "9" * 99}
    )
    assert (asked.stated, asked.changes) == ({"layers": 4}, {})


def test_other_names_of_a_parameter_are_the_parameter() -> None:
    asked = of_parameters({"from": NOTHING, "set.partitions": "4", "set.num_layers": "48", "change.my_own": "1"})
    assert asked.stated == {"pipeline_parallel_degree": 4, "layers": 48}
    assert asked.changes == {"my_own": 1}, "what no plan knows is handed on, and said to be unknown"


def test_what_was_moved_last_comes_first_and_nothing_takes_back() -> None:
    asked = PlanRequest(changes={"microbatches": 8}).moved("change", "active_microbatches", 4)
    assert list(asked.changes) == ["active_microbatches", "microbatches"]
    assert asked.moved("change", "microbatches", None).changes == {"active_microbatches": 4}
    assert asked.moved("set", "layers", 4).stated == {"layers": 4}
    assert started("gpt2-60b").changes == {"active_microbatches": 4}
    assert started(JOB, "a-job") == PlanRequest(JOB, "a-job")
    assert link("a-job", layers=4) == {"from": "job", "of": "a-job", "change.layers": "4"}
