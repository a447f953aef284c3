"""Rows of a price list as a test needs them: products of one instance type, each for another use."""

from __future__ import annotations

import json
from typing import Any


def row(
    usd: str | None = "12.5000000000",
    use: str | None = "Training",
    kind: str = "ml.g5.12xlarge",
    region: str = "us-east-1",
    reserved_usd: str | None = None,
    unit: str = "Hrs",
    currency: str = "USD",
    **attributes: str,
) -> str:
    """One product with its terms, as the text that GetProducts gives."""
    named = {} if use is None else {"platoinstancetype": use}
    product = {
        "productFamily": "ML Instance",
        "sku": "SKU1",
        "attributes": {
            "instanceName": kind,
            "instanceType": f"{kind}-{use}",
            "regionCode": region,
            "servicecode": "AmazonSageMaker",
            **named,
            **attributes,
        },
    }
    terms: dict[str, Any] = {}
    if usd is not None:
        terms["OnDemand"] = {"SKU1.A": _term(usd, unit, currency)}
    if reserved_usd is not None:
        terms["Reserved"] = {"SKU1.B": _term(reserved_usd, unit, currency)}
    return json.dumps({"product": product, "serviceCode": "AmazonSageMaker", "terms": terms, "version": "1"})


def _term(usd: str, unit: str, currency: str) -> dict[str, Any]:
    rate = {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": {currency: usd}}
    return {"sku": "SKU1", "priceDimensions": {"SKU1.A.R": rate}, "termAttributes": {}}
