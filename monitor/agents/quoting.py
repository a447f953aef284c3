"""Which words are ours, and which does a stranger say? Text from logs and from AWS stands between ⟦ and ⟧, and nothing else.

A log line is written by whoever runs in the job, and an agent reads it. Both signs are taken out of whatever is quoted, so
that no line can end its quotation. Sentences of ours repeat what a log says: those words are found in them and marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from monitor.inert import inert
from monitor.model import Report

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

    def __init__(self, said: Iterable[str]) -> None:
        self._said = "\n".join(dict.fromkeys(_plain(text) for text in said if text))

    def marked(self, sentence: str) -> str:
        """Our sentence on one line, with what it repeats of theirs between the signs."""
        words = _plain(sentence)
        out, done = [], 0
        for start, end in self._runs(words):
            out += [words[done:start], OPEN, words[start:end], CLOSE]
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
            start, stop = at + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
            if " " in words[start:stop] or _ADDRESS in piece:
                yield start, stop
            at = end


def quotes_of(*reports: Report) -> Quotes:
    """Those of reports: log lines, what AWS says of the job, and values that its owner chose."""
    return Quotes(text for report in reports for text in _strange(report))


def _strange(report: Report) -> Iterator[str]:
    job = report.job
    yield from (job.failure_reason or "", *(each.message for each in job.transitions))
    yield from (str(text) for text in report.run.events["text"].dropna().unique())
    yield from report.run.logs.sample
    for finding in report.findings:
        for evidence in finding.evidence:
            yield evidence.line or ""
    for parameter in job.configuration.values():
        yield str(parameter.value)


def _plain(text: str) -> str:
    return inert(" ".join(text.split())).translate(_FOREIGN)
