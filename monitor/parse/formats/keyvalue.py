"""Names and numbers on one line, however they are set: the dialects of training loops that nobody has seen.

``step=120 step_time_s=2.031`` (what Trainwatch itself asks users to print, from one process on each node),
``[rank0] step 7/120 loss=4.1 dt=96.1ms tok/s=8,662``, ``step 7/120 | loss 4.1 | 0.42 s/step``,
``Iteration 7: loss = 4.1 (0.51 sec/step)``, ``Epoch: [0][ 10/500]  Time 0.61 ( 0.80)  Loss 6.9 (7.0)``, logfmt, Python
dicts; a logger's head in front, records of several ranks glued together. A time is what its name and unit say
(``monitor.parse.fields.keys``): of one step, a rate, or seconds that may be a clock; of a number and one in parentheses behind
it the first is current. Evaluations, data preparation, checkpoints, settings and source code give nothing
(``monitor.parse.fields.lookalikes``).

A line is cut at its numbers. What stands between them, its shape, decides which number is what; a log repeats a few
shapes, so that is worked out once for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from monitor.parse.fields.gaps import TextBetween, gap
from monitor.parse.fields.keys import SPEEDS, Key, key_of, measured, words_of
from monitor.parse.fields.ordinals import named_first
from monitor.parse.fields.records import Entry, Form, form, reading
from monitor.parse.fields.spans import spans
from monitor.parse.fields.vocabulary import BATCH, EPISODE, MAGNITUDES, SPAN, STEP, STEPS, SUB_TIMERS, word_set
from monitor.parse.numbers import SPELLED
from monitor.parse.rows import Reading

FORMATS = ("key-value",)
GENERIC = True
# A word that counts steps and what stands between it and its number; where the step has no name a loss or a rate does.
_COUNTERS = sorted(word_set("step Step iter Iter teration batch Batch pdate"))
GATES = (
    *(
        f"{word}{mark}"
        for word in _COUNTERS
        for mark in (" ", ":", "=", "[", "#", "]", "'", "s ", "s:", "s=", "\t", "(")
    ),
    *(f"{word}_{behind}" for word in ("step", "iter", "batch") for behind in ("i", "n", "count")),
    *(f"{word}{mark}" for word in ("STEP", "ITER", "TERATION") for mark in (" ", ":", "=")),
    *(f"{word}{mark}" for word in ("loss", "Loss", "LOSS") for mark in (" ", ":", "=", "'", "\t", ",", "|", "/")),
    *(f"{word}{mark}" for word in ("Itr", "itr") for mark in (" ", ":", "=", "s ", "s:", "s=")),
    *("poch: [", "it/s", "s/it", "s/batch", " it=", "Loss_D", "Loss_G", "loss_D", "loss_G"),
)

# Longer lines hold no report of one step; a line of so many numbers is a printed array.
_LONGEST = 8_000
_MOST_NUMBERS = 400
# Of the text between two numbers the ends matter.
_LONGEST_GAP = 300
# Numbers as they are printed, clocks and dates in one piece. Digits inside a word, a version or a path are none, but
# for a rank's: "[rank3]". The first character decides where it pays to look: no lookbehind before it.
_DIGITS = (
    r"[-+.\d](?:(?<![\w.@$].)|(?<=[Rr]ank\d)|(?<=[Rr]ank_\d)|(?<=RANK\d))(?:(?<=\d)|(?=\.?\d))\d*+(?:"
    r"\.\d*+(?:[eE][-+]?\d++)?|[eE][-+]?\d++"
    r"|(?<!\d{4})(?:,\d{3})++(?!\d)(?:\.\d++)?"
    r"|(?::[0-5]\d){1,2}(?:[.,]\d++)?(?!\d|:\d)|(?<!\d\d)-[0-2]\d:[0-5]\d:[0-5]\d(?![\d:])"
    r"|(?<=\d{4})[-/](?:\d\d|[A-Z][a-z]{2})[-/]\d\d[ T_:-]\d\d[:-]\d\d[:-]\d\d(?:[.,]\d++)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?<=\d\d)(?:/\d\d(?:/\d\d(?:\d\d)?)?|-\d\d) \d\d:\d\d:\d\d(?:[.,]\d++)?"
    r"| days?, \d{1,3}(?::[0-5]\d){1,2}(?:\.\d++)?"
    rf"|{SPELLED}"
    r")?"
)
_NUMBER = re.compile(rf"({_DIGITS})")
_NUMBER_OR_NAN = re.compile(rf"((?<![\w.@$/])[-+]?(?:nan|NaN|NAN|inf|Inf|Infinity)(?![\w.])|{_DIGITS})")
_NAN = re.compile(r"(?:nan|NaN|NAN|inf|Inf|Infinity)(?!\w)")
# "E2 B140 | loss 2.3"
_EPOCH_BATCH = re.compile(r"\W{0,3}E(?P<epoch>\d{1,6})[ :/|,-]{1,3}B(?P<batch>\d{1,9})(?!\w)")
_SHORT_HEAD = 4
# "Epoch and iter 4 10 |", "(epoch, batch): (4, 10)", "epoch/step: 4/10"
_EPOCH_AND = re.compile(
    r"(?i)\bepoch[)\]]?\s?(?:and|&|,|/|-|_)\s?[(\[]?(?P<name>iter(?:ation)?|batch|step)[)\]]?\s?[:=]?\s?[(\[]?"
    r"(?P<epoch>\d{1,6})(?:\s?[,/:|-]\s?|\s{1,3})(?P<step>\d{1,9})(?![\w.]\d)[)\]]?"
)
# "0-epoch (4/1780)"
_NTH_EPOCH = re.compile(r"(?i)(?<![\w.])(?P<epoch>\d{1,6})-epoch\s?[:,]?\s?(?=[(\[]\s?\d{1,9}\s?/)")
# "step100/174"
_GLUED = re.compile(r"(?i)(?<![\w/.\\-])(?:step|iter|batch)(?=\d{1,9}\s?/\s?\d)")
# "Progress: 20 / 93740 [0%], Speed: 0.51 s/iter": what is counted, the rate says.
_PROGRESS = re.compile(r"\bProgress(?=: \d{1,9} ?/ ?\d{1,9}\b.{0,40}\d ?(?:s/iter|iter/s|s/step|steps?/s)(?!\w))")
# "Minibatch[1001-2000]", "Minibatch[   1- 500, 12.5%]": told of all of them, at the last.
_RANGE = re.compile(r"(?<=atch\[)\s*\d{1,9}\s?-\s*(\d{1,9})(?=[\],])")
# "hr: 1  min: 50  sec: 23" is one clock, of what is not told: its seconds are no time of a step.
_IN_FIELDS = re.compile(
    r"(?i)\b(?:h|hrs?|hours?)\s?[:=]\s?\d{1,4}[\s,;|]{1,4}(?:m|mins?|minutes?)\s?[:=]\s?[0-5]?\d"
    r"[\s,;|]{1,4}(?:s|secs?|seconds?)\s?[:=]\s?[0-5]?\d(?!\d)"
)
# "iteration,1,train_loss,2.31,accuracy,0.05": a name and its number by turns.
_IN_PAIRS = re.compile(r"\s*(?:[A-Za-z_]\w{0,40},\s?[-+]?\d[\d.eE+-]{0,24}(?:,\s?|\s*$)){2,40}$")
_OPENS = re.compile(r"\s*[\])]?\s*\[\s*")
# Between an epoch and a fraction: "Epoch:[3/20](7/120)", "[epoch 3, 7/120]", "Epoch 3 | 7/120 | ".
_LEADS_ON = re.compile(r"\s*[\])]?\s*[,|:-]?\s*[\[(]?\s*")
# "after 12 steps"
_AFTER = re.compile(r"(?i)\bafter $")
_STEPS_DONE = re.compile(r"(?i) (?:train(?:ing)? )?(?:steps|step\(s\)|iterations|iters|updates|batches)(?!\w)")
# In "[3/25][50/391]", "[3/25] (50/391)", "[3/25] 50/391" one of them stands between epoch and batch.
_BRACKETS = frozenset("[](){}")
# "Iter: [2][250/391]"
_PAIR = re.compile(r"\]\s?,?\s{0,2}\[\s*")
# "epoch: [1 / 20] | sentence: [20 / 67]"
_ANY_COUNT = re.compile(r"\s?\]\s?[|,;]?\s?[A-Za-z]{3,20}\s?[:=]?\s?\[\s*")
_LETTERS = re.compile(r"[A-Za-z|\])]")
_LOCATION = re.compile(r"[\w/]+[.:/]\w+:$")
_TOLD = {"time", "rate", "throughput", "loss"}
# Between a count and how many there are: "7/120", "1.2k/10k", "7 (of 120)".
_MAGNITUDE = re.compile(r"[kKMB](?!\w)")
_OF_ALL = re.compile(r"(?P<many>[kKMB]?)\s*(?:/|\(?(?:out )?of|over)\s*")
# Where an unnamed fraction has no fewer, it counts steps and the batch named behind it is a size.
_STEPS_AT_LEAST = 1000
_FOLDS = 20


# "at step (100/3000): 2.1"
_IN_PARENTHESES = re.compile(r"(?i)\b(step|iter|iteration|batch) \((\d{1,12}(?:/| of )\d{1,12})\)(?=\s?:)")


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``, in order: one, or one a record where records of several ranks are glued together."""
    pieces, found = forms(text)
    for one in found:
        report = reading(one, pieces[1::2], FORMATS[0])
        if report is not None:
            yield report


def forms(text: str) -> tuple[list[str], tuple[Form, ...]]:
    """(``text`` cut at its numbers: every second piece is one, the forms of the records in it); none where there is none."""
    pieces = _pieces(text)
    return pieces, _forms(tuple(pieces[::2])) if 3 < len(pieces) < 2 * _MOST_NUMBERS else ()


def named(text: str) -> tuple[list[str], tuple[Entry, ...]]:
    """(the numbers of ``text``, those of them that are understood by their names and units)."""
    pieces = _pieces(text)
    return pieces[1::2], _named(tuple(pieces[::2])) if 1 < len(pieces) < 2 * _MOST_NUMBERS else ()


def _pieces(text: str) -> list[str]:
    """The text cut at its numbers: a gap, a number, a gap, …"""
    if len(text) > _LONGEST:
        text = text[:_LONGEST]
    text = named_first(text)
    if "E" in text[:_SHORT_HEAD] and (short := _EPOCH_BATCH.match(text)) is not None:
        text = f"epoch {short['epoch']} batch {short['batch']}{text[short.end() :]}"
    elif ("poch" in text or "POCH" in text) and (both := _EPOCH_AND.search(text)) is not None:
        text = f"{text[: both.start()]}epoch {both['epoch']} {both['name']} {both['step']}{text[both.end() :]}"
    elif "poch" in text and (nth := _NTH_EPOCH.search(text)) is not None:
        text = f"{text[: nth.start()]}epoch {nth['epoch']} {text[nth.end() :]}"
    if "/" in text and (glued := _GLUED.search(text)) is not None:
        text = f"{text[: glued.end()]} {text[glued.end() :]}"
    if ") :" in text or "):" in text:
        text = _IN_PARENTHESES.sub(r"\1 \2", text)
    if "Progress: " in text:
        text = _PROGRESS.sub("step", text, count=1)
    if "min" in text and (fields := _IN_FIELDS.search(text)) is not None:
        text = text[: fields.start()] + text[fields.end() :]
    if "atch[" in text and "-" in text:
        text = _RANGE.sub(r"\1", text)
    if "," in text and text.lstrip()[:1].isalpha() and _IN_PAIRS.match(text) is not None:
        text = text.replace(",", " ")
    if "\\" in text:
        text = text.replace("\\t", "\t").replace("\\n", "\t")
    has_nan = ("nan" in text or "NaN" in text or "inf" in text or "Inf" in text) and _NAN.search(text)
    return (_NUMBER_OR_NAN if has_nan else _NUMBER).split(text)


@lru_cache(maxsize=1024)
def _forms(shape: tuple[str, ...]) -> tuple[Form, ...]:
    """The forms of the records on a line of this shape, in order."""
    gaps = _gaps(shape)
    records, starts = _records(gaps)
    if len(records) == 1:
        _add_unnamed_step(gaps, records[0])
        if not gaps[0].text.strip() and gaps[1].text[:1] == " " and gaps[1].name and all(e.place for e in records[0]):
            records[0].append(Entry(0, Key("ahead")))
    found = []
    for entries, start, end in zip(records, starts, [*starts[1:], len(gaps)], strict=True):
        # What ends a line is the name of no number.
        tail = [gaps[-1].text] if end == len(gaps) else [gaps[end - 1].said]
        found.append(form(entries, "\0".join([*(between.said for between in gaps[start : end - 1]), *tail])))
    return tuple(one for one in found if one is not None)


def _gaps(shape: Sequence[str]) -> list[TextBetween]:
    return [gap(_ends(text), head=place == 0) for place, text in enumerate(shape)]


@lru_cache(maxsize=1024)
def _named(shape: tuple[str, ...]) -> tuple[Entry, ...]:
    return tuple(entry for record in _records(_gaps(shape))[0] for entry in record)


def _records(gaps: Sequence[TextBetween]) -> tuple[list[list[Entry]], list[int]]:
    """What is understood of each record on a line, and where they begin."""
    records: list[list[Entry]] = [[]]
    starts = [0]
    several = {span.time: span for span in spans(gaps)}
    counted = {span.steps for span in several.values()}
    for place in range(len(gaps) - 1):
        last = records[-1]
        if place in several:
            span = several[place]
            if span.key is not None:
                last.append(Entry(place, span.key, gaps[place].name, over=span.steps))
        elif place in counted:
            continue
        elif _is_total(place, gaps, last):
            last[-1] = _with_total(last[-1], gaps[place], gaps[place + 1])
        elif key := _key(place, gaps):
            if key.what == "step" and _is_told(last) and any(entry.key[:2] == key[:2] for entry in last):
                records.append(_taken_along(last))
                starts.append(place)
            records[-1].append(Entry(place, key, _name(place, gaps)))
    return records, starts


def _is_total(place: int, gaps: Sequence[TextBetween], entries: Sequence[Entry]) -> bool:
    """The number is that of all steps or epochs, or of all micro-batches of a step: "7/120", "7 of 120"."""
    counted = bool(entries) and entries[-1].place == place - 1 and entries[-1].key.what in {"step", "micro", "epoch"}
    return counted and _OF_ALL.fullmatch(gaps[place].text) is not None


def _with_total(step: Entry, before: TextBetween, behind: TextBetween) -> Entry:
    """The step with the number between these texts as its total; letters glued to the two say thousands or millions."""
    match = _OF_ALL.fullmatch(before.text)
    if match and (factor := MAGNITUDES.get(match["many"])):
        step = step._replace(key=step.key._replace(factor=factor))
    letter = _MAGNITUDE.match(behind.text)
    return step._replace(total=step.place + 1, total_factor=MAGNITUDES[letter[0]] if letter else 1.0)


def _ends(text: str) -> str:
    return text if len(text) <= _LONGEST_GAP else f"{text[: _LONGEST_GAP // 2]} … {text[-_LONGEST_GAP // 2 :]}"


def _key(place: int, gaps: Sequence[TextBetween]) -> Key | None:
    """What the number at ``place`` is, by the name before it and the unit behind it."""
    before, after = gaps[place], gaps[place + 1]
    if place and _names_the_next(gaps[place - 1], before):
        return measured(before.lone, after.unit)
    unit = _unit(place, gaps)
    key = before.key
    if key is None and before.name[-1:] == ")" and after.text.strip() == "(":
        key = key_of(before.name.partition("(")[0])  # "time (data): 0.61 (0.02)"
    if key is None and not before.name:
        if before.separates and place and (ahead := gaps[_before(place, gaps)].ahead):
            key = ahead
        elif after.trailing is not None:
            return after.trailing
        elif unit is not None and unit.what == "duration" and not _is_mean_of_part(place, gaps):
            return after.bare(unit)
    if key is not None and key.what == "micro":
        return key
    if (
        key is not None
        and key.what == "step"
        and unit is not None
        and unit.unit in MAGNITUDES
        and after.text[:1] == " "
    ):
        return key
    if key is None and not SUB_TIMERS.isdisjoint(words_of(before.name)):
        return None
    if key is not None and after.strange and key.what in {*SPEEDS, "memory"}:
        return None
    if key is not None and key.what == "step" and (before.quoted or _is_location(before, after)):
        return None
    return measured(key, unit)


def _is_mean_of_part(place: int, gaps: Sequence[TextBetween]) -> bool:
    """Behind the time of a part of the step its mean in parentheses: "Data 0.001s(0.010s)"."""
    if not place or gaps[place].text[-1:] != "(" or gaps[place].name:
        return False
    of = gaps[place - 1]
    return (of.key is None or of.key.what == "data") and not SUB_TIMERS.isdisjoint(words_of(of.name))


def _name(place: int, gaps: Sequence[TextBetween]) -> str:
    """The name of the number at ``place``; of "loss at step 7: 2.1" what stands before the step."""
    return gaps[place].name or (gaps[_before(place, gaps)].name if place and gaps[place].separates else "")


def _before(place: int, gaps: Sequence[TextBetween]) -> int:
    """The text in front of the number before, or of the count whose total that is: "loss at step 7/500: 2.1"."""
    return place - 2 if place > 1 and _OF_ALL.fullmatch(gaps[place - 1].text) else place - 1


def _unit(place: int, gaps: Sequence[TextBetween]) -> Key | None:
    """The unit behind the number at ``place``, unless that names the next number: a number with a name of its own has
    none, nor one before a number without a unit of its own.
    """
    before, after = gaps[place], gaps[place + 1]
    if _names_the_next(before, after) and place + 2 < len(gaps):
        return None
    if after.names:
        behind = gaps[place + 2] if place + 2 < len(gaps) else after
        if (
            behind.names
            or behind.unit is None
            or behind.unit.what not in SPEEDS
            or before.name
            or before.text[-1:] == "/"
        ):
            return None
    return after.unit


def _names_the_next(before: TextBetween, between: TextBetween) -> bool:
    """``between`` may be the unit of its first number or the name of its second: it is a unit where one is missing."""
    named = bool(before.name) or _OF_ALL.fullmatch(before.text) is not None
    return between.lone is not None and named and (before.key is None or before.key.what not in {*SPEEDS, "left"})


def _is_location(before: TextBetween, after: TextBetween) -> bool:
    """Module, function and line, as loggers print them: "train:train_step:120 - "."""
    return _LOCATION.search(before.text) is not None and after.text.lstrip()[:1] in {"]", ")", "-", "|", ":"}


def _is_told(entries: Sequence[Entry]) -> bool:
    return any(entry.key.what in _TOLD for entry in entries)


def _taken_along(entries: list[Entry]) -> list[Entry]:
    """Rank and epoch in front of a step belong to it: they are taken off the record before."""
    start = len(entries)
    while start and entries[start - 1].key.what in {"rank", "epoch"}:
        start -= 1
    taken = entries[start:]
    del entries[start:]
    return taken


def _add_unnamed_step(gaps: Sequence[TextBetween], entries: list[Entry]) -> None:
    """Adds a step that has no name to a record without one; "batch 16" beside it may be the size of a batch."""
    named = [entry for entry in entries if entry.key.what == "step"]
    if len(named) == 1 and _is_epoch_of_pair(named[0].place, gaps):
        # "Iter: [2][250/391]"
        place = named[0].place
        entries[entries.index(named[0])] = Entry(place, Key("epoch"))
        entries.append(Entry(place + 1, Key("step", BATCH), total=place + 2, in_epoch=True))
        return
    if all(entry.key.order == EPISODE for entry in named):
        # Of an episode it is the length of which "steps" speaks; alone it may be beside any other count.
        entries[:] = [entry for entry in entries if entry.key.what != "step"]
        entries.extend(_step_without_a_name(gaps, entries))
        return
    if all(entry.key.order == STEPS for entry in named):
        # "[ 602] … steps=119.4": where that is no count, it is the length of episodes.
        found = (entry for entry in _step_without_a_name(gaps, entries) if entry.key.what == "step")
        entries.extend(entry._replace(key=Key("step", STEPS + 1)) for entry in found)
        return
    if any(entry.key.order != BATCH or entry.total >= 0 for entry in named):
        return
    if any(entry.key.what == "epoch" and entry.place == named[0].place - 1 for entry in entries):
        return  # "(5/8) Epoch 0, batch 10": the fraction is a rank
    for place in range(min(len(gaps) - 2, named[0].place)):
        if gaps[place].name or gaps[place].text[-1:] not in {"[", "("} or gaps[place + 1].text.strip() != "/":
            continue
        if gaps[place + 2].text[:1] in {"]", ")"}:
            epoch = any(entry.key.what == "epoch" for entry in entries)
            key = Key("step", STEP)
            least = 0 if epoch else _STEPS_AT_LEAST
            entries.append(Entry(place, key, total=place + 1, in_epoch=epoch, least_total=least))
            return


def _is_epoch_of_pair(place: int, gaps: Sequence[TextBetween]) -> bool:
    """A bare number in brackets in front of a count and its total in brackets."""
    return (
        place + 3 < len(gaps)
        and gaps[place].text[-1:] == "["
        and _PAIR.fullmatch(gaps[place + 1].text) is not None
        and gaps[place + 2].text.strip() == "/"
        and gaps[place + 3].text[:1] == "]"
    )


_BEHIND_A_LABEL = re.compile(r":\s{1,4}[#(\[<|]?\s{0,4}")


def _step_without_a_name(gaps: Sequence[TextBetween], entries: Sequence[Entry]) -> list[Entry]:
    """The step of notations that do not say "step", the surest first: "[0][ 10/500]", "[1/9][10/500]",
    "loss: 2.1  [10/500]", "| 200/2983 batches |", "Epoch 1 | 200/2000 | 3.1 it/s", "100 | loss 2.1 | 51ms"; nothing if
    there is none of them.
    """
    unnamed = [place for place in range(len(gaps) - 1) if not gaps[place].name or _AFTER.search(gaps[place].text)]
    fractions = {place for place in unnamed if place + 2 < len(gaps) and gaps[place + 1].text.strip() == "/"}
    for place in unnamed:
        before, epoch = gaps[place].text, _epoch_before(place, gaps)
        is_count = place in fractions and _LEADS_ON.fullmatch(before) and _is_count(gaps[place + 2])
        if epoch >= 0 and (is_count or (_OPENS.fullmatch(before) and before.strip() != "[")):
            total = place + 1 if place in fractions else -1
            epochs = epoch + 1 if place == epoch + 2 else -1
            known = any(entry.place == epoch for entry in entries)
            named = [] if known else [Entry(epoch, Key("epoch"), total=epochs)]
            return [Entry(place, Key("step", BATCH), total=total, in_epoch=True), *named]
        if _AFTER.search(before) and _STEPS_DONE.match(gaps[place + 1].text):
            return [Entry(place, Key("step", STEPS))]
    for place in range(2, len(gaps) - 2):
        is_fraction = gaps[place + 1].text.strip() == "/" and _epoch_before(place, gaps) == place - 2
        if is_fraction and _ANY_COUNT.fullmatch(gaps[place].text):
            return [Entry(place, Key("step", BATCH), total=place + 1, in_epoch=True)]
    in_epoch = any(entry.key.what == "epoch" for entry in entries)
    told = any(entry.key.what in {*SPEEDS, "loss"} for entry in entries)
    for place in sorted(fractions) if told else ():
        between = gaps[place].text
        if place - 2 in fractions and not _BRACKETS.isdisjoint(between) and _LEADS_ON.fullmatch(between):
            epoch_of = Entry(place - 2, Key("epoch"), total=place - 1)
            return [Entry(place, Key("step", BATCH), total=place + 1, in_epoch=True), epoch_of]
    index = next((place for place in range(len(gaps) - 1) if gaps[place].name == "i"), -1)
    for place in sorted(fractions) if told and index >= 0 and not in_epoch else ():
        # "[0/3] i=41 loss 2.1"
        if gaps[place].text[-1:] == "[" and gaps[place + 2].text[:1] == "]":
            return [Entry(index, Key("step", BATCH), in_epoch=True), Entry(place, Key("epoch"), total=place + 1)]
    for place in sorted(fractions) if told else ():
        before = gaps[place].text
        if (place or in_epoch) and before.rstrip()[-1:] == "[" and gaps[place + 2].text.lstrip()[:1] in {"]", "("}:
            # At the head of a line a small one may count folds.
            return [
                Entry(place, Key("step", BATCH), total=place + 1, in_epoch=True, least_total=0 if place else _FOLDS)
            ]
    for place in sorted(fractions):
        counted = gaps[place + 2].unit
        if counted is not None and counted.what == "setting":
            return [Entry(place, Key("step", BATCH), total=place + 1, in_epoch=in_epoch)]
    timed = [entry.key for entry in entries if entry.key.what in SPEEDS]
    lossy = any(entry.key.what == "loss" for entry in entries)
    if (lossy and timed) or any(key.what != "throughput" and key.order <= SPAN for key in timed):
        for place in sorted(fractions):
            if not _LETTERS.search(gaps[place + 2].text):
                continue  # the month and day of a date
            if (in_epoch and place) or gaps[place].text == "% " or (place == 0 and not gaps[0].text.strip(" \t[(")):
                return [Entry(place, Key("step", BATCH), total=place + 1, in_epoch=in_epoch)]
    # "0: 40/4000 loss": srun's task, or an epoch, and the count.
    labelled = 1 in unnamed and not gaps[0].text.strip() and _BEHIND_A_LABEL.fullmatch(gaps[1].text) is not None
    if labelled and lossy and timed and gaps[2].text.lstrip()[:1] in {"/", ":", "|", ")", "]"}:
        return [Entry(1, Key("step", BATCH), total=2 if 1 in fractions else -1)]
    for place in unnamed if lossy and timed else ():
        before, behind = gaps[place].text, gaps[place + 1].text.lstrip()[:1]
        if (place == 0 and not before.strip(" \t[(") and behind in {"|", ":", "]"}) or (
            before.rstrip()[-1:] == "[" and behind == "]"
        ):
            return [Entry(place, Key("step", BATCH))]
    return []


def _is_count(behind: TextBetween) -> bool:
    """The fraction before this text counts batches: "7/120: loss ", not "85/100 correct, loss " or a date."""
    text = behind.text.strip()
    is_counted = behind.unit is not None and behind.unit.what == "setting"
    return not text.startswith("/") and (not text[:1].isalpha() or is_counted or text.rstrip(" :=") == behind.name)


def _epoch_before(place: int, gaps: Sequence[TextBetween]) -> int:
    """Place of the epoch right before ``place``, its own total between them or not; -1 if there is none."""
    epoch = place - 1
    if epoch > 0 and gaps[epoch].text.strip() == "/":
        epoch -= 1
    if epoch < 0:
        return -1
    named = gaps[epoch]
    is_epoch = named.key.what == "epoch" if named.key else words_of(named.name)[-1:] in (["train"], ["training"])
    return epoch if is_epoch else -1
