"""What the text between two printed numbers says: of the number before it the unit, of the one behind it the name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from monitor.parse.fields.keys import SPEEDS, WORDS, Key, key_of, measured, unit_of, words_of
from monitor.parse.fields.vocabulary import BARE, EVALUATION, MEANS, NO_LOSS, RATE, SUB_TIMERS, word_set

_UNIT = re.compile(
    r" {0,2}(?P<many>[kK](?= ?[A-Za-z]{2,9} ?/| ?[|,;)]| *$)|[MB](?= ?[A-Za-z]{2,9} ?/))? ?"
    r"(?P<unit>[A-Za-zµμ]{1,12}(?: ?/ ?[A-Za-z]{1,10}| per [A-Za-z]{1,10}){0,2}|/s(?:ec)?|%)?(?![\w/])"
)
_SPLIT = re.compile(r"""[|,;\t(){}\[\]<>"'=:│┃║⏐]|\s[-–—→»]+\s|\s{2,}|->|\.\s""")
_IN_BRACKETS = re.compile(r"([^|,;\t(){}\[\]<>\"'=:]{1,60}?)\s?[(\[]\s?([A-Za-zµ%][^()\[\]]{0,23})[)\]]$")
# "loss=tensor(", "lr=[", "Step [", "Iter #"
_OPENING = re.compile(r"(?<=[=:\s])(?:np\.|jnp\.|torch\.)?(?:tensor|[Aa]rray|float\d\d|bfloat16)\($|[(\[{<\"'#~@]$")
# Which of these ends a text is looked at first: a text of a log that is never the same is worked out for each line.
_OPENERS = frozenset("([{<\"'#~@")
_CLOSERS = frozenset(")]")
_CLOSED = re.compile(r"\s*(?:$|[|,;:)\]}\t│┃║⏐]|\s\s|\s[-–—→»•·]\s|\.\s|\[)")
_QUOTED = re.compile(r'"\s*:\s*"?$')
_SEPARATOR = re.compile(r"[\])}]*\s*(?:[:=]|->|is|was|-)\s*")
# "0.41 (sec/it)"
_UNIT_IN_BRACKETS = re.compile(r" {0,2}\(([A-Za-z]{1,10} ?/ ?[A-Za-z]{1,10})\)")
# Of simulated time, in molecular dynamics.
_SIMULATED = re.compile(r"\s?[pf]s\b")
_MANY = {"k": 1e3, "m": 1e6, "b": 1e9}
# Nothing but this between a unit and the next number makes it the name of that: "2.1 it/s: 0.5".
_NAMES = re.compile(r"\s*[:=][\s\"'(\[]*")
# "169s elapsed"
_ELAPSED = re.compile(r" ?elapsed(?=\s*(?:$|[|,;)\]]))")
# A loss whose name stands behind it: "3.02 avg loss, ".
_TRAILING = re.compile(r" {1,2}([A-Za-z][A-Za-z_ ]{1,24}[a-z])(?=[,;|)]|$)")
_AROUND = " -–—*~.>→»·•│┃║⏐!?+&\\"
# What a logger sets in front is the name of no number.
_LEVELS = frozenset({"INFO", "DEBUG"})
_TRAIL = " \t=:\"'#"
# The word before "step" that makes it another count.
_OTHER_COUNT = word_set(
    "micro accum accumulation max min num total warmup up save log logging every per from until till to next remaining skipped"
    " env episode time diffusion denoising inner sub best each first than since before eval validation val test"
)
_AHEAD = re.compile(r"(?P<what>.{1,80}\S) (?:at|for|of|after|on|in) (?:the )?(?P<step>\S[^ ]{0,20}(?: \S{1,20})?)")
# "Loss step 250: 0.04", which is not "loss_step=0.04".
_LOSS_STEP = re.compile(r"(?i)\bloss step $")
_TAKING = {"took", "takes", "in", "done in", "finished in", "completed in", "time taken", "at time"}
_TAKEN = {"step", "iteration", "iter", "batch", "update", "done", "finished", "completed", "it", "and", ""}
_OF_DATA = frozenset({"data", "wait"})


class TextBetween(NamedTuple):
    """The text between two numbers, understood."""

    text: str
    said: str
    """The text without a name such as "val_loss" or "data loading", which tells of the number and not of the line."""
    unit: Key | None
    """Of the number before."""
    names: bool
    """The unit may be the name of the number behind: "12.5 it/s: 0.08"."""
    trailing: Key | None
    """The name of the number before, where it stands behind it."""
    closed: bool
    """Behind the unit the field ends: with a bar, a comma, a bracket, the line."""
    name: str
    """Of the number behind, as printed; empty if it has none."""
    key: Key | None
    """What the name means."""
    ahead: Key | None
    """Of "loss at step 7: 2.1" the loss, which is not the next number but the one behind it."""
    lone: Key | None
    """What the whole text means as a name, where it may be a unit or a name: "loss 2.1 tok/s 900"."""
    quoted: bool
    """The name is a key of a JSON object."""
    separates: bool
    """The text is a mere colon or the like."""
    strange: bool
    """Letters that are no known unit stick to the number before, or it is picoseconds."""

    def bare(self, unit: Key) -> Key | None:
        """What the number before is that has this unit and no name, where the field ends behind it: a time of seconds or less;
        minutes and hours are a clock, or an estimate.
        """
        return unit._replace(what="time" if unit.factor <= 1.0 else "ahead", order=BARE) if self.closed else None


@lru_cache(maxsize=8192)
def gap(text: str, head: bool = False) -> TextBetween:
    """``text`` understood; ``head`` of the line, it holds no unit. The same text always says the same."""
    unit, end, names = (None, 0, False) if head else _unit(text)
    rest = text[end:]
    bare = rest.rstrip(_TRAIL)
    while bare[-1:] in _OPENERS and (match := _OPENING.search(bare)):
        bare = bare[: match.start()].rstrip(_TRAIL)
    is_told = bare.endswith((" is", " was"))
    for word in (" is", " was", " of"):
        bare = bare.removesuffix(word)
    bracketed = _IN_BRACKETS.search(bare) if bare[-1:] in _CLOSERS else None
    name = f"{_last(bracketed[1])} ({bracketed[2]})" if bracketed else _last(bare)
    key, ahead = _named(name)
    if is_told and ahead is not None and ahead.what == "loss":
        key, ahead = ahead, None  # "loss on training batch is 2.1"
    if key is not None and key.what == "step" and "(" in bare:
        # "Loss (step 7): 2.1"
        ahead = ahead or key_of(_last(bare[: bare.rindex("(")]))
    if key is not None and key.what == "loss" and _LOSS_STEP.search(text) is not None:
        key, ahead = key_of("step"), key
    lone = key_of(text.strip()) if unit is not None and end and text[:1] == " " and not rest.strip() else None
    beside = key is not None and (key.what in _OF_DATA or (key.what == "evaluation" and _tells_of_its_number(name)))
    return TextBetween(
        text,
        text.replace(name, "") if beside and key_of(name) is not None else text,
        unit,
        names,
        None if head else _trailing(text) or _elapsed(unit, rest),
        _CLOSED.match(rest) is not None,
        name,
        key,
        ahead if ahead is not None and ahead.what in {"loss", "time"} else None,
        lone,
        '"' in text and _QUOTED.search(text) is not None,
        _SEPARATOR.fullmatch(text.strip()) is not None,
        ((unit is None or names) and text[:1].isalpha()) or _SIMULATED.match(text) is not None,
    )


def _tells_of_its_number(name: str) -> bool:
    """It is a name such as "val_loss"; "val epoch" counts, and tells what its line is about."""
    words = words_of(name)
    if "summary" in words:
        return False
    counted = key_of(" ".join(word for word in words if word not in EVALUATION))
    if counted is not None and counted.what in {"step", "epoch"}:
        return False
    return len(words) > 1 or name.lower() in {"val", "valid"}


def _unit(text: str) -> tuple[Key | None, int, bool]:
    """The unit at the head of ``text``, where it ends, and whether it may name the number behind instead."""
    match = _UNIT.match(text)
    if match is None or not match[0].strip():
        match = _UNIT_IN_BRACKETS.match(text)
        unit = unit_of(match[1]) if match else None
        return (unit, match.end(), False) if match and unit and unit.what in SPEEDS else (None, 0, False)
    unit = unit_of(match["unit"] or match["many"])
    if unit is None:
        return None, 0, False
    if match["many"] and match["unit"]:
        unit = unit._replace(factor=_MANY[match["many"].lower()])
    if _NAMES.fullmatch(text, match.end()):
        return unit, 0, True
    return unit, match.end(), False


def _trailing(text: str) -> Key | None:
    match = _TRAILING.match(text)
    key = key_of(match[1]) if match else None
    return key if key is not None and key.what == "loss" else None


def _elapsed(unit: Key | None, behind: str) -> Key | None:
    told = unit is not None and unit.what == "duration" and _ELAPSED.match(behind) is not None
    return measured(key_of("elapsed"), unit) if told else None


def _last(text: str) -> str:
    """The name that ends a text; of "Step time:  mean" both words."""
    *before, last = _SPLIT.split(text)
    last = last.strip(_AROUND)
    if last in _LEVELS:
        return ""
    if last.lower() not in MEANS:
        return last
    return " ".join([*[piece for each in before if (piece := each.strip(_AROUND))][-1:], last])


def _named(name: str) -> tuple[Key | None, Key | None]:
    """(key, key told ahead of it) of a name, or of its last words where it is the end of a sentence."""
    if not name or WORDS.isdisjoint(words_of(name)):
        return None, None
    if match := _AHEAD.fullmatch(name):
        key = _named(match["step"])[0]
        if key is not None and key.what in {"step", "epoch"}:
            return key, _named(match["what"])[0]
    if (key := key_of(name)) is not None:
        return key, None
    words = name.split()
    for start in range(max(1, len(words) - 4), len(words)):
        end = " ".join(words[start:])
        if (key := key_of(end)) is None:
            continue
        before = "".join(words_of(words[start - 1])[-1:])
        if key.what in {"step", "epoch", "rank", "loss"}:
            if before in _OTHER_COUNT or end.lower() == "it" or (key.what == "loss" and before in NO_LOSS):
                break
            return key, None
        if key.what == "evaluation":
            return key, None
        if key.what in SPEEDS and (key.what != "time" or key.order <= RATE):
            return (None if not SUB_TIMERS.isdisjoint(words_of(name)) else key), None
        if end.lower() in _TAKING:
            return (key if before in _TAKEN else None), None
    return None, None
