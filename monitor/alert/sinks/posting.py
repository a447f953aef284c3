"""One HTTP POST of JSON, and what its answer means for trying again."""

from __future__ import annotations

from typing import Any

import requests

from monitor.alert.sinks import NotSent

CONNECT_S, ANSWER_S = 5.0, 10.0
# The receiver may well take the same a little later.
_SOON = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 3600.0


def post(address: str, body: Any, id: str) -> None:
    """Sends ``body`` with the message's id as its Idempotency-Key. Proxies are those of the environment."""
    try:
        answer = requests.post(
            address,
            json=body,
            headers={"Idempotency-Key": id, "User-Agent": "trainwatch"},
            timeout=(CONNECT_S, ANSWER_S),
            # A POST that is led elsewhere arrives there as something else.
            allow_redirects=False,
        )
    except requests.exceptions.Timeout:
        raise NotSent("no answer in time") from None
    except requests.exceptions.SSLError:
        raise NotSent("its certificate is not trusted", try_soon=False) from None
    except requests.exceptions.ConnectionError:
        raise NotSent("it cannot be reached") from None
    except (requests.exceptions.RequestException, ValueError):
        raise NotSent("its address cannot be used", try_soon=False) from None
    if not 200 <= answer.status_code < 300:
        raise NotSent(f"HTTP {answer.status_code}", answer.status_code in _SOON, _wait_s(answer))


def _wait_s(answer: requests.Response) -> float:
    told = answer.headers.get("Retry-After", "")
    return min(float(told), _LONGEST_WAIT_S) if told.isdecimal() else 0.0
