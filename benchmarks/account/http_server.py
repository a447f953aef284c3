"""HTTP/1.1 with connections that stay open: requests go to the services, answers wait out their latency."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.account import wire
from benchmarks.account.answer import Answer
from benchmarks.account.faults import Fate
from benchmarks.account.many import Many

Control = Callable[[str, dict[str, Any]], dict[str, Any]]
CONTROL_PATH = "/_account/"
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 500: "Internal Server Error"}
# A page of a megabyte goes out in one piece.
_SEND_BUFFER = 4 * 1024 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Connection(asyncio.Protocol):
    """One client's connection. Requests are taken one after another, as clients of AWS send them."""

    def __init__(self, services: Many, control: Control) -> None:
        self._services, self._control = services, control
        self._inbox = bytearray()
        self._busy = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._socket().setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._inbox += data
        self._next()

    def _next(self) -> None:
        if self._busy or (end := self._inbox.find(b"\r\n\r\n")) < 0:
            return
        first, *lines = self._inbox[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(self._inbox) < end + 4 + length:
            return
        body = bytes(self._inbox[end + 4 : end + 4 + length])
        del self._inbox[: end + 4 + length]
        self._busy = True
        self._request(first.split(" ")[1], headers, body)

    def _request(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        if path.startswith(CONTROL_PATH):
            told = self._control(path.removeprefix(CONTROL_PATH), json.loads(body or b"{}"))
            self._send(Answer([json.dumps(told).encode()], "application/json"), Fate.ANSWERED)
            return
        try:
            call = wire.call(path, headers, body)
        except ValueError as error:
            self._send(Answer([str(error).encode()], "text/plain", 404), Fate.ANSWERED)
            return
        answer, fate, delay_s = self._services.answer(call)
        asyncio.get_running_loop().call_later(delay_s, self._send, answer, fate)

    def _send(self, answer: Answer, fate: Fate) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if fate is Fate.RESET:
            self._socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._transport.abort()
            return
        more = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        head = (
            f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Error')}\r\n"
            f"content-type: {answer.content_type}\r\ncontent-length: {answer.size}\r\n{more}"
            "x-amzn-requestid: 00000000-0000-0000-0000-000000000000\r\n\r\n"
        ).encode()
        if fate is Fate.TRUNCATED:
            self._transport.write(head + b"".join(answer.body)[: answer.size // 2])
            self._transport.close()
            return
        self._transport.writelines([head, *answer.body])
        self._busy = False
        self._next()

    def _socket(self) -> socket.socket:
        assert self._transport is not None
        found: socket.socket = self._transport.get_extra_info("socket")
        return found
