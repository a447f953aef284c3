"""The console's addresses, held against those that its own pages show."""

from __future__ import annotations

import pytest

from monitor.aws.console import _twice, job_url, s3_url, stream_url, streams_url

ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/bert-2026-09-25-12-05-00-123"


@pytest.mark.parametrize(
    ("arn", "url"),
    [
        (ARN, "https://eu-west-1.console.aws.amazon.com/sagemaker/home?region=eu-west-1#/jobs/bert-2026-09-25-12-05-00-123"),
        ("arn:aws-cn:sagemaker:cn-north-1:1:training-job/a", "https://cn-north-1.console.amazonaws.cn/sagemaker/home?region=cn-north-1#/jobs/a"),
        ("arn:aws-us-gov:sagemaker:us-gov-west-1:1:training-job/a", "https://console.amazonaws-us-gov.com/sagemaker/home?region=us-gov-west-1#/jobs/a"),
        ("arn:aws-iso:sagemaker:us-iso-east-1:1:training-job/a", None),
        ("arn:aws:sagemaker:eu-west-1:1:transform-job/a", None),
        ("arn:aws:sagemaker:evil.example/#:1:training-job/a", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_page_of_a_job(arn: str, url: str | None) -> None:
    assert job_url(arn) == url


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("/aws/sagemaker/TrainingJobs", "$252Faws$252Fsagemaker$252FTrainingJobs"),
        ("2021/01/01/[$LATEST]0a1b", "2021$252F01$252F01$252F$255B$2524LATEST$255D0a1b"),
        ("bert/algo-1-1700000000", "bert$252Falgo-1-1700000000"),
    ],
)
def test_names_are_encoded_twice(text: str, encoded: str) -> None:
    assert _twice(text) == encoded


def test_the_pages_of_log_streams() -> None:
    home = "https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logsV2:log-groups/log-group/"
    group = "$252Faws$252Fsagemaker$252FTrainingJobs"
    assert stream_url(ARN, "bert/algo-1-17") == f"{home}{group}/log-events/bert$252Falgo-1-17"
    assert streams_url(ARN, "bert/algo-3-") == f"{home}{group}$3FlogStreamNameFilter$3Dbert$252Falgo-3-"
    assert stream_url("", "a") is None
    assert streams_url("", "a") is None


S3 = "https://eu-west-1.console.aws.amazon.com/s3"


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("s3://data", f"{S3}/buckets/data?region=eu-west-1"),
        ("s3://data/", f"{S3}/buckets/data?region=eu-west-1"),
        ("s3://data/train/part 1", f"{S3}/buckets/data?region=eu-west-1&prefix=train%2Fpart%201%2F"),
        ("s3://data/train/", f"{S3}/buckets/data?region=eu-west-1&prefix=train%2F"),
        ("s3://out/bert/output/model.tar.gz", f"{S3}/object/out?region=eu-west-1&prefix=bert%2Foutput%2Fmodel.tar.gz"),
        ("fsx://fs-1/data", None),
        ("", None),
    ],
)
def test_the_page_of_a_place_in_s3(uri: str, url: str | None) -> None:
    assert s3_url(ARN, uri) == url
    assert s3_url("", uri) is None
