"""What an answer says is text, whatever its JSON escapes."""

from __future__ import annotations

import json

import pytest

from monitor.aws.clients import Clients
from tests.aws.fake import JOB, REGION, answer_with, reply

pytestmark = pytest.mark.usefixtures("offline")


EVENT = '"timestamp": 1700000000000, "logStreamName": "a/algo-1"'


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"half \ud800 of one", "half \ufffd of one"),
        (r"\udCff\uD83d", "\ufffd\ufffd"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud800", r"\ud800"),
        (r"\\\ud800", "\\\ufffd"),
        (r"\"\ud800\"", '"\ufffd"'),
        (r"\u00e9 é \n", "é é \n"),
    ],
)
@pytest.mark.parametrize("operation", ["DescribeTrainingJob", "FilterLogEvents"])
def test_half_a_character_is_replaced(escaped: str, text: str, operation: str) -> None:
    clients = Clients(REGION)
    if operation == "DescribeTrainingJob":
        answer_with(clients, "sagemaker", [reply(f'{json.dumps(JOB)[:-1]}, "FailureReason": "{escaped}"}}'.encode())])
        said = clients.call("sagemaker", "describe_training_job", TrainingJobName="a")["FailureReason"]
    else:
        answer_with(clients, "logs", [reply(f'{{"events": [{{{EVENT}, "message": "{escaped}"}}]}}'.encode())])
        said = clients.call("logs", "filter_log_events", logGroupName="g")["events"][0]["message"]
    assert said == text
