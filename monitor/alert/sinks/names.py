"""Where alerts go: a sink as written on the command line or in a rule, checked and parsed, and its address, which may be a secret
kept in the environment or a file; nothing is sent here."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from monitor.errors import BadCall
from monitor.settings import expanded

SinkKind = Literal["stdout", "sns", "slack", "webhook", "exec"]
_KINDS = ("stdout", "sns", "slack", "webhook", "exec")
_FORMS = (
    "Sinks are stdout, sns:ARN, slack:https://…, webhook:https://…, exec:PROGRAM; slack:env:NAME and webhook:file:PATH "
    "keep a secret."
)
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:(?P<region>[a-z0-9-]+):\d{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Sink:
    """One place to tell. Its text is what the user wrote, and may hold a secret: ``shown`` never does."""

    kind: SinkKind
    target: str = ""
    """A topic, an address, a command, or the name of what holds the address."""
    held_in: Literal["", "env", "file"] = ""

    @property
    def text(self) -> str:
        parts = [self.kind, *([self.held_in] if self.held_in else []), *([self.target] if self.target else [])]
        return ":".join(parts)

    @property
    def shown(self) -> str:
        """For people and files: the host of an address, the program of a command."""
        if self.held_in or self.kind in {"stdout", "sns"}:
            return self.text
        if self.kind == "exec":
            return f"exec:{shlex.split(self.target)[0]}"
        return f"{self.kind}:{urlsplit(self.target).scheme}://{urlsplit(self.target).hostname}/…"

    @property
    def is_bare(self) -> bool:
        """Whether the text holds an address, which may be a secret."""
        return self.kind in {"slack", "webhook"} and not self.held_in

    @property
    def region(self) -> str:
        """Of a topic."""
        match = _TOPIC.fullmatch(self.target)
        return match["region"] if match else ""


def sink_of(text: str) -> Sink:
    """The sink that ``text`` names. BadCall says what is wrong, without repeating what may be a secret."""
    kind, _, target = text.strip().partition(":")
    if kind not in _KINDS:
        near = get_close_matches(kind, _KINDS, 1, 0.6)
        known = f" The nearest is {near[0]}." if near else ""
        raise BadCall(f"There is no sink {_start(kind)}.{known}", _FORMS)
    if kind == "stdout":
        if target:
            raise BadCall("stdout takes nothing after it.", 'Write "stdout".')
        return Sink("stdout")
    if not target.strip():
        raise BadCall(f"The sink {kind}: lacks its target.", _FORMS)
    if kind == "sns":
        return _topic(target)
    if kind == "exec":
        return _program(target)
    return _address("slack" if kind == "slack" else "webhook", target)


def _start(kind: str) -> str:
    """The first word, unless it looks as if somebody had left out the kind before an address or a token."""
    return f'"{kind}"' if re.fullmatch(r"[A-Za-z_-]{1,12}", kind) else "of that kind"


def _topic(target: str) -> Sink:
    if not _TOPIC.fullmatch(target):
        raise BadCall(
            f'"{target}" is not the ARN of an SNS topic.',
            "Write sns:arn:aws:sns:REGION:ACCOUNT:NAME, as the SNS console shows it.",
        )
    return Sink("sns", target)


def _program(target: str) -> Sink:
    try:
        words = shlex.split(target)
    except ValueError:
        words = []
    if "\0" in target:
        raise BadCall("The program of exec: holds a NUL, which no program's name has.", "Write exec:PROGRAM.")
    if not words or not words[0]:
        raise BadCall(
            "The program of exec: cannot be read: it is empty, or a quote is not closed.",
            "Write exec:PROGRAM, or exec:'PROGRAM ARGUMENT'.",
        )
    return Sink("exec", target)


def _address(kind: Literal["slack", "webhook"], target: str) -> Sink:
    place, _, name = target.partition(":")
    if place == "env":
        if not _VARIABLE.fullmatch(name):
            raise BadCall(
                f"{kind}:env: needs the name of an environment variable.", f"For example {kind}:env:ALERT_URL."
            )
        return Sink(kind, name, "env")
    if place == "file":
        if not name:
            raise BadCall(f"{kind}:file: needs the path of a file.", f"For example {kind}:file:/run/secrets/hook.")
        return Sink(kind, name, "file")
    if wrong := address_trouble(target):
        raise BadCall(
            f"What stands behind {kind}: is no address: {wrong}.",
            f"Write {kind}:https://…, {kind}:env:NAME or {kind}:file:PATH.",
        )
    return Sink(kind, target)


def address_trouble(text: str) -> str:
    """Why nothing could ever be sent there, without the text, which may be a secret; "" where something could."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "its host or its port cannot be read; ports go from 1 to 65535"
    if parts.scheme not in {"https", "http"}:
        return "it does not begin with https://"
    if not host:
        return "it names no host"
    if port == 0:
        return "its port is 0; ports go from 1 to 65535"
    if not text.isprintable() or " " in text or "\\" in text:
        return "it holds a sign that no address has"
    return "" if _can_be_host(host) and _can_be_asked(text) else "its host cannot be one"


def _can_be_host(host: str) -> bool:
    try:
        if ":" in host or re.fullmatch(r"[\d.]+", host):
            ip_address(host.partition("%")[0])
        else:
            host.removesuffix(".").encode("idna")
    except ValueError:
        return False
    return True


def _can_be_asked(text: str) -> bool:
    """By the client that will."""
    # Imported late: most calls name no address.
    import requests

    try:
        requests.Request("POST", text).prepare()
    except (requests.RequestException, ValueError):
        return False
    return True


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
