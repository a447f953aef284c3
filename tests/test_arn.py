"""What an ARN says of its place, and that what is no ARN says nothing."""

from __future__ import annotations

import pytest

from monitor.model.job import account_of, partition_of, region_of


@pytest.mark.parametrize("arn", ["", "gpt-7", "arn:aws:sagemaker"])
def test_what_is_no_arn_has_no_place(arn: str) -> None:
    assert [partition_of(arn), region_of(arn), account_of(arn)] == [None, None, None]


@pytest.mark.parametrize(
    ("arn", "parts"),
    [
        (
            "arn:aws-us-gov:sagemaker:us-gov-west-1:123456789012:training-job/x",
            ["aws-us-gov", "us-gov-west-1", "123456789012"],
        ),
        ("arn:aws:s3:::bucket/a:b", ["aws", None, None]),
    ],
)
def test_its_parts(arn: str, parts: list[str | None]) -> None:
    assert [partition_of(arn), region_of(arn), account_of(arn)] == parts
