"""Did an answer come, the whole of it, and is it one? Hooks that have botocore try again, or give up in time.

botocore takes half a body, or none, for an answer that says nothing (it reads with ``enforce_content_length=False``),
raises whatever its parsers stumble over, and tries as often where nobody listens as where a service is busy.
"""

from __future__ import annotations

import random
from typing import Any

from botocore.exceptions import ConnectionClosedError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as ConnectionTrouble
from botocore.parsers import ResponseParserError

from monitor.aws.shapes import flaw

#: Tries of one call that AWS throttles, fails, or answers in part.
MAX_ATTEMPTS = 6
#: Tries of one call that get no answer: a mistyped region or endpoint must not keep the user waiting.
MAX_CONNECTS = 3

_WEB_PAGE = (b"<!doctype html", b"<html")
_REFUSED = 300
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 2.0
_UNANSWERED = "trainwatch-unanswered"
_FLAW = "trainwatch-flaw"
# Where members of an answer stand that need no body.
_NO_BODY = ("header", "headers", "statusCode")


class Parsers:
    """botocore's factory of parsers; what one of these cannot read becomes an answer with a flaw, which is tried again."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def set_parser_defaults(self, **defaults: Any) -> None:
        self._factory.set_parser_defaults(**defaults)

    def create_parser(self, protocol: str) -> _Parser:
        return _Parser(self._factory.create_parser(protocol))


class _Parser:
    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def parse(self, response: dict[str, Any], shape: Any) -> dict[str, Any]:
        try:
            parsed = self._parser.parse(response, shape)
        except Exception:  # each parser stumbles in a way of its own: AttributeError, TypeError, RecursionError, …
            parsed = None
        if isinstance(parsed, dict):
            return parsed
        told = {"HTTPStatusCode": response["status_code"], "HTTPHeaders": {}}
        return {"ResponseMetadata": told, _FLAW: "it cannot be read"}


def listen(events: Any, attempts: int = MAX_ATTEMPTS) -> None:
    """Registers with a client's event system; ``attempts`` are the most tries of one call."""
    events.register("before-parse", _leave_half_unread)
    events.register("needs-retry", lambda **told: _again(attempts, **told))
    events.register("needs-retry", _stop_knocking)
    events.register("after-call", _refuse)


def missing_bytes(headers: Any, body: bytes) -> int:
    """How many bytes of a body did not come, by its announced length; 0 where none was announced."""
    announced = str(headers.get("content-length", ""))
    if not announced.isdecimal() or headers.get("content-encoding", "identity") != "identity":
        return 0
    return max(0, int(announced) - len(body))


def _leave_half_unread(operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    """The parsers of XML and CBOR raise on half a body, past every retry; to all of them this is a failed service."""
    if _has_no_body(operation_model) or not missing_bytes(response_dict["headers"], response_dict["body"]):
        return
    response_dict["body"] = b""
    response_dict["status_code"] = 503


def _again(most: int, attempts: int, operation: Any, response: Any, **_: Any) -> float | None:
    """Seconds until the next try of a call of which half an answer came, or none; None: nothing to say about this one."""
    if response is None or _has_no_body(operation) or _is_web_page(response[0].content):
        return None
    http, parsed = response
    if not missing_bytes(http.headers, http.content):
        if _FLAW not in parsed and (found := _flaw(http, parsed, operation)):
            parsed[_FLAW] = found
        if _FLAW not in parsed:
            return None
    if attempts >= most:
        return None
    longest_s: float = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempts - 1))
    return random.uniform(0.5, 1.0) * longest_s


def _flaw(http: Any, parsed: dict[str, Any], operation: Any) -> str | None:
    if http.status_code >= _REFUSED:
        return None
    shape = operation.output_shape
    told_in_body = shape is not None and any(
        member.serialization.get("location") not in _NO_BODY for member in shape.members.values()
    )
    if told_in_body and not http.content.strip():
        return "it is empty"
    return flaw(parsed, operation)


def _has_no_body(operation: Any) -> bool:
    """A body that is read later, or, of HEAD, one that is announced and never sent."""
    return bool(operation.has_streaming_output or operation.http.get("method") == "HEAD")


def _is_web_page(body: bytes) -> bool:
    """Of a network that wants a login first: the same comes again at once."""
    return body[:64].lstrip().lower().startswith(_WEB_PAGE)


def _stop_knocking(request_dict: dict[str, Any], caught_exception: Exception | None, **_: Any) -> None:
    """Ends the tries of a call that nobody answers: what this raises goes to the caller instead of the next try.

    A connection that was closed is one that somebody had opened: such a call has as many tries as any other.
    """
    if isinstance(caught_exception, ConnectionClosedError):
        return
    if isinstance(caught_exception, (ConnectionTrouble, HTTPClientError)):
        context = request_dict["context"]
        context[_UNANSWERED] = context.get(_UNANSWERED, 0) + 1
        if context[_UNANSWERED] >= MAX_CONNECTS:
            raise caught_exception


def _refuse(http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
    """A login page of some network, half an answer, or something else: botocore would take each for an empty one."""
    if _has_no_body(model):
        return
    body = http_response.content
    if missing := missing_bytes(http_response.headers, body):
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=len(body) + missing)
    if _is_web_page(body):
        raise ResponseParserError("a web page")
    if found := parsed.pop(_FLAW, None):
        raise ResponseParserError(f"{model.name}: {found}")
