"""Which words are ours, and which a stranger says. Text from logs and from AWS stands between ⟦ and ⟧, and nothing else.
How long is an answer for a model, and what of it fits? Whole items are left out, and what is left out is said.

A log line is written by whoever runs in the job, and an agent reads it. Both signs are taken out of whatever is quoted, so
that no line can end its quotation. Sentences of ours repeat what a log says: those words are found in them and marked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.inert import inert
from monitor.model import Report

# What tokenizers of the large models make one piece of, about: some letters of a word, up to three digits, a sign.
_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_")
_LETTERS = 6
_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool says: ``text`` for a model, ``data`` (plain JSON) for a program. Both say the same."""

    text: str
    data: Mapping[str, Any]

    @property
    def tokens(self) -> int:
        """Of the longer of the two: a client hands one of them to its model."""
        return max(tokens(self.text), tokens(json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))))


def tokens(text: str) -> int:
    """About how many tokens a text is, for any model: a fourth of its characters, or its words and signs if they are more.

    No model's own count: they differ by a fifth, and none comes with this program.
    """
    pieces = sum(math.ceil(len(piece) / _LETTERS) for piece in _PIECE.findall(text))
    return max(math.ceil(len(text) / _PER_TOKEN), pieces)


def fitted(make: Callable[[int], ToolAnswer], items: int, cap: int) -> ToolAnswer:
    """The answer of ``make`` with as many of the items as fit into so many tokens; it says by itself what is left out."""
    shown, step = items, max(1, items // 8)
    answer = make(shown)
    while shown and answer.tokens > cap:
        shown = max(0, shown - step)
        answer = make(shown)
    while step > 1 and shown < items and (more := make(shown + 1)).tokens <= cap:
        shown, answer = shown + 1, more
    return answer


def clipped(text: str, longest: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


OPEN, CLOSE = "⟦", "⟧"
#: Of a quoted line.
LONGEST = 300
# Fewer characters in a row, which a log and our words have in common, are no quotation; nor is a single word, such as the
# name of a parameter, but an address is.
_LEAST = 16
_ADDRESS = "://"
_FOREIGN = str.maketrans({OPEN: "[", CLOSE: "]"})


def quote(text: str, longest: int = LONGEST) -> str:
    """Words of a stranger on one line, told apart from ours."""
    line = _plain(text)
    return f"{OPEN}{line if len(line) <= longest else f'{line[: longest - 1]}…'}{CLOSE}"


class Quotes:
    """What strangers say in one report, to be found again in our sentences."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._said = "\n".join(dict.fromkeys(_plain(text) for text in texts if text))

    def marked(self, sentence: str) -> str:
        """Our sentence on one line, with what it repeats of theirs between the signs."""
        words = _plain(sentence)
        out, done = [], 0
        for start, end in self._runs(words):
            # Two runs may share a word.
            begin = max(start, done)
            out += [words[done:begin], OPEN, words[begin:end], CLOSE]
            done = end
        return "".join([*out, words[done:]])

    def _runs(self, words: str) -> Iterator[tuple[int, int]]:
        """(from, to) of the pieces of whole words that strangers say, too, as long as they are."""
        at = 0
        while at + _LEAST <= len(words):
            end = at + _LEAST
            if words[at:end] not in self._said:
                at += 1
                continue
            while end < len(words) and words[at : end + 1] in self._said:
                end += 1
            piece = words[at:end]
            start, stop = at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip())
            if " " in words[start:stop] or _ADDRESS in piece:
                yield _whole_words(words, start, stop)
            at = end


def _whole_words(words: str, start: int, stop: int) -> tuple[int, int]:
    """The same stretch without half a word of ours at its ends: more is marked than they say, never less."""
    while start > 0 and words[start - 1].isalnum() and words[start].isalnum():
        start -= 1
    while stop < len(words) and words[stop].isalnum() and words[stop - 1].isalnum():
        stop += 1
    return start, stop


def quotes_of(*reports: Report) -> Quotes:
    """Those of reports: log lines, what AWS says of the job, values that its owner chose, and names of files."""
    return Quotes(text for report in reports for text in _strange(report))


def _strange(report: Report) -> Iterator[str]:
    job = report.job
    yield from (job.failure_reason or "", *(each.message for each in job.transitions))
    yield from (str(text) for text in report.run.events["text"].dropna().unique())
    yield from report.run.logs.sample
    for finding in report.findings:
        for evidence in finding.evidence:
            yield evidence.line or ""
    for name, parameter in job.configuration.items():
        yield from (name, str(parameter.value))
    yield job.name
    yield from (str(stream) for stream in report.run.events["stream"].unique())
    yield from (Path(str(stream)).name for stream in report.run.events["stream"].unique())


def _plain(text: str) -> str:
    return inert(" ".join(text.split())).translate(_FOREIGN)
