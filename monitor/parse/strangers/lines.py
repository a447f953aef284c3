"""Lines that nobody knows, as shapes and numbers: which of a page are worth a look, and what each of them holds.

The shape of a line is the text between its numbers. What moves without being a number (bars, runs of dots or blanks, hashes,
times of day) does not make another shape.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, Implementation

from monitor.model import LogPage
from monitor.parse.fields.languages import foreign
from monitor.parse.fields.ordinals import named_first
from monitor.parse.fields.vocabulary import word_set
from monitor.parse.numbers import SPELLED, clock_s, spelled_s
from monitor.parse.pages.gates import Lines
from monitor.parse.strangers.words import LEARNING, LOSS, QUALITY

Shape = tuple[str, ...]
"""The texts between the numbers, one more than there are numbers."""

# Of one of these every line has a piece that may be learned: it names what training watches, or says that it trains.
_TRAINING = word_set("train epoch iteration iter optimi gradient backprop sgd adam learner tuning")
_FOREIGN = chain.from_iterable(map(foreign, ("loss", "train", "epoch", "acc", "accuracy", "error", "precision")))
_WORDS = sorted({*_TRAINING, *LOSS, *LEARNING, *QUALITY, *_FOREIGN})
_SCAN = BytesAhoCorasick([word.encode() for word in _WORDS], implementation=Implementation.DFA)
# Short words also stand inside of others, as "acc" does in "access".
_SHORT = np.array([len(word) < 5 and word.isascii() for word in _WORDS])
_IS_LETTER = np.array([chr(byte).isalpha() or byte >= 0x80 for byte in range(256)])
# Bars have readers of their own, which know which of them are of training.
_BARS = (b"%|", b"it/s]", b"s/it]", b"\xe2\x94\x81")
_IS_CAPITAL = np.array([byte < 0x80 and chr(byte).isupper() for byte in range(256)])

# A time and numbers, and no word: "[Mar 29, 16:29:39] 12 0.034".
_WORDLESS = re.compile(
    rb"(?m)^(?:[\[(]?(?:[A-Z][a-z]{2} \d{1,2},? |\d{4}[-/.]\d\d[-/.]\d\d[ T_])?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?[\])]?"
    rb"[ \t:|,-]{1,4})?[\[( \t]{0,12}\d{1,9}"
    rb"(?:[ \t,:|\])]{1,8}[-+]?\d{1,9}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?){1,6}[\]) \t]*\r?$"
)
_LONGEST = 1_500
MOST_NUMBERS = 48
_RUN = re.compile(
    r"(?<=\[)(?P<bar>[#=>*~.\-_|+])[#=>*~.\-_|+ ]{5,}(?=\])"
    r"|(?!(?<=\w)_)([#=>*~.\-_|+█-▏░▒▓╸╺])(?:\s?[#=>*~.\-_|+█-▏░▒▓╸╺]){2,}(?!(?<=_)\w)|\s{2,}|\t"
)
# Where in a program a logger was called, with its folders.
_LOCATION = re.compile(r"(?<![\w/.-])(?:[\w.-]*(?:/[\w.-]+)+\.py:\d+|[\w./-]{1,99}\.py(?:\[line:\d+\]|, line \d+))")
# In "1/100,120/151" there are four numbers.
_NUM = r"(?:(?<!/)\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:,\d{3})+(?![\d/])|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?"
# "step, loss, lr: 100, 3.26, 9.9e-05".
_LISTED = re.compile(
    r"(?P<names>[a-z][\w ]{0,40}(?:, [a-z]\w{0,40}){1,7}): "
    r"(?P<numbers>[-+]?\d[\d.eE+-]{0,24}(?:, [-+]?[\d.][\d.eE+-]{0,24}){1,7})(?![\w.])"
)
_CLOCK = r"(?:\d+ days?, )?\d+:[0-5]\d(?::[0-5]\d)?(?:[.,]\d+)?(?=[sZ]\b|(?!\w|:\w))"
# "0h:2m:20s", "2分20s" (a Chinese second is an s by then), and what every reader knows: "2m 20s", but not "6s 180ms/step".
_SPELLED = rf"(?:(?:\d+(?:h:|小?时))?\d+(?:m:|'|′|分钟?)\d+(?:\.\d+)?(?:s\b|''|\"|″|秒)|(?<![\w.])\d{{1,4}}(?:{SPELLED})(?! ?/))"
BEHIND_A_CLOCK = "\u2063"
_AS_SPELLED = re.compile(_SPELLED)
_IS_CLOCK = re.compile(f"{_CLOCK}|{_SPELLED}")
_TOKEN = re.compile(
    r"("
    r"\d{4}[-/.]\d\d[-/.]\d\d(?:[ T_:-]\d\d[:-]\d\d[:-]\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d-\d\d-\d\d(?![\w-])"
    rf"|{_CLOCK}|{_SPELLED}"
    r"|0[xX][0-9a-fA-F]+"
    r"|(?<![\w.])(?=[0-9a-f-]*\d)(?=[0-9a-f-]*[a-f])[0-9a-f]{6,}(?:-[0-9a-f]{4,}){0,4}(?![\w.])"
    r"|\d+(?:\.\d+){2,}"
    rf"|(?<![\w.])[-+]?(?:{_NUM}|\.\d+(?:[eE][-+]?\d+)?|nan\b|NaN\b|NAN\b|inf\b|Inf\b)"
    r"|\d+(?:\.\d+)?(?:[eE][-+]?\d+(?!\w))?"
    r")"
)


def candidates(page: LogPage) -> Lines:
    """Which lines hold a word of training, or no word at all."""
    wordless = np.array([match.start() for match in _WORDLESS.finditer(page.data)], np.int64)
    return np.union1d(_of_training(page), np.searchsorted(page.ends, wordless))


def _of_training(page: LogPage) -> Lines:
    data = page.data.lower()
    found = _SCAN.find_matches_as_indexes(data, overlapping=True)
    if not found:
        return np.empty(0, np.int64)
    which, starts, ends = np.fromiter(chain.from_iterable(found), np.int64, 3 * len(found)).reshape(-1, 3).T
    letters = _IS_LETTER[np.frombuffer(data + b"\n", np.uint8)]
    printed = np.frombuffer(page.data, np.uint8)
    # "BinLoss" are two words.
    begins = _IS_CAPITAL[printed[starts]] & ~_IS_CAPITAL[printed[starts - 1]]
    inside = (letters[starts - 1] & (starts > 0) & ~begins) | letters[ends]
    return np.unique(np.searchsorted(page.ends, starts[~(_SHORT[which] & inside)]))


def is_bar(line: bytes) -> bool:
    """A bar of a kind that has readers of its own."""
    return any(mark in line for mark in _BARS)


def split(text: str) -> tuple[Shape, list[float]] | None:
    """(shape, numbers) of the words of one process; None for lines without numbers, and for monsters.

    What is a time, a hash or a version is NaN among the numbers; of an elapsed time there are seconds, and a sign that no log
    prints behind it: it counts nothing.
    """
    if len(text) > _LONGEST:
        return None
    text = named_first(text)
    text = _LOCATION.sub("", text.strip()) if ".py" in text else text.strip()
    if text.count(", ") > 1 and (listed := _LISTED.search(text)) is not None:
        text = f"{text[: listed.start()]}{_paired(listed)}{text[listed.end() :]}"
    pieces = _TOKEN.split(without_runs(text))
    if not 3 <= len(pieces) <= 2 * MOST_NUMBERS + 1:
        return None
    for place in range(1, len(pieces), 2):
        if _IS_CLOCK.fullmatch(pieces[place]):
            pieces[place + 1] = BEHIND_A_CLOCK + pieces[place + 1]
    return tuple(pieces[::2]), [_value(token) for token in pieces[1::2]]


def _paired(listed: re.Match[str]) -> str:
    """Names and numbers by pairs, where there are as many of both."""
    names, numbers = listed["names"].split(", "), listed["numbers"].split(", ")
    if len(names) != len(numbers):
        return listed[0]
    return ", ".join(f"{name}: {number}" for name, number in zip(names, numbers, strict=True))


def without_runs(text: str) -> str:
    """The text with one sign in place of a bar, of dots or of blanks."""
    return _RUN.sub(_one, text)


def _one(run: re.Match[str]) -> str:
    return "#" if run["bar"] else run[2] or " "


@lru_cache(maxsize=65_536)
def _value(token: str) -> float:
    try:
        return float(token)
    except ValueError:
        pass
    if _AS_SPELLED.fullmatch(token):
        seconds = spelled_s(token)
        return float("nan") if seconds is None else seconds
    if ":" in token and "-" not in token and "/" not in token:
        whole, _, fraction = token.replace(",", ".").partition(".")
        seconds = clock_s(whole)
        return float("nan") if seconds is None else seconds + float(f"0.{fraction or 0}")
    if "," in token:
        try:
            return float(token.replace(",", ""))
        except ValueError:
            pass
    return float("nan")
