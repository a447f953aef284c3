"""Which price of training does an answer of AWS's price list give?

GetProducts gives rows of many kinds for one instance type: each use of SageMaker is a product of its own, some are free,
and a product has terms of its own for reservations. Only what is certain to be meant is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from monitor.model import is_price

# "USE1-Train:ml.p4d.24xlarge", and without a prefix in the list's first region; not "SpotTrain" and the like.
_TRAIN_USAGE = re.compile(r"(?:^|-)Train:")


def training_prices(rows: Iterable[Any], instance_type: str, region: str) -> tuple[float, ...]:
    """The different on-demand prices that can be prices, in USD an hour, lowest first; empty where there is none.

    ``rows`` is the ``PriceList`` of the answer: texts of JSON. What is of another form is left out.
    """
    found: set[float] = set()
    for row in rows:
        product = _parsed(row)
        attributes = _at(product, "product", "attributes")
        if _is_training(attributes, instance_type, region):
            found.update(_hourly_usd(_at(product, "terms", "OnDemand")))
    return tuple(sorted(found))


def is_product(row: Any) -> bool:
    """Whether a row can be read at all, whatever it prices."""
    return bool(_at(_parsed(row), "product"))


def _parsed(row: Any) -> Any:
    if not isinstance(row, (str, bytes)):
        return row
    try:
        return json.loads(row)
    except (ValueError, RecursionError):
        return None


def _at(value: Any, *path: str) -> Mapping[str, Any]:
    """What stands at ``path``; empty where it is not there, or no object."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_training(attributes: Mapping[str, Any], instance_type: str, region: str) -> bool:
    # The attribute instanceType has the use at its end ("ml.m5.large-Training"), and types have hyphens themselves.
    if attributes.get("instanceName") != instance_type or attributes.get("regionCode") != region:
        return False
    use = attributes.get("platoinstancetype")
    if use is None:
        return bool(_TRAIN_USAGE.search(str(attributes.get("usagetype", ""))))
    return bool(use == "Training")


def _hourly_usd(terms: Mapping[str, Any]) -> Iterator[float]:
    for term in terms.values():
        for rate in _at(term, "priceDimensions").values():
            if str(_at({"rate": rate}, "rate").get("unit", "")).lower() in {"hrs", "hr", "hours", "hour"}:
                try:
                    usd = float(_at(rate, "pricePerUnit").get("USD", "nan"))
                except (TypeError, ValueError):
                    continue
                if is_price(usd):
                    yield usd
