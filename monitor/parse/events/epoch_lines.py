"""A line of an epoch, however it is set: which one it is, and how long it took, by the names and units of its numbers; and what
stands below the head of an epoch and tells a time.

"[2026-03-04 08:01:50] Epoch #2, (23.6s)", "Results for epoch 3 | loss 0.52 | Time: 24.0 s", "Ep 2/20 loss: 2.7 time/epoch: 24s".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from monitor.parse.fields.languages import EPOCHS, foreign
from monitor.parse.fields.ordinals import named_first
from monitor.parse.fields.records import Entry
from monitor.parse.fields.vocabulary import SPAN
from monitor.parse.formats import keyvalue
from monitor.parse.lines.stamps import without_end
from monitor.parse.numbers import duration_s, is_spelled, number, spelled_s

#: Literal texts, one of which stands in every line of an epoch.
GATES = (
    *(f"poch{mark}" for mark in (" ", ":", "=", "[", "(", "-", "_", "<", ",", '"', "'", *"0123456789")),
    *(f"{end} {name}poch" for end in (*"0123456789", "st", "nd", "rd", "th") for name in "eE"),
    *("POCH ", "POCH:", "Ep ", "Ep:", "EP "),
    *foreign("epoch"),
)
#: The same of lines that tell what passed, and name none.
GATES_OF_TIMES = (
    *(f"ime{mark}" for mark in (" ", ":", "=", "/", "_s ", "_s:", "_s=", "_sec")),
    *(f"{word}{mark}" for word in ("ook", "uration", "lapsed") for mark in " :="),
    *(f"{digit}{end}" for digit in "0123456789" for end in ("s)", "s]", "s |", "s -", " sec")),
)
_LONGEST = 2_000
# What a logger and a program put in front.
_LONGEST_HEAD = 160
_NUMBER = r"(?P<epoch>\d{1,6})"
_EPOCH = re.compile(
    rf"(?i)(?<![A-Za-z_\d.])(?:(?:ep|{'|'.join(EPOCHS)})(?: (?:num(?:ber)?|no\.?|idx|index))?['\" :=#\[(|<]{{1,5}}|epoch[-_]?)"
    rf"{_NUMBER}(?: {{0,2}}(?:/|of) {{0,2}}\d{{1,6}})?(?![\d.:]*\d|\w|%|\.\w)[\])>]?"
)
# "Training 3 epoch", "3-th epoch", "3/20 epochs", and nothing but what a logger puts in front.
_NAMED_BEHIND = re.compile(
    rf"(?i)(?<![\w./-]){_NUMBER}(?:(?:-?(?:st|nd|rd|th))? epoch(?!s)| ?(?:/|of) ?\d{{1,6}} epochs?)(?![-\w])"
)
_OF_EPOCH = (
    r"train(?:ing|ed)?|start(?:ing|ed)?|begin(?:ning)?|end(?:ed)?|finish(?:ed|ing)?|complet(?:ed?|ing)|done|over"
    r"|results?|summary|stats|statistics|metrics|report|after|for|of|the|in|at|with|current|now"
    r"|loss|accuracy|acc|error|mean|average|avg"
)
# Between what a logger puts in front and the epoch.
_LEAD = re.compile(rf"(?i)(?<![a-z])(?:(?:{_OF_EPOCH})\W{{1,3}}){{0,4}}$")
_LOGGED = re.compile(r"(?:^\W*|[\]|>:)\-=*#\d]\W{0,4}|\s{2}|\b(?:DEBUG|INFO|WARNING) )$")
_OVER = re.compile(r"(?i)^\W{0,3}(?:finished|completed|done|over)\b")
_HEAD_ALONE = re.compile(rf"(?i)\W*(?:(?:{_OF_EPOCH})\W*){{0,3}}(?:\d{{1,2}}(?::\d\d){{1,2}}(?: ?[AP]M)?\W*)?$")
#: What is told of how an epoch went.
FIGURES = (
    *("loss", "acc", "err", "nll", "ppl", "perplexity", "mse", "score", "psnr", "auc", "iou", "dice", "f1", "fid"),
    *("ari", "ssim", "reward", "return", "elbo"),
)
# What is counted within an epoch.
_WITHIN = ("step", "iter", "batch", "it/s", "s/it", "sample", "image", "episode", "%|")
_PART = re.compile(
    r"%\||it/s|s/it|\b(?:global[_ ])?(?:steps?|iters?|iterations?|(?:mini-?)?batch(?:es)?|samples?|images?|episodes?)\b"
)
_REFUSED = re.compile(r"\b(?:load\w*|sav\w*|restor\w*|resum\w*|early|best|val(?:id(?:ation)?)?|test\w*|dev|eval\w*)\b")
_OF_EVALUATION = r"\b(?:val|valid|validation|eval|evaluation|test|dev)(?:\b|_)"
#: "Val time: 4.0s" and "val loss 0.6 time 4.0s" are a validation's. Behind its own figure stands what is the epoch's, "| Val PER:
#: 0.0338 | Time: 37.9s", and so it does behind figures of both.
NO_TRAINING = (
    rf"(?!.*{_OF_EVALUATION}(?:(?!\d|nan|inf).){{0,24}}\btime)"
    rf"(?!(?:(?!(?:loss|acc|accuracy|train)\W{{1,4}}\d).)*{_OF_EVALUATION}"
    r"(?:(?!\d%?(?: {0,2}[|,;\t]| - | {2})).){0,24}\btime)"
    r"(?!.*\b(?:eta|remaining|left|average|avg)\b[^\d]{0,24}\btime)"
)
_OF_TRAINING = re.compile(rf"(?i)^{NO_TRAINING}")
# A fraction counts the batches of an epoch, but for these.
_COUNTED = re.compile(r"(?<![\w.])\d++ {0,2}/ {0,2}\d++(?!(?:/\d++)? \d\d:\d\d)")
_NOT_COUNTED = re.compile(r"(?i)(?:acc\w*|correct|patience|counter|wait\w*|best|score)\W{1,3}$|% \($")
_EVALUATION_FIRST = re.compile(r"(?i)\W*(?:val(?:id(?:ation)?)?|test(?:ing)?|dev|eval(?:uat\w+)?)(?![a-z])")
_TRAINED = re.compile(r"(?i)(?<![a-z])tra?i?n(?:ing)?(?![a-z])|(?<![\w ])loss")
# What a record tells of a validation, "val_loss": 0.52, and that it tells of nothing else, "split": "val".
_FIGURES_OF_EVALUATION = re.compile(rf"(?i)['\"]{_OF_EVALUATION}\w*")
_OF_A_SET = re.compile(rf"(?i)['\"]{_OF_EVALUATION}\w{{0,12}}['\"](?! ?:)")
# "epoch time: ", "time/epoch: ", "s/epoch"
_OF_ONE = re.compile(
    r"(?i)\bepoch[ _](?=time|duration)|(?<=[a-z])(?:/| ?per |_per_| of | for )(?:the |this |one |1 )?epoch\b"
)
# What no line tells that stands below the head of an epoch.
_OTHER_WORK = ("load", "save", "saving", "restor", "resum", "early", "error", "http", "request", "inference", "predict")
# What the Trainer says of its whole run.
_OF_RUN = "_runtime"
_NAMES_ONE = re.compile(r"(?<!/)(?<!best )\bepochs? ?[:=#\[]? ?\d")
# What is told beside the figures of a training, ...
_BESIDE = re.compile(r"\blr\b|learning[ _]rate|\bgrad|\bmem\b|memory")
# ... and a line of nothing else than a time.
_WORDS_OF_TIME = r"training|train|epoch|total|time|taken|elapsed|cost|spent|used|took|duration"
_ALONE = re.compile(
    rf"(?:.{{0,80}}\binfo\b\W{{1,4}}(?:root\W{{1,4}})?)?\W*"
    rf"(?:(?:{_WORDS_OF_TIME})[\W_]{{1,4}}){{1,4}}[\d:.hms ]{{1,24}}\w{{0,7}}\W*$"
)


class EpochLine(NamedTuple):
    """What a line tells of an epoch."""

    epoch: str
    """Its number as printed."""
    took_s: str | None
    """How many seconds it took, or what a clock of the run shows, with the digits that are printed where these are seconds; None
    where neither is told.
    """


def read(text: str) -> EpochLine | None:
    """What the line tells of an epoch; None where it names none, or counts what is within one."""
    text = without_end(text[:_LONGEST] if text.isascii() else named_first(text[:_LONGEST]))
    head = text[: _LONGEST_HEAD + 40]
    if (found := _EPOCH.search(head) or _NAMED_BEHIND.search(head)) is None:
        return None
    ahead, behind = text[: found.start()], text[found.end() :]
    if (record := ahead.find("{")) >= 0:
        ahead, behind = ahead[:record], text[record:]
        if (
            _OF_RUN in behind
            or _OF_A_SET.search(behind)
            or not _tells_a_figure(_FIGURES_OF_EVALUATION.sub("", behind).lower())
        ):
            return None
    if (lead := _LEAD.search(ahead)) is None:
        return None
    logged = ahead[: lead.start()]
    if len(ahead) > _LONGEST_HEAD or not _LOGGED.search(logged) or _REFUSED.search(logged.lower()):
        return None
    if _HEAD_ALONE.match(behind):
        return EpochLine(found["epoch"], None)
    if _is_of_a_part(behind.lower()) or _counts(behind):
        return None
    took_s = _took_s(_OVER.sub("", behind))
    if took_s is None and not _tells_a_figure((lead[0] + behind).lower()) and not _is_of_all(found[0], behind):
        return None
    return EpochLine(found["epoch"], took_s)


def _counts(text: str) -> bool:
    """Whether a fraction in it counts what is within an epoch."""
    return any(not _NOT_COUNTED.search(text, 0, each.start()) for each in _COUNTED.finditer(text))


def passed_s(text: str) -> str | None:
    """The seconds, as a text, that a line tells beside figures of a training, or alone, where it names no epoch and counts
    nothing: below the head of an epoch they are that one's.
    """
    if len(text) > _LONGEST or text[:1] == "{" or _counts(text):
        return None
    lower = text.lower()
    if any(word in lower for word in _OTHER_WORK) or _is_of_a_part(lower) or _NAMES_ONE.search(lower):
        return None
    if not _tells_a_figure(lower) and not _BESIDE.search(lower) and not _ALONE.match(lower):
        return None
    return _took_s(text)


def _is_of_a_part(lower: str) -> bool:
    """Whether a line counts what is within an epoch, by its words in lower case."""
    return any(word in lower for word in _WITHIN) and _PART.search(lower) is not None


def _tells_a_figure(lower: str) -> bool:
    return any(word in lower for word in FIGURES)


def _is_of_all(epoch: str, behind: str) -> bool:
    """Whether a line that says of how many epochs it tells one, "Epoch 11/100 | buffer: 204", tells of its training."""
    lower = behind.lower()
    return ("/" in epoch or " of " in epoch) and not (
        any(word in lower for word in _OTHER_WORK) or _EVALUATION_FIRST.match(behind)
    )


def _took_s(text: str) -> str | None:
    """The time that a text tells of a training, the likeliest first: one that is named so, one without a name, a clock."""
    if (_EVALUATION_FIRST.match(text) and not _TRAINED.search(text)) or _OF_TRAINING.match(text) is None:
        return None
    values, entries = keyvalue.named(_OF_ONE.sub("", text))
    times = [entry for entry in entries if entry.key.what in {"time", "ahead"} and entry.key.order > SPAN]
    for entry in sorted(times, key=lambda entry: entry.key.order):
        if (seconds := _seconds(str(values[entry.place]), entry)) is not None:
            return seconds
    return None


def _seconds(printed: str, entry: Entry) -> str | None:
    if is_spelled(printed):
        seconds = duration_s(spelled_s(printed))
    elif not entry.key.factor and "." not in printed:
        return None  # seconds or minutes, who knows
    else:
        value, factor = number(printed), entry.key.factor or 1.0
        seconds = None if value is None else duration_s(value * factor)
        if seconds is not None and factor == 1.0 and printed[:1].isdecimal() and "," not in printed:
            return printed
    return None if seconds is None else f"{seconds:g}"
