"""Which price an answer of the price list gives: a sure one or none, whatever else stands in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.fetch.prices import training_prices
from tests.fetch.price_rows import row

KIND, REGION = "ml.g5.12xlarge", "us-east-1"
B200 = "ml.p6-b200.48xlarge"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], ()),
        ([row()], (12.5,)),
        ([row("12.5000000000"), row("12.50")], (12.5,)),
        ([row("12.5"), row("13.0")], (12.5, 13.0)),
        ([row("0.0000000000"), row()], (12.5,)),
        ([row("0.0000000000")], ()),
        ([row("4.0", use="SpotTraining"), row("9.0", use="Hosting"), row("8.0", use="Training_Free"), row()], (12.5,)),
        ([row(reserved_usd="6.1")], (12.5,)),
        ([row(None, reserved_usd="6.1")], ()),
        ([row("11.0", region="eu-west-1"), row("5.0", kind="ml.g5.8xlarge"), row()], (12.5,)),
        ([row("450.0", unit="Month"), row()], (12.5,)),
        ([row("90.0", currency="CNY")], ()),
        ([row(use=None, usagetype=f"USE1-Train:{KIND}")], (12.5,)),
        ([row(use=None, usagetype=f"Train:{KIND}")], (12.5,)),
        ([row(use=None, usagetype=f"USE1-SpotTrain:{KIND}")], ()),
        ([row(use=None)], ()),
        ([row("NaN"), row("-1"), row("inf"), row("dear"), row("1e308"), row("100000.01"), row("1e-400")], ()),
        ([row("1e308"), row()], (12.5,)),
    ],
)
def test_the_on_demand_price_of_training_is_read(rows: list[str], found: tuple[float, ...]) -> None:
    assert training_prices(rows, KIND, REGION) == found


def test_types_with_a_hyphen_are_told_by_their_name() -> None:
    assert training_prices([row("113.9", kind=B200)], B200, REGION) == (113.9,)


@pytest.mark.parametrize(
    "garbage",
    [
        "", "{", "null", "[]", "7", '"text"', None, 7, [], "[" * 100_000,
        json.dumps({"product": [], "terms": None}),
        json.dumps({"product": {"attributes": "ml.g5.12xlarge"}}),
    ],
)  # fmt: skip
def test_what_is_no_product_is_left_out(garbage: Any) -> None:
    assert training_prices([garbage, row()], KIND, REGION) == (12.5,)


@pytest.mark.parametrize(
    "terms", [None, [], {"a": None}, {"a": {"priceDimensions": [1]}}, {"a": {"priceDimensions": {"b": 3}}}]
)
def test_terms_of_another_form_give_no_price(terms: Any) -> None:
    product = json.loads(row())
    product["terms"] = {"OnDemand": terms}
    assert training_prices([product], KIND, REGION) == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["unit", "pricePerUnit", "USD", "priceDimensions", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_JSON)
def test_nothing_that_json_can_say_raises(terms: Any) -> None:
    product = json.loads(row())
    product["terms"]["OnDemand"] = terms
    assert all(price > 0 for price in training_prices([product, terms], KIND, REGION))
