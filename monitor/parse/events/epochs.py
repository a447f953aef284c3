"""Lines that tell of epochs: their number, how they were trained, how long they took; and what a clock of the run shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.events import epoch_lines
from monitor.parse.events.epoch_lines import FIGURES, NO_TRAINING
from monitor.parse.events.reader import EventTable, captured, event
from monitor.parse.numbers import SPELLED, spelled_s

#: A bar or a figure that tells how an epoch went.
EPOCH_TOLD = "epoch-told"
#: A line that names an epoch, and no step of it.
EPOCH_NUMBERED = "epoch-numbered"
#: The same, where it tells how the epoch was trained, and of no evaluation.
EPOCH_TRAINED = "epoch-trained"
EPOCH_LINES = frozenset({EPOCH_TOLD, EPOCH_NUMBERED, EPOCH_TRAINED})
#: How many seconds an epoch of the training took.
EPOCH_TIME = "epoch-time"
#: The same of all of them: their mean, or their median.
EPOCH_MEAN = "epoch-mean"
#: Its share of what the whole training took.
EPOCH_SHARE = "epoch-share"
#: How many seconds a line tells that names no epoch, and counts nothing.
PASSED = "passed"
#: What a clock of the run shows between its epochs, and how much its last digit is, in seconds.
ELAPSED = "elapsed"
#: That a log tells of epochs and of no step: how many there are.
EPOCHS_ONLY = "epochs-only"
#: How many seconds one of them takes, by the times of the lines.
EPOCH_PACE = "epoch-pace"
#: The same, as it is printed.
EPOCH_TOOK = "epoch-took"
#: Kinds that tell of epochs alone how many there are and what one takes, and are shown nowhere.
KINDS = EPOCH_LINES | {EPOCH_TIME, EPOCH_MEAN, PASSED, ELAPSED}
# What a logger puts in front.
_LOGGED = (
    r"(?:\[|\| )?(?:\d{2,4}[-/])?\d\d[-/]\d{2,4}[ T]\d\d:\d\d:\d\d[.,\d]{0,8}\]?\W{1,4}"
    # A logger may be called by what it logs: "train_log".
    r"(?:(?!(?:val|eval|test|dev|train|epoch|best)(?!_log))[\w.]{1,40}+\W{1,4}+){0,3}"
)
_FIGURE = rf"(?:{'|'.join(FIGURES)})"
_EPOCH_GATES = "poch |poch:|poch=|poch[|POCH |POCH:| Ep "
# "Date: 2026-03-04 08:15:36s, Time_Cost: 99s, " of image restoration, "[Fold 1 " and "fold 2 | " before the epoch.
_WHEN = r"Date: \d{4}-\d\d-\d\d \d\d:\d\d:\d\ds, Time_Cost: \d{1,7}(?:\.\d{1,3})?s, "
_WHICH = r"(?:fold|run|seed|trial|split)[ :#=\[]{1,2}\d{1,4}(?: ?(?:/|of) ?\d{1,4})?\W{1,4}"
# Python's own: "INFO:root:".
_PLAIN = r"(?:[A-Z]{4,8}:[\w.]{1,60}:)?"
_HEAD = rf"(?:{_LOGGED}\W{{0,8}}|{_WHEN}|{_PLAIN}\W{{0,12}})(?:{_WHICH})?"
_OF_EPOCH = (
    rf"{_HEAD}"
    r"(?:(?:train(?:ing)?|starting) )?ep(?:ochs?)?(?: num(?:ber)?| no\.?)?[ :=#\[]{1,3}(?P<said>\d{1,6})"
    r"(?: ?(?:/|of) ?\d{1,6})?\]?(?![\d.])(?!.*?(?:\b(?:step|iter|batch|it/s)|%\||\d ?/ ?\d))"
    rf"(?=.{{0,160}}?{_FIGURE})"
)
_EPOCHS = EventTable(
    (
        # What is said of each epoch, and of no step of it.
        event(
            EPOCH_TRAINED,
            _EPOCH_GATES,
            rf"(?i)^(?=\W*epochs?\W)(?!.*\b(?:val|test|dev))(?=.*\btrain(?:ing)?[ _-]?{_FIGURE}){_OF_EPOCH}",
            captured,
        ),
        # Swin Transformer and its kin.
        event(EPOCH_TRAINED, " training takes ", r"(?i)\bepoch (?P<said>\d{1,6}) training takes \d", captured),
        event(EPOCH_NUMBERED, _EPOCH_GATES, rf"(?i)^{_OF_EPOCH}", captured),
        # Lightning's checkpoints tell the epoch, and how many steps were made.
        event(EPOCH_NUMBERED, _EPOCH_GATES, r"\bEpoch (?P<said>\d{1,6}), global step \d{1,12}: '\S", captured),
        # A head above what is said of it.
        event(
            EPOCH_NUMBERED,
            _EPOCH_GATES,
            rf"(?i)^{_HEAD}(?:(?:train|start|begin)(?:n?ing)? )?epoch(?: num(?:ber)?| no\.?)?(?:[ :=#\[]{{1,3}}|[:|] {{1,60}})"
            r"(?P<said>\d{1,6})(?: ?(?:/|of) ?\d{1,6})?\W{0,40}$",
            captured,
        ),
        # DETR's log.txt and its kin: an object for each epoch, "train_loss" beside "test_loss"
        event(
            EPOCH_TRAINED,
            '"epoch": ',
            r'^\{(?=[^{}]{0,8000}"train_(?:\w{1,20}_)?loss": )(?![^{}]{0,8000}"(?:\w{1,20}_)?(?:step|iter|iteration|batch)s?": )'
            r'[^{}]{0,8000}"epoch": (?P<said>\d{1,6})[,}]',
            captured,
        ),
        # Ray Train's report, and what else prints a dict an epoch
        event(
            EPOCH_TOLD,
            "'epoch': ",
            r"\{(?=[^{}]{0,4000}'(?:train_)?loss': )(?![^{}]{0,4000}'(?:\w{1,20}_)?(?:step|iter|iteration|batch)s?': )"
            r"[^{}]{0,4000}'epoch': (?P<said>\d{1,6})[,}]",
            captured,
        ),
        # A figure of the validation beside those of the training, or in a bar; where it moves each time that is an epoch's.
        event(
            EPOCH_TOLD,
            "val_|val |Val |Val_|valid_|valid |Valid |test_|test |Test |VAL |Validation |validation ",
            rf"(?i)^(?=.*?(?:%\||\btrain(?:ing)?[ _-]?{_FIGURE}))"
            rf".*?\b(?P<said>(?:val(?:id(?:ation)?)?|test)[ _-]?{_FIGURE}\w{{0,9}}"
            r"\s?[=:]?\s?\d[\d.e-]{0,20})",
            captured,
        ),
    ),
    one_a_line=True,
)
# Seconds, where no unit says otherwise.
_TOOK = (
    r"(?<![\d.])(?P<said>(?:\d{1,3}:)?\d{1,3}:\d\d(?:\.\d{1,9})?(?![:\d])"
    rf"|\d{{1,3}}(?:{SPELLED})"
    r"|\d{1,4} ?(?:hours?|hrs?|min(?:ute)?s?)(?:,? and|,)? {1,2}\d{1,2}(?:\.\d{1,9})? ?(?:min(?:ute)?s?|sec(?:ond)?s?)\b"
    r"(?:(?:,? and|,)? {1,2}\d{1,2}(?:\.\d{1,9})? ?sec(?:ond)?s?\b)?"
    r"|\d{1,7}(?:\.\d{1,15})? ?(?:s|secs?|seconds|m|mins?|minutes|h|hrs?|hours)\b"
    r"|\d{1,7}\.\d{2,15}(?! ?[A-Za-z/%]))"
)
_OF_ANOTHER = r"(?:val|eval|test|dev|est|exp|avg|average|mean|min|max|median|per|each|pre|on)\w{0,8} "
# The same in other units, and what the numbers mean: "(0.12 hours)", "(h:mm:ss)".
_AND_NO_MORE = r"\W{0,12}(?:\([\w.:, ]{1,24}\))?\W{0,12}$"
_LAST_DIGIT = re.compile(r"\d(?:\.(?P<decimals>\d+))?\s?(?P<unit>[A-Za-z]*)$")


def _took(match: re.Match[str]) -> str | None:
    printed = match["said"]
    seconds = spelled_s(printed) if not printed[-1].isdigit() or ":" in printed else float(printed)
    return f"{seconds:g}" if seconds else None


def _elapsed(match: re.Match[str]) -> str | None:
    seconds, printed = _took(match), match["said"]
    if seconds is None:
        return None
    last = _LAST_DIGIT.search(printed)
    assert last is not None  # a number was read
    unit_s = spelled_s(f"1 {last['unit']}") if last["unit"] else None
    return f"{seconds} {(unit_s or 1.0) / 10 ** len(last['decimals'] or ''):g}"


_TIMES = EventTable(
    (
        # "Median time per epoch: 0.1011s", "Average epoch time: 12.5 s"
        event(
            EPOCH_MEAN,
            "per epoch|time/epoch|poch time|poch Time|per Epoch",
            r"(?i)^\W{0,12}(?:overall )?(?:mean|median|average|avg\.?) (?:train(?:ing)? |run(?:ning)? )?(?:time (?:per|/) epoch"
            rf"|time/epoch|epoch time|time (?:of|for) (?:an|each) epoch)\s?(?:is|was|[=:])?\s{{0,3}}{_TOOK}",
            _took,
        ),
        event(
            EPOCH_TIME,
            "poch took|poch takes|poch time|poch Time|poch duration|or epoch|or 1 epoch|one epoch|this epoch|the epoch|of epoch|"
            "per epoch|or Epoch|his Epoch|he Epoch|er Epoch|(epoch)| took | training takes |"
            " finished in | completed in | done in ",
            rf"(?i)^{NO_TRAINING}.*?\b(?:time (?:(?:taken|used|spent|cost|elapsed) )?(?:for|of|per)"
            r" (?:(?:1|one|this|the|each) )?epoch|time spent \(epoch\)"
            r"|epoch(?: \d{1,6})? (?:time|took|(?:training )?takes|duration|(?:finished|completed|done) in))"
            rf"(?: \d{{1,6}}(?![\d.]))?\s?(?:is|was|[=:])?\s{{0,16}}{_TOOK}",
            _took,
        ),
        # "epoch=0/250,total_loss=1.870129, 1 epoch time=61.985902, left time=4.3"
        event(EPOCH_TIME, " 1 epoch time", rf"(?i), 1 epoch time ?[=:] ?{_TOOK}", _took),
        event(EPOCH_TIME, " Time_Cost: ", rf"(?i)^Date: [^,]{{1,24}}, Time_Cost: {_TOOK}, epoch", _took),
        # "Epoch 1/50 | Loss: 0.9787 | Time: 13635.27s", "Epoch finished, avg_loss=0.51, time=65.8s": a line of an epoch, and of
        # nothing that is counted within it.
        event(
            EPOCH_TIME,
            "Epoch |epoch |poch:|poch=|Epoch[|" + "|".join(f"Epoch{digit}" for digit in range(10)),
            # Behind a share stands what it is of: "66.20% (6620/10000)".
            rf"(?i)^(?:{_LOGGED}|{_PLAIN}\W{{0,12}}(?:info\W{{1,4}})?)"
            r"epoch(?:\W{0,4}\d{1,6}(?: ?(?:/|of) ?\d{1,6})?(?![\d.])(?! (?:eval|valid|test))| (?:finished|done|complete|over)\b)"
            r"(?!.*(?<!% \()\b\d{1,9} ?/ ?\d)"
            rf"(?!.*\b(?:steps?|iter(?:ation)?s?|it|(?:mini-?)?batch(?:es)?)\b){NO_TRAINING}"
            # A cost without a unit is a loss.
            rf".*?\b(?:(?:time(?: taken| elapsed)?(?: is)?|took|duration)\s?[:=]?\s{{0,3}}"
            rf"|cost: {{1,3}}(?=[\d.]{{1,9}} ?(?:s|min))){_TOOK}",
            _took,
        ),
        # "Training time takes approximately: 38.48 minutes at current epoch"
        event(
            EPOCH_TIME,
            "raining time",
            rf"(?i)\btraining time\b[^\d]{{0,32}}{_TOOK} (?:at|for|in) (?:the )?(?:current|this|one|last) ep",
            _took,
        ),
        # "Time elapsed: 0.05 min", "Finished. Total elapsed time (h:m:s): 0:01:51", and nothing else
        event(
            ELAPSED,
            "ime elapsed|ime Elapsed|lapsed time|lapsed Time|lapsed:",
            rf"(?i)^\W{{0,12}}(?:(?:finished|done|completed?)\W{{1,3}})?(?:total |training )?(?:time elapsed|elapsed(?: time)?)"
            rf"(?: \([\w:]{{1,12}}\))?\s?[:=]\s{{0,3}}{_TOOK}\W{{0,12}}$",
            _elapsed,
        ),
        # "Training took: 3.35 minutes!", "Total training time: 438.83 seconds (0.12 hours)", "Took 1880.06s to train"
        event(
            ELAPSED,
            "raining |rain ",
            rf"(?i)^\W{{0,12}}(?!.{{0,40}}\b{_OF_ANOTHER}.{{0,24}}train)(?:(?:\w{{1,12}} ){{0,4}}?train(?:ing)?"
            r" (?:took|takes|lasted|time(?: taken)?|runtime|duration|(?:was |is )?(?:finished|completed?|done|over) (?:in|after))"
            rf"|(?:finished|completed|done) training (?:in|after))\s?(?:is|was|[=:])?\s{{0,3}}{_TOOK}{_AND_NO_MORE}",
            _elapsed,
        ),
        event(
            ELAPSED,
            " to train",
            rf"(?i)^\W{{0,12}}(?:it )?(?:took|takes) {_TOOK} (?:for|to) train(?:ing)?\W*$",
            _elapsed,
        ),
    ),
    one_a_line=True,
)
ROWS = (*_EPOCHS.rows, *_TIMES.rows)
#: Literal texts, one of which stands in every line read here.
GATES = (*_EPOCHS.gates, *_TIMES.gates, *epoch_lines.GATES, *epoch_lines.GATES_OF_TIMES)


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the epoch that a line tells of, and of what it says of time."""
    told, times = list(_EPOCHS.read(text)), list(_TIMES.read(text))
    yield from told
    line = None if told and times else epoch_lines.read(text)
    if line is not None and not told:
        yield EPOCH_NUMBERED, line.epoch
    if times:
        yield from times
    elif line is not None and line.took_s is not None:
        yield EPOCH_TIME, line.took_s
    elif (
        line is None
        and all(kind == EPOCH_TOLD for kind, _ in told)
        and (passed_s := epoch_lines.passed_s(text)) is not None
    ):
        yield PASSED, passed_s
