"""Reads the figures out of what people are shown: tiles, rows, sentences and tables, whatever page or text they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

#: name of a figure -> value as it is written -> where it was read.
Figures = dict[str, dict[str, list[str]]]

_PERCENT = r"-?[\d.,]+ %"
_MONEY = r"(?:≤ |at most )?(?:\$\d+(?:,\d{3})*(?:\.\d+)?|under \$0\.001)"
_TIME = r"(?:\d+ d(?: \d+ h)?|\d+ h(?: \d+ min)?|\d+ min|[\d.,]+ s)"
_STEP = r"[\d.,]+ (?:ms|s)"
# A change, a prediction or a part of something is no figure of the job.
_NO_CHANGE = r"(?! (?:→|to (?:about|at)|of |or more))"
_PHASES = (
    "pending|starting|download|image pull|initialization|training|slow steps, beyond the usual|evaluation|checkpoints|"
    "stalled|work done again|interrupted|upload|after the last step|training, no steps seen"
)

#: (name, pattern with one group). A name may have a group of its own.
_SENTENCES: tuple[tuple[str, str], ...] = (
    *(
        (
            name,
            rf"(?<!peak )(?<!p95 )\b{name} ({_PERCENT})(?! on average|\w| (?:→|to |more|or ))(?! on \w+ nodes on average)",
        )
        for name in ("GPU", "GPU memory", "CPU", "Memory")
    ),
    ("GPU p5", rf"\bGPU {_PERCENT} \(p5 ([\d.]+)"),
    ("GPU p95", rf"\bGPU {_PERCENT} \(p5 [\d.]+, p95 ([\d.]+)"),
    ("peak GPU memory", rf"\bpeak GPU memory (?:≥ )?({_PERCENT}) (?:→|to )"),
    ("step time", rf"\b[Ss]tep time ({_STEP}){_NO_CHANGE}"),
    ("step time", rf"\bA step takes ({_STEP}) \("),
    ("step time p10", rf"\b(?:[Ss]tep time|A step takes) {_STEP} \(p10 ({_STEP})"),
    ("step time p90", rf"\b(?:[Ss]tep time|A step takes) {_STEP} \(p10 {_STEP}, p90 ({_STEP})"),
    ("duration", rf"\bstarted [^·\n]+ · ({_TIME})(?= ·|$)"),
    ("billed time", rf"\b(?:of|end,|now,) ({_TIME}) billed"),
    ("cost", rf"\bCost ({_MONEY})"),
    ("cost", rf" · ({_MONEY})(?: so far)?$"),
    ("cost", rf" billed: ({_MONEY})\."),
    ("overhead", rf"\boverhead ({_MONEY})"),
    ("recoverable", rf"\b[Rr]ecoverable ({_MONEY}(?: an hour|/h)?)"),
    ("goodput", rf"\bGoodput ({_PERCENT})"),
    ("steps done", r"\b([\d,]+ of [\d,]+) steps\b"),
    ("steps done", r"^step ([\d,]+ of [\d,]+)$"),
    ("reports", r"^([\d,]+) reports? of [\d,]+ steps?"),
    ("slow node", r"\b([\d.]+) x (?:its peers' step time|the median of its peers)"),
    ("idle stretch", rf"\bGPUs idle for ({_TIME})"),
    ("predicted step time", r"\b[Ss]tep time (?:about )?([+-]\d+ %)"),
)
_PHASE = re.compile(rf"\b({_PHASES}) ({_TIME})(?: \(({_MONEY})\))?(?= ·|\.|$)", re.IGNORECASE | re.MULTILINE)
_ROW = re.compile(
    rf"^\|? ?({_PHASES})(?:\s\s+| \| )({_TIME})(?:\s\s+| \| )[\d.]+ %(?:\s\s+| \| )(?:yes|no)(?:\s+| \| )({_MONEY}|–)",
    re.IGNORECASE | re.MULTILINE,
)
_TILES = {
    "Step time, median": "step time",
    "Duration": "duration",
    "Ran for": "duration",
    "GPU over time": "GPU",
    "Cost": "cost",
    "Goodput": "goodput",
    "Recoverable": "recoverable",
    "Step time": "step time",
}


def of_text(text: str) -> Iterator[tuple[str, str]]:
    """The figures of sentences and tables: (name, value)."""
    plain = re.sub(r"[*`\\]", "", text)
    for name, pattern in _SENTENCES:
        for found in re.finditer(pattern, plain, re.MULTILINE):
            yield name, _same(found[1])
    for pattern in (_PHASE, _ROW):
        for phase, time, money in pattern.findall(plain):
            yield f"{phase.lower()}, time", time
            if money and money not in {DASH, "$0"}:
                yield f"{phase.lower()}, cost", money


def of_tiles(tiles: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """The figures of tiles or of cells of a row: each a label, a value and the words beside it."""
    for label, value, beside in tiles:
        name = _TILES.get(label, label)
        if value and value != DASH:
            yield name, _same(value)
        for spread, number in re.findall(rf"\b(p5|p10|p90|p95) ({_PERCENT}|{_STEP})", beside):
            yield f"{name} {spread}", number.removesuffix(" %") if number.endswith(" %") else number
        yield from of_text(beside)


def together(read: Mapping[str, Iterable[tuple[str, str]]]) -> Figures:
    """All figures, by name and value; ``read`` are those of each place."""
    out: Figures = {}
    for place, figures in read.items():
        for name, value in figures:
            places = out.setdefault(name, {}).setdefault(value, [])
            if place not in places:
                places.append(place)
    return out


def disagreements(figures: Figures) -> list[str]:
    """``GPU: 46 % (tiles), 47 % (text)`` for each name with more than one value."""
    return [
        f"{name}: {', '.join(f'{value} ({chr(38).join(places)})' for value, places in values.items())}"
        for name, values in sorted(figures.items())
        if len(values) > 1
    ]


DASH = "–"


def _same(value: str) -> str:
    return value.split(" ±")[0].replace("/h", " an hour").replace("at most ", "≤ ").strip()
