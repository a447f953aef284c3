"""One HTTP POST of JSON to an address that may be a secret kept in the environment or a file, and what its answer means for
trying again."""

from __future__ import annotations

import os
from typing import Any

import requests

from monitor.alert.sinks import NotSent, Refused
from monitor.alert.sinks.names import Sink, address_trouble
from monitor.errors import BadCall
from monitor.settings import expanded

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


def address_of(sink: Sink) -> str:
    """The address itself. BadCall says where it should have been, and never what it is."""
    if not sink.held_in:
        return sink.target
    if sink.held_in == "env":
        found = os.environ.get(sink.target, "")
        where = f"The environment variable {sink.target}"
    else:
        where = f"The file {sink.target}"
        try:
            found = expanded(sink.target).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise BadCall(
                f"{where} of {sink.kind}:file cannot be read: {why}.", "Check its path and its permissions."
            ) from None
    if not found.strip():
        raise BadCall(f"{where} is empty or not set.", f"{sink.shown} needs the address in it.")
    if wrong := address_trouble(found.strip()):
        raise BadCall(f"{where} holds no address: {wrong}.", f"{sink.shown} needs one that begins with https://.")
    return found.strip()
