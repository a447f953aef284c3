"""An archive's bucket, where S3 is played by the test: what is tried again, what is absent, and what is refused."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.response import StreamingBody

from monitor.aws.bucket import BucketStore
from monitor.aws.clients import Clients
from monitor.aws.errors import CallContext, explained
from monitor.errors import BadCall, CannotDo, NotAllowed, Unreachable
from tests.aws.fake import REGION, Scripted, answer_with

pytestmark = pytest.mark.usefixtures("offline")


class Body:
    """The body of an answer, which breaks off some times before it comes."""

    def __init__(self, data: bytes, breaks: int = 0) -> None:
        self._data = data
        self.breaks = breaks

    def read(self) -> bytes:
        if self.breaks:
            self.breaks -= 1
            raise ReadTimeoutError(endpoint_url="https://s3.test")
        return self._data


@pytest.mark.parametrize(("breaks", "tries"), [(0, 1), (2, 3)])
def test_a_body_that_breaks_off_is_asked_for_again(breaks: int, tries: int) -> None:
    body = Body(b"steps", breaks)
    scripted = Scripted(get_object=lambda **_: {"Body": body})
    assert BucketStore("s3://fleet/a", scripted).read("runs/x") == b"steps"  # type: ignore[arg-type]
    assert scripted.asked == [("get_object", {"Bucket": "fleet", "Key": "a/runs/x"})] * tries


def test_a_body_that_never_comes_is_said() -> None:
    scripted = Scripted(get_object=lambda **_: {"Body": Body(b"", 9)})
    with pytest.raises(Unreachable, match="did not answer in time"):
        BucketStore("s3://fleet/a", scripted).read("runs/x")  # type: ignore[arg-type]


def test_half_a_body_is_none() -> None:
    halves = iter([StreamingBody(BytesIO(b"st"), 5), StreamingBody(BytesIO(b"steps"), 5)])
    scripted = Scripted(get_object=lambda **_: {"Body": next(halves)})
    assert BucketStore("s3://fleet", scripted).read("runs/x") == b"steps"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("s3://fleet", "jobs/x"),
        ("s3://fleet/", "jobs/x"),
        ("s3://fleet/team/a/", "team/a/jobs/x"),
        ("s3://arn:aws:s3:us-east-1:123456789012:accesspoint/fleet/team", "team/jobs/x"),
    ],
)
def test_an_address_is_a_bucket_and_a_prefix(address: str, key: str) -> None:
    scripted = Scripted(put_object=lambda **_: {})
    BucketStore(address, scripted).write("jobs/x", b"")  # type: ignore[arg-type]
    assert scripted.asked[0][1]["Key"] == key


@pytest.mark.parametrize("address", ["s3://", "s3://x", "s3://Fleet/a", "s3:///a", "s3://a_b/c"])
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(BadCall, match=r"not the address of a bucket. Write it as s3://bucket/prefix"):
        BucketStore(address, Scripted())  # type: ignore[arg-type]


class _Raw(BytesIO):
    def stream(self, **_: Any) -> Any:
        yield self.read()


def _answer(status: int, body: bytes = b"", length: int | None = None) -> AWSResponse:
    headers = {"content-type": "application/xml", "content-length": str(len(body) if length is None else length)}
    return AWSResponse("https://s3.test/", status, headers, _Raw(body))


def _no(code: str, status: int = 404) -> AWSResponse:
    return _answer(status, f"<Error><Code>{code}</Code><Message>No.</Message></Error>".encode())


def _bucket(*answers: AWSResponse) -> BucketStore:
    clients = Clients(REGION)
    answer_with(clients, "s3", answers)
    return BucketStore("s3://fleet/a", clients)


def test_what_is_not_there_is_none_and_no_error() -> None:
    assert _bucket(_answer(404)).read("jobs/x") is None
    assert _bucket(_no("NoSuchKey")).read("jobs/x") is None


def test_a_bucket_that_is_not_there_is_said() -> None:
    with pytest.raises(CannotDo, match="There is no bucket fleet"):
        _bucket(_no("NoSuchBucket")).read("jobs/x")


def test_a_right_that_is_missing_is_named_as_policies_name_it() -> None:
    with pytest.raises(NotAllowed, match="s3:GetObject"):
        _bucket(_no("AccessDenied", 403)).read("jobs/x")
    with pytest.raises(NotAllowed, match="s3:PutObject"):
        _bucket(_no("AccessDenied", 403)).write("jobs/x", b"")
    with pytest.raises(NotAllowed, match="s3:ListBucket"):
        _bucket(_no("AccessDenied", 403)).listed("jobs/")
    error = ClientError({"Error": {"Code": "403"}}, "HeadObject")
    assert "s3:GetObject" in str(explained(error, CallContext(REGION, service="s3")))
