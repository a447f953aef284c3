"""Slack gets a few lines through an incoming webhook."""

from __future__ import annotations

from typing import Any

from monitor.alert.message import Message
from monitor.alert.sinks.names import Sink, address_of
from monitor.alert.sinks.webhook_sink import post

# Slack takes 3,000 characters in one block.
_LONGEST = 2800
_MARKS = {"firing": ":warning:", "resolved": ":white_check_mark:", "ended": ":checkered_flag:", "report": ":bar_chart:"}


def send(message: Message, sink: Sink) -> None:
    post(address_of(sink), body(message), message.id)


def body(message: Message) -> dict[str, Any]:
    """Slack's form; ``text`` is what notifications show. The id is small print, for whoever looks for a second copy."""
    mark = ":rotating_light:" if message.kind == "firing" and message.severity == "critical" else _MARKS[message.kind]
    lines = [f"{mark} *{_plain(message.title)}*", _plain(message.text)]
    if message.link:
        lines.append(f"<{message.link}|Open the {'fleet' if message.kind == 'report' else 'job'}>")
    return {
        "text": _plain(message.title)[:_LONGEST],
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(filter(None, lines))[:_LONGEST]}},
            {
                "type": "context",
                "elements": [{"type": "plain_text", "text": f"{message.when} · {message.id}"[:_LONGEST]}],
            },
        ],
    }


def _plain(text: str) -> str:
    """Signs that Slack would read as markup; text of a log comes from anybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
