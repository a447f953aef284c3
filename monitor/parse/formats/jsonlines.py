"""JSON objects with a step in them, one or several on a line, behind a logger's head or alone.

``{"type": "train", "rank": 0, "global_step": 7, "loss": 4.1, "step_time": 0.097, "tokens_per_sec": 9586.4}``: what a
key means and its unit are told by its name (``monitor.parse.fields.keys``), values may be numbers or texts ("0.51s", "7/120"),
NaN and Infinity included, groups such as ``{"step": 7, "train": {"loss": 4.1}}`` are looked into, and DLLogger's
``"step": [epoch, step]`` is understood. Objects of evaluations, checkpoints, settings and summaries give nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from monitor.parse.fields.keys import Key, key_of, measured, unit_of
from monitor.parse.fields.records import Entry, Form, Value, form, reading
from monitor.parse.fields.vocabulary import BARE, DURATIONS, word_set
from monitor.parse.numbers import process_number
from monitor.parse.rows import Reading

FORMATS = ("json",)
GENERIC = True
# The ends of the keys that may count steps, as json.dumps and most loggers set them.
_ENDS = word_set(
    "tep teps TEP iter iters Iter ITER ation ations ATION batch Batch pdate pdates idx Idx number Number num"
)
GATES = (*(f'{end}":' for end in sorted(_ENDS)), '"it":', 'max_steps":')

_OBJECTS = 64
_DEPTH = 3
# Groups that say nothing about what is in them; other names are a path, "train/loss".
_PLAIN_GROUPS = word_set("data payload fields values value extra metrics metadata record body event log")
# Keys whose text tells what kind of record this is. Names of jobs and runs are none: a job may be called "test".
_KINDS = word_set("type mode phase split stage event kind subset tag key section status action msg message prefix what")
# Of these the text names a set of data: "dev".
_SETS = word_set("split subset phase dataset")
_HELD_OUT = word_set("validation valid val eval dev")
_LONGEST_TEXT = 200
_TEXT = re.compile(
    r"\s*(?P<number>(?:\d{1,4} days?, )?\d{1,4}(?::\d\d){1,2}(?:\.\d+)?|(?:\d{1,3}h ?)?\d{1,4}m(?: ?\d{1,2}(?:\.\d+)?s)"
    r"|[-+]?\d[\d,]{0,20}(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|inf|Infinity))"
    r"(?:\s*/\s*(?P<total>\d{1,15}))?\s*(?P<unit>[^\d\s][^\d]{0,20})?"
)
# A key that is a mere unit; in a text it would be the unit of what stands before it.
_CLOCKS = word_set("s ms")
_FIGURES = re.compile(r"\d+(?:\.\d+)?")
# Before the object: "[rank 3] {…}", "rank=3 {…}".
_RANK = re.compile(r"(?i)(?<![\w.-])rank[ _:=-]{0,2}(?P<rank>\d{1,6})(?![\w.])")
_LONGEST_LABEL = 60
_DECODER = json.JSONDecoder()


def read(text: str) -> Iterator[Reading]:
    """A report for each object in ``text`` that is one, in order."""
    place = text.find("{")
    for _ in range(_OBJECTS):
        if place < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            names: list[str] = []
            values: list[Value] = []
            _flatten(found, "", names, values, _DEPTH)
            known = _form(tuple(names))
            if known is not None and (report := reading(known, values, FORMATS[0])) is not None:
                label = _RANK.search(text, max(0, place - _LONGEST_LABEL), place) if report.rank is None else None
                yield report._replace(rank=process_number(label["rank"])) if label else report
        place = text.find("{", end)


def _flatten(found: Mapping[str, object], path: str, names: list[str], values: list[Value], depth: int) -> None:
    """The numbers of an object, and the names of each; behind a NUL what stands beside a number: its unit, "of", a kind."""
    for key, value in found.items():
        if isinstance(value, float | int):
            if value is not True and value is not False:
                names.append(path + key)
                values.append(value)
        elif isinstance(value, str):
            if key.lower() in _KINDS or (key.lower() == "dataset" and value.lower() in _HELD_OUT):
                said = f"{value} set" if key.lower() in _SETS else value
                names.append(f"\0={_FIGURES.sub(_NUL, said[:_LONGEST_TEXT])}")
                values.append(None)
            elif len(value) < 48 and (match := _TEXT.fullmatch(value)):
                names.append(f"{path}{key}\0{match['unit']}" if match["unit"] else path + key)
                values.append(match["number"])
                if match["total"]:
                    names.append("\0of")
                    values.append(match["total"])
        elif isinstance(value, dict):
            if depth:
                _flatten(value, path if key.lower() in _PLAIN_GROUPS else f"{path}{key}/", names, values, depth - 1)
        elif isinstance(value, list) and 1 < len(value) < 4 and all(type(item) is int for item in value):
            # DLLogger's (epoch, step) and (epoch, steps done in it, step).
            names.extend((f"{path}epoch", path + key))
            values.extend((value[0], value[-1]))


_NUL = "\0"


@lru_cache(maxsize=1024)
def _form(names: tuple[str, ...]) -> Form | None:
    entries: list[Entry] = []
    said: list[str] = []
    for place, named in enumerate(names):
        name, _, beside = named.partition(_NUL)
        if beside.startswith("="):
            said.append(beside[1:].replace("_", " "))
        elif beside == "of":
            if entries and entries[-1].place == place - 1:
                entries[-1] = entries[-1]._replace(total=place)
        elif key := _key(name, beside):
            entries.append(Entry(place, key, name))
    if any("train_runtime" in name for name in names):
        return None
    return form(entries, " | ".join(said))


def _key(name: str, unit: str) -> Key | None:
    key = key_of(name)
    if key is None and name in _CLOCKS:
        key = Key("time", BARE, DURATIONS[name], "either")
    if not unit:
        return measured(key, None)
    known = unit_of(unit)
    return measured(key, known) if known is not None else None
