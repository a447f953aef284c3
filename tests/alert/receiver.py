"""A web address on this machine that takes what is posted there, and answers as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """``got`` are the bodies and ``headers`` their headers; ``answers`` are the next statuses, 200 after them.

    An answer may be bytes, too: they are sent as they are, and the connection is closed. ``judge`` makes the status of a
    body, where there is one. ``more`` are headers of every answer.
    """

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int | bytes] = []
        self.more: dict[str, str] = {}
        self.judge: Callable[[Any], int] = lambda body: 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                receiver.headers.append(dict(self.headers))
                answer = receiver.answers.pop(0) if receiver.answers else receiver.judge(receiver.got[-1])
                if isinstance(answer, bytes):
                    self.wfile.write(answer)
                    return
                self.send_response(answer)
                for name, value in receiver.more.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook?key=SECRET"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.stop()
