"""Lines that hold a part of a report and no report: one number of it, or the step alone.

``|    time_elapsed | 306 |``, ``  time_this_iter_s: 2.81``, ``Iteration time: 0.95s``, ``Timer: 0.6476``,
``loss: 2.31, lr: 1e-4``; ``Learning iteration 5/1500``, ``===== Step 7 =====``. Such a line is names and numbers through
and through, whatever frames it and whatever a logger puts in front; a number in a sentence is none of a report. Each
number is a row by itself here; which of them are one report, ``monitor.parse.reports.blocks`` works out once all lines are known.
"""

from __future__ import annotations

import re
from functools import lru_cache

from monitor.parse.fields import lookalikes
from monitor.parse.fields import vocabulary as v
from monitor.parse.fields.keys import SPEEDS, Key, key_of, measured, unit_of, words_of
from monitor.parse.formats import keyvalue
from monitor.parse.numbers import SPELLED, count, number, spelled_s, spelled_tick_s
from monitor.parse.rows import Reading

#: The format of a row that is a piece.
FORMAT = "piece"
#: The unit of a time that is printed as a clock.
CLOCK = ":"
_UNIT = "\0"
# How the name of a number ends that tells something of a step, and what stands between the two.
_ENDS = (
    *sorted(
        v.word_set(
            "tep teps ter ters teration terations atch pdate pdates poch ount per_step /step per_iter /iter /it per_batch /batch"
            " per_iteration ime imer lapsed lasped uration took _s ms _sec (s) (ms) (sec) (secs) (seconds) ETA eta per_second /s"
            " /sec fps FPS SPS TPS tps hroughput peed oss oss_mean oss_total oss/total oss/train rror"
        )
    ),
    *("per sec", "per second"),
)
_BETWEEN_THEM = (":", "=", " :", " =", " |", "  ", "\t", '":', "':")
GATES = (
    *keyvalue.GATES,
    *(end + sign for end in _ENDS for sign in _BETWEEN_THEM),
    *(f"ime {word}:" for word in ("used", "Used", "taken", "Taken", "spent", "Spent")),
    *("it:", "it=", "it =", "it  ", "time_elapsed", "ime (", " --", " ==", " **", "ETA ", "atchs)", "atches", "teps/s"),
    *(f"{name} took " for name in ("tep", "ter", "teration", "atch", "pdate")),
    *("raining_iteration", "timesteps", "nupdates", "EnvInteracts", "EnvSteps", "Itr"),
    *("E2E latency=", "End-to-End => Latency:"),
)
_LONGEST = 240
_MOST_PAIRS = 12
_KEPT = frozenset(
    {"step", "total", "epoch", "rank", "time", "rate", "throughput", "loss", "memory", "learning", "left"}
)

#: What a logger sets in front: its time, level, module and line, the process of a worker.
HEAD = re.compile(
    r"(?:\s{0,40}(?:\[[^\[\]]{0,60}(?:\d\d:\d\d|INFO|DEBUG|[Rr]ank)[^\[\]]{0,40}\]"
    r"|\([\w.<>-]{1,60} (?:pid=)?\d+(?:, ip=[\d.]+)?\)"
    r"|\d{2,4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d\S{0,12})?|\d\d:\d\d:\d\d(?:[.,]\d+)?(?=\s)"
    r"|(?:DEBUG|INFO)\b:?|[\w.<>]{1,80}:[\w.<>]{0,60}:\d{1,9}(?=\s)|\w{1,40}\.py:\d{1,9}\b:?|(?:root|__main__):)"
    r"\s{0,9}(?:[-|:>]{1,2}(?=\s))?)+"
)
# "--> TIME: 2026-03-04 10:00:00 -- STEP: 25/405 -- GLOBAL_STEP: 1025"
_TOLD_WHEN = re.compile(r"-*>?\s?TIME: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?= -)")
_HEADS = frozenset("[(0123456789IDabcdefghijklmnopqrstuvwxyz_")
_SENTENCE = re.compile(r"[A-Za-z]{2,20} (?:[A-Za-z]{2,20} ){4}")
# Behind the last number: "(collection: 0.7s, learning 0.1s)", "(0.61)".
_REMARK = re.compile(r"\s\([^()]{0,100}\)[\s|]*$")
_FRAME_LEFT, _FRAME_RIGHT = " \t|│┃║=*#~_•·>+-[({\"'\u2500\u2501\u2550", " \t|│┃║=*#~_+-])};,.!:\u2500\u2501\u2550"
# Arrows, pictures and branches of a tree; not the bars between the cells of a frame.
_PICTURES = re.compile("[\u2190-\u21ff\u2300-\u2501\u2504-\u2550\u2552-\u2bff\ufe0f\U0001f000-\U0001faff]+")
_VALUE = (
    r"(?:(?P<clock>(?:\d{1,4} days?, )?\d{1,4}(?::[0-5]\d){1,2}(?:\.\d{1,9})?"
    rf"|\d{{1,4}}(?:{SPELLED}))"
    r"|(?P<value>[-+]?(?:\d[\d,]{0,20}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][-+]?\d{1,3})?|[-+]?(?:nan|NaN|inf)(?!\w))"
    r"(?:(?:st|nd|rd|th) (?:step|iter|iteration|batch|update)(?!\w))?"
    r"(?:\s?(?:/|of)\s?(?P<total>\d[\d,]{0,15}))?(?:\s?(?P<unit>[A-Za-zµμ%][A-Za-zµμ%/ ]{0,24}))?)"
)
# Greek letters are names, too: "| ε: 0.05".
_NAME = r"(?P<name>[A-Za-zΑ-Ωα-ω_#][^:=|\t│┃\[\]]{0,60}?)"
_PAIR = re.compile(
    rf"{_NAME}[\"']?(?:[:=]|(?P<took>\stook)(?=\s)|\s->|\s-(?=\s)|(?<=ETA)(?=\s))\s?[\"']?{_VALUE}[\"']?"
)
# Two cells of a frame, or aligned by blanks.
_CELLS = re.compile(rf"{_NAME}:?(?:\s*[|│┃]\s*|\s{{2,40}}|\t)[\"']?{_VALUE}")
_COUNTED = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z_/ ]{0,40}?)(?: #|[ #]| ?\[\s{0,9})(?P<value>\d[\d,]{0,15})"
    r"(?:\s?(?:/|of)\s?(?P<total>\d[\d,]{0,15}))?(?:\s?\])?(?:\s|$)"
)
_AROUND_SIGN = re.compile(r"\s{0,40}(?<![:=])([:=])\s{1,60}")
# "-- 020 / 2297 --": a count of batches without a name, in a frame.
_FRAMED = re.compile(
    r"\s*(?:-{2,}|={2,}|\*{2,})\s*(?P<value>\d{1,9})\s?/\s?(?P<total>\d{1,9})\s*(?:-{2,}|={2,}|\*{2,})\s*"
)
# "100/1718 (batchs) completed!"
_DONE = re.compile(
    r"\W{0,9}(?P<value>\d{1,9})\s?(?:/|of)\s?(?P<total>\d{1,9})\s?\(?(?:batch(?:es|s)?|iterations|iters|steps)\)?"
    r"(?: (?:are |were )?(?:completed|done|finished|trained))?\W{0,9}"
)
# DeepSpeed-Chat's PPO: generation and training of one step, before their parts.
_END_TO_END = re.compile(r"[\s|]*(?:E2E latency=|End-to-End => Latency: )(?P<value>\d{1,9}\.\d{1,9})s\b")
_BETWEEN = re.compile(r"\s*(?:\|\|?|[;│┃]|,(?=[\sA-Za-z_])|\t|\s{2,})\s*|\s--?\s(?=[A-Za-z])")

_ONE_STEP = Key("time", v.OF_ONE_STEP, 0.0, "step", "step")
_OF_RUN = Key("time", v.TOTAL_TIME, 0.0, "clock")
# Of several counts the one that stands for the loop; steps of an environment are the last choice.
_OF_UPDATES, OF_ENVIRONMENT = v.STEPS + 1, v.STEPS + 2
_ALIASES: dict[str, Key] = {
    "timer": Key("time", v.ANY_TIME, 0.0, "stopwatch"),
    **dict.fromkeys(("time this iter", "time this iter s"), _ONE_STEP),
    **dict.fromkeys(("time total s", "time total", "total time", "time elapsed", "cum time", "cumtime"), _OF_RUN),
    **dict.fromkeys(("n updates", "nupdates"), Key("step", _OF_UPDATES, whole_run=True)),
    **dict.fromkeys(
        (
            *(
                "total timesteps",
                "timesteps total",
                "total env interacts",
                "total env steps",
                "num timesteps",
                "timesteps",
            ),
            *("serial timesteps", "total steps", "timesteps so far"),
        ),
        Key("step", OF_ENVIRONMENT, whole_run=True),
    ),
    **dict.fromkeys(("itr", "learning iteration"), Key("step", v.ITERATION)),
    # In a sentence it may be anything's; on a line of its own beside a count of batches it is what a program makes smaller.
    **dict.fromkeys(("error", "current error", "train error", "training error", "batch error"), Key("loss", v.COST)),
}
# Composer's folder of counts, "time/batch: 365"; it looks like a time per batch.
_COUNTS_OF_A_CLOCK = re.compile(r"\btime/(?:batch|sample|token|epoch|iteration)\b")
_OTHER_COUNTS = frozenset({"serial timesteps"})
# Folders of a logger that say nothing about what is in them.
_FOLDERS = v.word_set("misc time timing timings rollout train perf progress charts global info")
_BEFORE_A_COUNT = v.word_set("starting start begin beginning running now at current begin: training in")


def read(text: str) -> list[Reading]:
    """The pieces in ``text``, in order; none where anything else stands in it."""
    if len(text) > _LONGEST:
        return []
    if not text.isascii():
        text = _PICTURES.sub(" ", text)
    if framed := _FRAMED.fullmatch(text) or _DONE.fullmatch(text):
        value, total = count(framed["value"]), count(framed["total"])
        return [] if value is None else [Reading(FORMAT, None, total, clock_s=value, bar="batch" + _UNIT)]
    if "atency" in text and (whole := _END_TO_END.match(text)) is not None:
        return [Reading(FORMAT, None, None, clock_s=float(whole["value"]), bar=f"step time{_UNIT}s")]
    bare = text.rstrip(_FRAME_RIGHT + ")")
    if not bare or not ("0" <= bare[-1] <= "9" or bare[-1].isalpha() or bare[-1] in "%\"'"):
        return []
    bare = text.lstrip()
    if bare[0] in _HEADS and (head := HEAD.match(bare)):
        bare = bare[head.end() :]
    elif bare[0] == "-":
        bare = _TOLD_WHEN.sub("", bare, count=1)
    if ")" in bare[-4:]:
        bare = _REMARK.sub("", bare)
    bare = bare.lstrip(_FRAME_LEFT).rstrip(_FRAME_RIGHT)
    if not bare or _SENTENCE.search(bare):
        return []
    # "Step   425 of   469: ", in columns.
    if "  " in bare and (counts := _counts(" ".join(bare.split()))):
        return _pieces(counts)
    if match := _CELLS.fullmatch(bare):
        return _pieces([match])
    matches: list[re.Match[str]] = []
    for segment in _BETWEEN.split(_AROUND_SIGN.sub(r"\1 ", bare))[: _MOST_PAIRS + 1]:
        if match := _PAIR.fullmatch(segment.strip(" [](){}<>")):
            matches.append(match)
        elif counts := _counts(segment.strip(" [](){}<>")):
            matches += counts
        else:
            return []
    return _pieces(matches)


def _counts(segment: str) -> list[re.Match[str]]:
    """``Epoch 3 Step 100``, ``Learning iteration 5/1500``: nothing but counts of steps and epochs, without a sign between."""
    found, place = [], 0
    while place < len(segment):
        match = _COUNTED.match(segment, place)
        if match is None or (known := key(match["name"], "")) is None or known.what not in {"step", "epoch", "rank"}:
            return []
        found.append(match)
        place = match.end()
    return found


def _pieces(matches: list[re.Match[str]]) -> list[Reading]:
    found: list[Reading] = []
    what: list[str] = []
    for match in matches:
        said = match.groupdict()
        name, clock, unit = said["name"].strip(" \"'"), said.get("clock"), (said.get("unit") or "").strip()
        if clock:
            unit = CLOCK
        if said.get("took"):
            name += " time"  # "step took 0.5"
        known = key(name, unit)
        if known is None or known.what not in _KEPT:
            continue
        value = spelled_s(clock) if clock else number(said["value"])
        if value is None or (known.what == "step" and not (value == int(value) if abs(value) < 1e15 else False)):
            continue
        total = count((said["total"] or "").replace(",", ""))
        # The number, and what its last digit counts.
        tick = spelled_tick_s(clock) if clock else _tick(said["value"])
        found.append(Reading(FORMAT, None, total, clock_s=value, clock_tick_s=tick, bar=name + _UNIT + unit))
        what.append(known.what)
    # What stands beside the number of an epoch is told of the epoch.
    return [] if len(found) > 1 and "epoch" in what and "step" not in what else found


def _tick(text: str) -> float:
    """What the last printed digit counts, as far as it is 1 or more."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    tick = 10.0 ** (int(exponent or 0) - decimals) if len(exponent) < 4 else 0.0
    return tick if tick >= 1.0 else 0.0


def named(code: str) -> tuple[str, str]:
    """(name, unit) of a piece."""
    name, _, unit = code.partition(_UNIT)
    return name, unit


@lru_cache(maxsize=1024)
def counts_steps(code: str) -> bool:
    """Whether a piece is the count that numbers a block."""
    known = key(*named(code))
    return known is not None and known.what == "step"


@lru_cache(maxsize=4096)
def key(name: str, unit: str) -> Key | None:
    """What a number of this name and unit is; None for what tells nothing of a step."""
    if (
        _COUNTS_OF_A_CLOCK.search(name)
        or lookalikes.evaluates(name)
        or lookalikes.other_work(name)
        or lookalikes.other_moment(name)
    ):
        return None
    words = words_of(name)
    while len(words) > 1 and words[0] in _BEFORE_A_COUNT:
        words = words[1:]
    known = _ALIASES.get(" ".join(words)) or _ALIASES.get(" ".join(words[1:]) if words[:1] == ["train"] else "")
    known = known or key_of(name) or _behind_its_folder(name) or key_of(" ".join(words))
    if known is not None and known.what == "loss" and "/" in name:
        known = key_of(name.rpartition("/")[2]) or known  # "mean loss/overall_loss"
    if " ".join(words[-2:]) in _OTHER_COUNTS:
        return None
    if unit in {"", CLOCK}:
        return measured(known, None) if known is not None and known.what != "total" else known
    printed = unit_of(unit)
    if printed is None or (known is None and not v.SUB_TIMERS.isdisjoint(words)):
        return None
    found = measured(known, printed)
    # A name that is no time's may stand before anything: "download: 3 s".
    return found if known is not None or (found is not None and found.what in SPEEDS and found.what != "time") else None


def _behind_its_folder(name: str) -> Key | None:
    folder, _, rest = name.rpartition("/")
    if not rest or not _FOLDERS.issuperset(words_of(folder)):
        return None
    return _ALIASES.get(" ".join(words_of(rest))) or key_of(rest)
