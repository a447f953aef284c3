"""Which call is a request, and how does its answer or refusal look in the client's protocol?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from benchmarks.account import cbor
from benchmarks.account.answer import Answer, Call, Protocol, Refusal

_TARGETS = {"Logs_20140328": "logs", "SageMaker": "sagemaker", "GraniteServiceVersion20100801": "cloudwatch"}
_SIGNED = re.compile(r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/")
_RPC_PATH = re.compile(r"/service/(?P<service>\w+)/operation/(?P<operation>\w+)")
_VERSIONS = {"2011-06-15": "sts", "2016-11-15": "ec2", "2010-08-01": "cloudwatch"}
_SPACES = {
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
    "ec2": "http://ec2.amazonaws.com/doc/2016-11-15/",
    "cloudwatch": "http://monitoring.amazonaws.com/doc/2010-08-01/",
}
_TYPES = {"json": "application/x-amz-json-1.1", "cbor": "application/cbor", "query": "text/xml", "ec2": "text/xml"}
_REQUEST_ID = "00000000-0000-0000-0000-000000000000"
# The same refusal under the name that each family of services gives it.
_NAMES = {
    "ThrottlingException": {"query": "Throttling", "ec2": "RequestLimitExceeded"},
    "AccessDeniedException": {"query": "AccessDenied", "ec2": "UnauthorizedOperation"},
    "ExpiredTokenException": {"query": "ExpiredToken", "ec2": "RequestExpired"},
}


def call(path: str, headers: Mapping[str, str], body: bytes) -> Call:
    """The call of a request; header names are in small letters. ValueError for what is no request to AWS."""
    signed = _SIGNED.search(headers.get("authorization", ""))
    made = _call(path, headers, body)
    return made if signed is None else replace(made, key=signed["key"], region=signed["region"])


def _call(path: str, headers: Mapping[str, str], body: bytes) -> Call:
    target = headers.get("x-amz-target")
    if target:
        prefix, _, operation = target.partition(".")
        if prefix not in _TARGETS:
            raise ValueError(f"no service has the target {prefix}")
        return Call(_TARGETS[prefix], operation, "json", json.loads(body or b"{}"))
    if found := _RPC_PATH.search(path):
        service = _TARGETS.get(found["service"], "")
        return Call(service, found["operation"], "cbor", cbor.read(body) if body else {})
    fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
    service = _VERSIONS.get(fields.pop("Version", ""), "")
    operation = fields.pop("Action", "")
    if not service or not operation:
        raise ValueError("no service has this request")
    return Call(service, operation, "ec2" if service == "ec2" else "query", _nested(fields))


def answered(made: Call, value: dict[str, Any] | str | list[bytes | memoryview]) -> Answer:
    """The answer: a dict becomes JSON or CBOR, text the members of an XML result, a ready body stays."""
    kind = _TYPES[made.protocol]
    if isinstance(value, list):
        return Answer(value, kind, headers=_headers(made.protocol))
    if isinstance(value, dict):
        body = cbor.written(value) if made.protocol == "cbor" else json.dumps(value).encode()
        return Answer([body], kind, headers=_headers(made.protocol))
    space = _SPACES[made.service]
    name = f"{made.operation}Response"
    if made.protocol == "ec2":
        text = f'<{name} xmlns="{space}"><requestId>{_REQUEST_ID}</requestId>{value}</{name}>'
    else:
        result = f"{made.operation}Result"
        more = f"<ResponseMetadata><RequestId>{_REQUEST_ID}</RequestId></ResponseMetadata>"
        text = f'<{name} xmlns="{space}"><{result}>{value}</{result}>{more}</{name}>'
    return Answer([text.encode()], kind)


def refused(made: Call, refusal: Refusal) -> Answer:
    """The refusal in the shape of the protocol, under the name the service gives it."""
    protocol, status = made.protocol, refusal.status
    # CloudWatch keeps its names from the time when it spoke XML, in a header.
    family = "query" if made.service == "cloudwatch" else protocol
    code = _NAMES.get(refusal.code, {}).get(family, refusal.code)
    if protocol in ("json", "cbor"):
        told = {"__type": refusal.code if family == "query" else code, "message": refusal.message}
        query = (("x-amzn-query-error", f"{code};Sender"),) if family == "query" else ()
        body = cbor.written(told) if protocol == "cbor" else json.dumps(told, separators=(",", ":")).encode()
        return Answer([body], _TYPES[protocol], status, (*_headers(protocol), *query))
    message = f"<Code>{escape(code)}</Code><Message>{escape(refusal.message)}</Message>"
    if protocol == "ec2":
        text = f"<Response><Errors><Error>{message}</Error></Errors><RequestID>{_REQUEST_ID}</RequestID></Response>"
    else:
        space = _SPACES[made.service]
        text = (
            f'<ErrorResponse xmlns="{space}"><Error><Type>Sender</Type>{message}</Error>'
            f"<RequestId>{_REQUEST_ID}</RequestId></ErrorResponse>"
        )
    return Answer([text.encode()], _TYPES[protocol], status)


def _headers(protocol: Protocol) -> tuple[tuple[str, str], ...]:
    return (("smithy-protocol", "rpc-v2-cbor"),) if protocol == "cbor" else ()


def _nested(fields: Mapping[str, str]) -> dict[str, Any]:
    """{"A.member.1.B": "x"} as {"A": [{"B": "x"}]}; EC2 numbers without "member"."""
    root: dict[str, Any] = {}
    for name, value in fields.items():
        parts = [part for part in name.split(".") if part != "member"]
        at = root
        for part in parts[:-1]:
            at = at.setdefault(part, {})
        at[parts[-1]] = value
    found: dict[str, Any] = _listed(root)
    return found


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(part) for key, part in value.items()}
