"""An SNS topic gets lines for people, and the whole message as JSON for queues, functions and web addresses."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from monitor.alert.message import Message
from monitor.alert.sinks import NotSent, Refused
from monitor.alert.sinks.names import Sink
from monitor.aws.clients import Clients
from monitor.aws.errors import is_refused
from monitor.errors import BadCall, NoCredentials, TrainwatchError

# SNS takes 256 KiB in all; a subject is one line of ASCII.
_LONGEST, _LONGEST_SUBJECT = 60_000, 100
_LASTING = (BadCall, NoCredentials)


def send(message: Message, sink: Sink) -> None:
    """Publishes it. A FIFO topic drops a second one of the same id by itself; for others the id is an attribute."""
    try:
        _clients(sink.region).call("sns", "publish", **publication(message, sink))
    except TrainwatchError as error:
        if is_refused(error):
            raise Refused(str(error)) from None
        raise NotSent(str(error), try_soon=not isinstance(error, _LASTING)) from None


def publication(message: Message, sink: Sink) -> dict[str, Any]:
    """The parameters of Publish."""
    whole = json.dumps(message.document())[:_LONGEST]
    by_protocol = {"default": message.lines[:_LONGEST], **dict.fromkeys(("sqs", "lambda", "http", "https"), whole)}
    attributes = {
        "id": message.id,
        "kind": message.kind,
        "severity": message.severity,
        "rule": message.rule,
        "job": message.job,
    }
    parameters: dict[str, Any] = {
        "TopicArn": sink.target,
        "Subject": message.title.encode("ascii", "replace").decode()[:_LONGEST_SUBJECT],
        "Message": json.dumps(by_protocol),
        "MessageStructure": "json",
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items() if value
        },
    }
    if sink.target.endswith(".fifo"):
        parameters |= {"MessageDeduplicationId": message.id, "MessageGroupId": message.job}
    return parameters


@cache
def _clients(region: str) -> Clients:
    return Clients(region)
