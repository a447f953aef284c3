"""Where is the resource, according to its ARN? ``arn:partition:service:region:account:resource``; None where it is
none."""

from __future__ import annotations


def partition_of(arn: str) -> str | None:
    """``aws``, ``aws-cn``, ``aws-us-gov``."""
    return _part(arn, 1)


def region_of(arn: str) -> str | None:
    """``us-east-1``."""
    return _part(arn, 3)


def account_of(arn: str) -> str | None:
    """Its twelve digits."""
    return _part(arn, 4)


def _part(arn: str, place: int) -> str | None:
    parts = arn.split(":")
    return parts[place] or None if len(parts) > 5 else None
