"""A webhook gets the whole message as JSON: one HTTP POST, and what its answer means for trying again."""

from __future__ import annotations

from typing import Any

import requests

from monitor.alert.message import Message
from monitor.alert.sinks import NotSent, Refused
from monitor.alert.sinks.names import Sink, address_of

CONNECT_S, ANSWER_S = 5.0, 10.0
# The receiver may well take the same a little later.
_SOON = frozenset({408, 425, 429, 500, 502, 503, 504})
# Of the answers that blame the message, those that say "later".
_LATER = frozenset({408, 425, 429})
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
            # What stands below the first line matters to nobody, and may never end.
            stream=True,
        )
    except requests.exceptions.Timeout:
        raise NotSent("no answer in time") from None
    except requests.exceptions.SSLError:
        raise NotSent("its certificate is not trusted", try_soon=False) from None
    except requests.exceptions.ConnectionError:
        raise NotSent("it cannot be reached") from None
    except (requests.exceptions.RequestException, ValueError):
        raise NotSent("its address cannot be used", try_soon=False) from None
    except OSError:
        raise NotSent("the certificates to check it with cannot be read", try_soon=False) from None
    with answer:
        _judge(answer)


def _judge(answer: requests.Response) -> None:
    code = answer.status_code
    if 200 <= code < 300:
        return
    if 400 <= code < 500 and code not in _LATER:
        raise Refused(f"HTTP {code}")
    if 300 <= code < 400:
        if not answer.headers.get("Location"):
            raise Refused(f"HTTP {code}")
        # A login page in between leads elsewhere, too; who sent this on would tell strangers.
        raise NotSent(f"HTTP {code}: it points to another address, which is not followed", try_soon=False)
    raise NotSent(f"HTTP {code}", code in _SOON, _wait_s(answer))


def _wait_s(answer: requests.Response) -> float:
    told = answer.headers.get("Retry-After", "")
    return min(float(told), _LONGEST_WAIT_S) if told.isdecimal() else 0.0


def send(message: Message, sink: Sink) -> None:
    """POSTs it; the message's id is the Idempotency-Key, and in the JSON."""
    post(address_of(sink), message.document(), message.id)
