"""Which level does a line claim to have? The one its logger wrote, or none: most training output has none."""

from __future__ import annotations

import re
from typing import Literal

Level = Literal["error", "warning", "info", "debug", ""]

#: From loud to quiet.
LEVELS: tuple[Level, ...] = ("error", "warning", "info", "debug")
# A level stands at the head of its line; further in, words are what the line talks about.
_HEAD = 120
_WORDS: dict[str, Level] = {
    **dict.fromkeys(("CRITICAL", "FATAL", "SEVERE", "ERROR"), "error"),
    **dict.fromkeys(("WARNING", "WARN"), "warning"),
    **dict.fromkeys(("INFO", "NOTICE"), "info"),
    **dict.fromkeys(("DEBUG", "TRACE"), "debug"),
}
_LETTERS: dict[str, Level] = {"C": "error", "F": "error", "E": "error", "W": "warning", "I": "info", "D": "debug"}
_WORD = "|".join(_WORDS)
_LEVEL = re.compile(
    # A logger's own word, in capitals; the same in small letters where it stands for itself.
    rf"(?<![\w./-])(?P<word>{_WORD})(?![\w/])"
    rf"|\blevel(?:name)?['\"]?\s?[:=]\s?['\"]?(?P<named>{_WORD.lower()})\b|(?:^\s*|[\[(<|]\s?)(?P<small>{_WORD.lower()})(?=\s?[\])>|:,'\"]|\s*$)"
    # glog and c10d: "E1120 09:13:02", "[W socket.cpp:426]"; SMP's logger: "[2022-04-21 09:13:02.565: I path".
    r"|(?:^|\[)(?P<glog>[CFEWID])\d{4} \d\d:\d\d|\[(?P<c10d>[FEWI]) [\w./-]+\.(?:cpp|cc|h|hpp|py):\d|"
    r"^\[20[\d-]+ [\d:.]+: (?P<smp>[CEWID]) "
    # Python's own words.
    r"|^\s*(?P<raised>Traceback \(most recent call last\)|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)(?=:|\s*$)|"
    r"Fatal Python error)|(?P<warned>\b[A-Z]\w*Warning: )"
)


def level_of(text: str) -> Level:
    """The level of a line without its wrapping; empty where it names none."""
    found = _LEVEL.search(text, 0, _HEAD)
    if found is None:
        return ""
    kind = found.lastgroup
    said = found[kind] if kind else ""
    if kind in {"word", "named", "small"}:
        return _WORDS[said.upper()]
    if kind in {"glog", "c10d", "smp"}:
        return _LETTERS[said]
    return "error" if kind == "raised" else "warning"
