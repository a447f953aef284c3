"""What wraps a training script's own words: process tags, colours, carriage returns, escapes. Taken off once, here."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

# CloudWatch shows control characters of a message as "#" and three octal digits.
_OCTAL = re.compile(r"#(010|011|015|033)")
_OCTAL_TEXT = {"010": "\b", "011": "\t", "015": "\r", "033": "\x1b"}
# Open MPI's --tag-output, "[1,12]<stdout>:", and the form the SageMaker toolkit makes of it,
# "[1,mpirank:12,algo-2]<stdout>:". Anchored to these so that "[1,0]" in a script's own text stays.
_TAG = re.compile(
    r"\[\d+,(?:mpirank:(?P<rank>\d+),(?P<host>algo-\d+)\](?:<std(?:out|err|diag)>)?"
    r"|(?P<bare>\d+)\]<std(?:out|err|diag)>):?"
)
# Local mode (docker compose) puts the container's name in front: "1x4fc011ay-algo-1-nrgii | text".
_COMPOSE = re.compile(r"^(?:\x1b\[[\d;]*m)?[\w.-]{0,40}?\b(?P<host>algo-\d+)(?:-\w+)?\s*\|(?:\x1b\[0m)? ?")
# Exports, `aws logs tail` and Insights put time and stream in front: "2026-03-04T08:12:20.123Z job/algo-1-1700000000 text".
_COPY = re.compile(
    r"^(?P<time>20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d))[ \t,]+"
    r"(?:(?:\S{0,200}/)?(?P<host>algo-\d+)(?:-\d+)?[ \t,]+)?"
)
# torchrun's --tee and PyTorch's own prefix; the first counts processes of the node and names no global rank.
_LABEL = re.compile(r"^\s*\[(?P<kind>rank|default|Rank )(?P<number>\d+)\]:\s?")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# A colour whose escape character a copy lost: "[32mloss[39m", "[1m 40/500[0m". Alone "[35m" might be minutes.
_BARE_COLOUR = re.compile(r"\[(?:\d{1,3};){0,8}\d{1,3}m")
_SURELY_COLOURED = re.compile(r"\[(?:[39]\dm[A-Za-z]|38;[25];\d|(?:1|[39]\d)m[^\n]{0,200}?\[(?:0|22|39)m)")
_LOOKED_AT_FOR_COLOUR = 2_000
# Anything that asks for more than cutting one tag off: control characters, their escapes, another tag.
_WRAPPED = re.compile(r"[\r\x08\x1b]|#0[13]|\]<std|,mpirank:")
_CURSOR_UP = "\x1b[A"
_REDRAW = re.compile(r"[\r\b]+")
_TIMESTAMP = re.compile(r"(20\d\d)-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
# A timestamp further in belongs to what the line talks about, not to the line.
_TIMESTAMP_WITHIN = 48


class Fragment(NamedTuple):
    """A piece of one line that one process wrote in one go."""

    text: str
    rank: int | None
    host: str
    nested: bool
    """The cursor goes up after it: a bar drawn below another one."""
    time_ms: int | None = None
    """The time that a copy of the log put in front of the line."""


def fragments(line: str) -> list[Fragment]:
    """The pieces of ``line`` without their wrapping, in order; empty pieces are left out."""
    if ("[3" in line or "[9" in line or "[1m" in line) and "\x1b" not in line and "#033" not in line:
        line = _without_bare_colours(line)
    # Most lines have no wrapping, or one tag and nothing else.
    if line[:1] == "[" and (tagged := _TAG.match(line)) is not None:
        text = line[tagged.end() :]
        if not _WRAPPED.search(text):
            writer = int(tagged["rank"] or tagged["bare"])
            return [Fragment(text, writer, tagged["host"] or "", False)] if text.strip() else []
    elif (
        not line.startswith(("20", "[rank", "[default", "[Rank"))
        and "algo-" not in line[:80]
        and not _WRAPPED.search(line)
    ):
        return [Fragment(line, None, "", False)] if line.strip() else []
    if "#0" in line:
        line = _OCTAL.sub(lambda match: _OCTAL_TEXT[match[1]], line)
    host, time_ms = "", None
    if line.startswith("20") and (copy := _COPY.match(line)):
        time_ms, host = written_at_ms(copy["time"]), copy["host"] or ""
        line = line[copy.end() :]
    if "|" in line[:80] and (compose := _COMPOSE.match(line)):
        host = compose["host"]
        line = line[compose.end() :]
    if "[" not in line and "\r" not in line and "\b" not in line:
        return [Fragment(line, None, host, False, time_ms)] if line.strip() else []
    pieces: list[Fragment] = []
    rank: int | None = None
    start = 0
    for tag in _TAG.finditer(line):
        _redraws(line[start : tag.start()], rank, host, time_ms, pieces)
        rank, host = int(tag["rank"] or tag["bare"]), tag["host"] or host
        start = tag.end()
    _redraws(line[start:], rank, host, time_ms, pieces)
    return pieces


def _redraws(text: str, rank: int | None, host: str, time_ms: int | None, into: list[Fragment]) -> None:
    for part in _REDRAW.split(text):
        clean = without_escapes(part)
        if rank is None and (label := _LABEL.match(clean)):
            clean = clean[label.end() :]
            into.append(Fragment(clean, _rank(label), host, _CURSOR_UP in part, time_ms))
        elif clean.strip():
            into.append(Fragment(clean, rank, host, _CURSOR_UP in part, time_ms))


def _rank(label: re.Match[str]) -> int | None:
    return None if label["kind"] == "default" else int(label["number"])


def without_escapes(text: str) -> str:
    """The text without terminal escapes: colours, cursor movements, links."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def _without_bare_colours(line: str) -> str:
    surely = _SURELY_COLOURED.search(line, 0, _LOOKED_AT_FOR_COLOUR) is not None
    return _BARE_COLOUR.sub("", line) if surely else line


def written_at_ms(text: str) -> int | None:
    """Unix milliseconds of a timestamp near the head of ``text``, read as UTC (as the containers run); else None."""
    match = _TIMESTAMP.search(text, 0, _TIMESTAMP_WITHIN + 26)
    if match is None or match.start() > _TIMESTAMP_WITHIN:
        return None
    year, month, day, hour, minute, second = (int(match[i]) for i in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000 + int((match[7] or "0").ljust(3, "0")[:3])
