"""What does a service say, whatever the protocol? A call that was made, an answer, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Protocol = Literal["json", "cbor", "query", "ec2"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request, decoded: its parameters are as in boto3, moments as epoch numbers or ISO text."""

    service: str
    """IAM's prefix, such as "logs"."""
    operation: str
    protocol: Protocol
    parameters: dict[str, Any]
    key: str = ""
    """The access key that signed it."""
    region: str = ""
    """That it was signed for."""


class Refusal(Exception):
    """An error that a service answers with: code, message, HTTP status."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(code, message, status)
        self.code, self.message, self.status = code, message, status


@dataclass(frozen=True, slots=True)
class Answer:
    """A body ready to be sent, in parts."""

    body: list[bytes | memoryview]
    content_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(len(part) for part in self.body))


def invalid(message: str) -> Refusal:
    """A parameter of CloudWatch Logs that it does not take."""
    return Refusal("InvalidParameterException", message)
