"""How the steps of a job were read, in words: what a time rests on, the line that shows it, and what the clock corrected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.model import ReadLine, StepReading
from monitor.words import count, sentence, step_seconds

#: What a time of each kind is, as it stands behind "step times are".
HOW = {
    "step": "printed for each step",
    "interval": "printed means of the steps between two reports",
    "smoothed": "a progress bar's rate, a moving average",
    "running-mean": "printed means since the start",
    "cumulative": "differences of an elapsed time that the lines print",
    "redraws": "what passed between the redraws of a progress bar",
    "aggregated": "medians over a minute or more",
    "line-clock": "the time between lines, by their own clock",
    "shared": "what an epoch or the whole training took, by another line, over its steps",
}
# The same behind a time, or a job's name, in a few words; and in a word or two, for a narrow table.
_BRIEF = {
    "smoothed": "a progress bar's rate",
    "running-mean": "means since the start",
    "cumulative": "differences of an elapsed time",
    "redraws": "between a progress bar's redraws",
    "aggregated": "medians over a minute or more",
    "shared": "an epoch's time over its steps",
}
_SHORT = {
    "line-clock": "lines' clock",
    "smoothed": "bar's rate",
    "running-mean": "running mean",
    "cumulative": "elapsed time",
    "redraws": "bar's redraws",
    "aggregated": "medians",
    "shared": "epoch's time",
}
BY_CLOCK = "by the lines' clock"
AS_PRINTED = "as printed"
_ANEW = {
    "interval": "an interval's sum",
    "accumulation": "one micro-batch's time",
    "writers": "a counter of several writers",
}
_OF_UNIT = {1e-9: "nanoseconds", 1e-6: "microseconds", 1e-3: "milliseconds", 60.0: "minutes", 3600.0: "hours"}
# What is printed and what passes between lines are worth a word from here on.
_OUTSIDE = 1.5
# The format of lines that no reader knew.
_LEARNED = "learned"
# That of the Hugging Face Trainer's losses, which bear no time.
_LOSSES, _OF_RUN = "hf-trainer", "the mean of the whole run, as the trainer prints it at its end"
_PIECES = "block"
_BAR = "tqdm"
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Way:
    """How the step times of a job were come by."""

    kind: str = ""
    """The kind of most reports, as ``HOW`` has them; empty where there is none."""
    resolution: str = ""
    """``(± 0.05 s)`` behind what the clock gives, where that is known."""
    against_printed: bool = False
    """The lines print times, too, and their clock is believed."""
    anew: str = ""
    """What a printed figure turned out to be by the clock of the lines: ``milliseconds``; empty where it is what it says."""
    learned: bool = False
    """The lines are of a format that was learned from this log."""

    @property
    def essence(self) -> str:
        """The way alone, without a clock's resolution and how its lines were read; empty where times are simply printed."""
        if self.kind == "line-clock":
            return f"{BY_CLOCK}{', against what is printed' if self.against_printed else ''}"
        return f"read anew {BY_CLOCK}: {self.anew}" if self.anew else _BRIEF.get(self.kind, "")

    @property
    def words(self) -> str:
        """In a few words, for beside a time: ``by the lines' clock (± 0.05 s)``; empty where it is simply printed."""
        essence = self.essence
        if self.kind == "line-clock":
            essence = f"{BY_CLOCK}{self.resolution}{', against what is printed' if self.against_printed else ''}"
        return ", ".join(filter(None, (essence, "learned from this log" if self.learned else "")))

    @property
    def short(self) -> str:
        """In a word or two: ``lines' clock``."""
        return "read anew" if self.anew else _SHORT.get(self.kind, "printed")


def how_words(readings: Sequence[StepReading]) -> str:
    """What the step times of a job are: ``the time between lines, by their own clock (± 0.05 s)``; empty where it has none."""
    main = _main(readings)
    if main is None:
        return ""
    return (_OF_RUN if _is_of_run(main) else HOW.get(_how(main), main.kind)) + _resolution(main)


def way_of(readings: Sequence[StepReading]) -> Way:
    """How most step times of a job were come by."""
    main = _main(readings)
    if main is None:
        return Way()
    clock = main.kind == "line-clock"
    anew = _OF_UNIT.get(main.factor, "another unit") if main.cause == "unit" else _ANEW.get(main.cause, "")
    learned = bool(main.shape) or main.format == _LEARNED
    return Way(_how(main), _resolution(main), clock and main.cause == "clock", "" if clock else anew, learned)


def came_by(readings: Sequence[StepReading]) -> str:
    """The same in a few words, for beside a time; empty where it is simply printed."""
    return way_of(readings).words


def counts_pauses(readings: Sequence[StepReading]) -> bool:
    """Whether a time has all in it that passes between two reports, also what a program leaves out of a printed time."""
    main = _main(readings)
    return main is not None and _how(main) in {"line-clock", "cumulative", "redraws", "shared"}


def otherwise(name: str, first: Sequence[StepReading], other: Sequence[StepReading], by_clock: bool) -> str:
    """That the step times of A and ``name`` were come by differently, and what that means; empty where they were not.
    ``by_clock``: both are compared by the clock of their lines."""
    if _main(first) is None or _main(other) is None:
        return ""
    ways = [way_of(readings) for readings in (first, other)]
    if ways[0].essence == ways[1].essence:
        return ""
    said = f"A's step times are {ways[0].words or AS_PRINTED}, {name}'s {ways[1].words or AS_PRINTED}"
    if by_clock:
        return (
            f"{said}: here both are {BY_CLOCK}, which counts all that passes between two lines, such as loading data."
        )
    whole = [counts_pauses(readings) for readings in (first, other)]
    if whole[0] == whole[1]:
        return f"{said}."
    more, less = ("A", name) if whole[0] else (name, "A")
    return (
        f"{said}: those of {more} count all that passes between two reports, those of {less} may leave some of it out."
    )


def reading_words(readings: Sequence[StepReading]) -> tuple[str, ...]:
    """One sentence about how most steps were read, with a line that shows it; then one about each correction."""
    main = _main(readings)
    said = []
    if main is not None:
        said.append(sentence(f"Step times are {how_words(readings)}{_shown(main)}"))
    return (*said, *corrections(readings))


def corrections(readings: Sequence[StepReading]) -> tuple[str, ...]:
    """What the clock of the lines says against what is printed, with both."""
    return tuple(text for reading in readings if (text := _correction(reading)))


def explained(reading: StepReading) -> tuple[str, ...]:
    """The first lines of a format, each with how every figure of it was come by."""
    named = f"{reading.format}: {count(reading.reports, 'report')}"
    learned = [f"  learned from this log: {reading.shape}"] if reading.shape else []
    said = [named, *learned, *(f"  {text}" for text in corrections([reading]))]
    for line in reading.lines:
        said += [
            f"  {_line_position(line)}{_around(reading)}: {line.text}",
            *(f"    {part}" for part in _figures(line, reading)),
        ]
    return tuple(said)


def _main(readings: Sequence[StepReading]) -> StepReading | None:
    """The format of most reports, of those that have times."""
    timed = (each for each in readings if each.cause != "untold")
    return next((each for each in timed if each.printed_s is not None or each.clock_s is not None), None)


def _how(reading: StepReading) -> str:
    """The kind of its times, or that they are shared or a bar's: each as ``HOW`` has them."""
    return "shared" if reading.cause == "shared" else "redraws" if _of_redraws(reading.kind, reading) else reading.kind


def _of_redraws(kind: str, reading: StepReading) -> bool:
    return kind == "cumulative" and reading.format == _BAR


def _is_of_run(reading: StepReading) -> bool:
    return reading.kind == "running-mean" and reading.format == _LOSSES


def _resolution(reading: StepReading) -> str:
    found = reading.resolution_s
    return f" (± {step_seconds(found)})" if reading.kind == "line-clock" and found else ""


def _shown(reading: StepReading) -> str:
    # The first steps are slower than others.
    line = next((line for line in reversed(reading.lines) if line.step_time_s is not None), None)
    if line is None:
        return f", read as {reading.format}"
    text = line.text if len(line.text) <= _LONGEST else f"{line.text[:_LONGEST]}…"
    step = "" if line.step is None else f"step {line.step:,}, "
    return f": {step}{step_seconds(line.step_time_s)} from “{text}”{_around(reading)}"


def _correction(reading: StepReading) -> str:
    if reading.cause == "untold" and reading.printed_s is not None:
        return (
            f"The log prints {step_seconds(reading.printed_s)} beside a step ({reading.format}), and nothing tells whether that "
            "is one step's time or that of all steps since the report before: no step time is shown."
        )
    if reading.printed_s is None or reading.clock_s is None:
        return ""
    printed, clock = step_seconds(reading.printed_s), step_seconds(reading.clock_s)
    if reading.cause == "interval":
        return (
            f"The log prints {printed} ({reading.format}). By the clock of its lines that is the sum over "
            f"{1 / reading.factor:,.0f} steps: one takes {clock}."
        )
    if reading.cause == "unit":
        unit = _OF_UNIT.get(reading.factor, "")
        said = f"is in {unit}" if unit else f"is {1 / reading.factor:g} times too large"
        number = f"{reading.printed_s:,.4g}"
        return (
            f"The log prints {number} ({reading.format}). By the clock of its lines that {said}: a step takes {clock}."
        )
    if reading.cause == "accumulation":
        return (
            f"The log prints {printed} ({reading.format}). By the clock of its lines that is one of {reading.factor:,.0f} "
            f"micro-batches: a step takes {clock}."
        )
    if reading.cause == "writers":
        return (
            f"The log prints {printed} ({reading.format}). By the clock of its lines {1 / reading.factor:,.0f} writers share "
            f"the counter: one of its steps takes {clock}."
        )
    if reading.cause == "clock":
        return (
            f"The log prints {printed} a step ({reading.format}), but its lines are {clock} a step apart: the clock of the "
            "lines is used."
        )
    if reading.kind != "line-clock" and reading.clock_s > _OUTSIDE * reading.printed_s:
        outside = 1 - reading.printed_s / reading.clock_s
        return (
            f"The log prints {printed} a step ({reading.format}), and its lines are {clock} a step apart: {outside:.0%} of the "
            "time passes outside what is printed, as in evaluations, checkpoints or loading."
        )
    return ""


def _around(reading: StepReading) -> str:
    """Of a report that is told in pieces the line that counts is shown."""
    return " and the lines around it" if reading.format == _PIECES else ""


def _line_position(line: ReadLine) -> str:
    return f"line {line.line:,}" if line.line > 0 else "a line"


def _figures(line: ReadLine, reading: StepReading) -> list[str]:
    said = []
    if line.step is not None:
        since = f", {count(line.steps_since, 'step')} after the report before it" if line.steps_since else ""
        said.append(
            f"step {line.step:,}: {'as printed' if line.step_printed else 'counted from what the line prints'}{since}"
        )
    if line.step_time_s is not None:
        said.append(f"step time {step_seconds(line.step_time_s)}: {_came(line, reading)}")
    elif line.kind == "line-clock":
        said.append("no step time: no report of this writer stands before it")
    if line.throughput is not None:
        said.append(f"throughput {line.throughput:,.4g} {line.throughput_unit}".rstrip() + ": as printed")
    if line.loss is not None:
        said.append(f"loss {line.loss:.5g}: as printed")
    return said


def _came(line: ReadLine, reading: StepReading) -> str:
    between = f" over the {line.steps_since:,} steps between" if (line.steps_since or 0) > 1 else ""
    if line.kind == "line-clock":
        clock = f"from the time between this line and the report before it{between}{_resolution(reading)}"
        return f"{clock}; an evaluation between them whose begin the log tells is left out"
    if reading.cause in {"interval", "unit", "accumulation", "writers"}:
        return f"{step_seconds(line.step_time_s and line.step_time_s / reading.factor)} as printed, times {reading.factor:g}"
    if _is_of_run(reading):
        return _OF_RUN
    if reading.cause == "shared":
        return HOW["shared"]
    if _of_redraws(line.kind, reading):
        return f"from what the bar shows at this redraw and at the one before it{between}"
    if line.kind == "cumulative" and not line.steps_since:
        return "from the elapsed time that this line prints, over its steps"
    return {
        "step": "as printed, or one over the printed rate",
        "interval": f"as printed, a mean{between or ' of several steps'}",
        "smoothed": f"{'one' if line.step_printed else 'the samples of a batch'} over the bar's rate, a moving average",
        "running-mean": "as printed, a mean since the start",
        "cumulative": f"from the elapsed time that this line and the report before it print{between}",
        "aggregated": "a median over a minute or more",
    }.get(line.kind, line.kind)
