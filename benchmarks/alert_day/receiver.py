"""Who gets the alerts of the simulated day? A web address on this machine that records what it accepted, and is down
at times."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from benchmarks.alert_day.clock import SimulatedClock


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that arrived."""

    at: float
    """Minute of the day."""
    path: str
    key: str
    """The Idempotency-Key that came with it."""
    message: dict[str, Any]
    is_answered: bool = True
    """False: it was taken, and the answer was an error all the same."""


class Receiver:
    """What arrived, in order, and how many were sent away."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.taken: list[Taken] = []
        self.refused = 0


@contextmanager
def receiving(clock: SimulatedClock, unanswered: float) -> Iterator[Receiver]:
    """A receiver for as long as the block lasts; of what it takes it leaves a share of ``unanswered`` unanswered."""
    random, lock = Random(clock.day.seed), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            at = clock.minute()
            with lock:
                how = random.random()
                if any(begin <= at < end for begin, end in clock.day.outages):
                    receiver.refused += 1
                    if how < 0.3:
                        return  # the connection breaks
                    # Who is down refuses for now; 4xx would be for good.
                    status = 503 if how < 0.8 else 429
                else:
                    status = 502 if how < unanswered else 200
                    key = self.headers.get("Idempotency-Key", "")
                    receiver.taken.append(Taken(at, self.path, key, message, status == 200))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
