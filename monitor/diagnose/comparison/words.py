"""The wording of a comparison's result. The verdict in one sentence, why there is none, and what was predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from monitor.analyze.comparison import Range, StepTimeChange
from monitor.model import Came
from monitor.words import capitalised, count, percent, sentence, step_seconds

if TYPE_CHECKING:
    from monitor.diagnose.comparison.compare import PairComparison

_OF_INTEREST_PCT = (5.0, 2.0)
#: What the measured range beside a verdict is.
SURE = "The range is a 95 % interval."


def range_words(found: Range) -> str:
    """``-14.0 % (-15.2 to -12.7)``."""
    low, middle, high = found
    return f"{_signed(middle)} % ({_signed(low)} to {_signed(high)})"


def verdict_words(result: PairComparison, name: str, seconds: tuple[float | None, float | None]) -> str:
    """``B takes 14.0 % less time a step (12.7 to 15.2 %): 1.21 s, not 1.41 s.`` ``name`` is the second job's."""
    found = headline(result, name, seconds)
    # The reason says how many steps would do, too.
    return f"{found.answer}: {_within(found.body)}" if found.body else f"{found.answer}."


@dataclass(frozen=True, slots=True)
class Headline:
    """A verdict on two jobs in words."""

    answer: str
    """What it comes to: ``B takes 14.0 % less time a step (12.7 to 15.2 %)``."""
    body: str
    """What it rests on; empty where there is no more to say."""
    enough: str = ""
    """How many more steps would tell; empty where it is told, or none would."""

    @property
    def title(self) -> str:
        return f"{self.answer}: {self.enough}" if self.enough else self.answer


def headline(result: PairComparison, name: str, seconds: tuple[float | None, float | None]) -> Headline:
    """The verdict in a few words, and what it rests on."""
    if result.unlike is not None:
        return Headline("Not comparable", f"{result.unlike.why} {result.unlike.remedy}")
    found = result.judged_pct
    if result.verdict == "cannot tell" or found is None:
        enough = ""
        if result.change is not None and not result.is_of_one_job:
            more = result.change.more_steps(result.scale or 1.0)
            enough = f"{count(more, 'more step')} of each would be enough" if more else ""
        return Headline("Cannot tell", result.reason, enough)
    low, middle, high = found if result.verdict == "slower" else tuple(-each for each in reversed(found))
    before, after = (step_seconds(each) for each in seconds)
    more_or_less = "more" if result.verdict == "slower" else "less"
    interval = f"({low:.1f} to {high:.1f} %)"
    if result.work is None or result.work.unit is None:
        answer = f"{name} takes {middle:.1f} % {more_or_less} time a step {interval}"
        return Headline(answer, f"{after}, not {before}. {SURE}")
    kind = f"{result.work.unit}s"
    return Headline(
        f"{name} takes {middle:.1f} % {more_or_less} time for the same {kind} {interval}",
        f"Its steps have {result.work.ratio:.3g} x the {kind} and take {after}, not {before}. {SURE}",
    )


def work_words(result: PairComparison, name: str, samples: tuple[float | None, float | None]) -> str:
    """Whether the same work is compared; empty where it is not."""
    work = result.work
    if work is None or result.unlike is not None:
        return ""
    if work.assumed:
        return f"A step of {name} is assumed to do the same work as one of A, since nothing that affects it differs."
    if work.unit is None:
        size = f", {count(samples[0], 'sample')}" if samples[0] is not None and samples[0] == samples[1] else ""
        return f"A step of {name} does the same work as one of A{size}."
    return f"A step of {name} has {work.ratio:.3g} x the {work.unit}s of one of A."


def summary_words(against: Sequence[PairComparison], names: Sequence[str]) -> str:
    """Several verdicts in one sentence; the most that was gained, else the most that was lost, by name."""
    said = []
    for verdict, time in (("faster", "less"), ("slower", "more")):
        found = [
            (each.judged_pct, name)
            for each, name in zip(against, names, strict=True)
            if each.verdict == verdict and each.judged_pct is not None
        ]
        if not found:
            continue
        sign = -1 if verdict == "faster" else 1
        by, most = max((sign * pct[1], name) for pct, name in found)
        verb = "takes" if len(found) == 1 else "take"
        which = (
            f"{most} the {'least' if sign < 0 else 'most'} ({by:.1f} %)" if len(found) > 1 else f"{most}, by {by:.1f} %"
        )
        said.append(f"{len(found)} of {len(against)} {verb} {time} time than A: {which}")
    for answer, words in (("cannot tell", "too close to call"), ("not comparable", "not comparable")):
        if number := sum(each.answer == answer for each in against):
            said.append(f"{number} of {len(against)} {'is' if number == 1 else 'are'} {words}")
    return capitalised("; ".join(said))


def spread_words(times_s: Sequence[NDArray[np.float64] | None], names: Sequence[str]) -> str:
    """Which share of each job's times is below the first one's median; empty where there is nothing to compare."""
    first, *others = times_s
    known = [(name, each) for name, each in zip(names[1:], others, strict=True) if each is not None]
    if first is None or not known:
        return ""
    median = float(np.median(first))
    by_share: dict[str, list[str]] = {}
    for name, each in known:
        by_share.setdefault(percent(100 * float((each < median).mean())), []).append(name)
    shares = [f"{share} of the steps of {listed(of)}" for share, of in by_share.items()]
    return f"{'; '.join(shares)} take less than A's median, {step_seconds(median)}."


def cannot_tell(found: StepTimeChange, work_ratio: float) -> str:
    """Why an interval that holds 0 tells nothing, and what would help, as a sentence."""
    low, middle, high = found.percent(work_ratio)
    size = f"{found.steps[0]:,} and {count(found.steps[1], 'step')}"
    seen = f"The difference is somewhere between {_signed(low)} and {_signed(high)} % (95 % interval, {size})"
    more = found.more_steps(work_ratio)
    if more:
        return f"{seen}; {count(more, 'more step')} of each would be enough if it stays at {_signed(middle)} %."
    for size_pct in _OF_INTEREST_PCT:
        if found.smallest_percent > size_pct and (wanted := found.more_steps_for(size_pct)):
            return f"{seen}; {count(wanted, 'more step')} of each would show one of {size_pct:.0f} %."
    return f"{seen}, and two runs of one configuration differ by as much."


def prediction_words(result: PairComparison) -> list[str]:
    """Predicted beside measured, a sentence each; empty where nothing was predicted."""
    said, told = [], result.predicted
    for each in told.followed:
        gain = f", predicted {range_words(each.change_pct)}" if each.change_pct else ""
        said.append(
            f"Follows the advice of {each.finding}: {each.parameter} {each.from_value} → {each.to_value}{gain}."
        )
    if told.change_pct is None:
        if told.unknown:
            said.append(f"No prediction: {_few(told.unknown, '; ', 2)}.")
        return said
    said.append(beside_words(result))
    said.append(f"The prediction is model-based: {told.method}.")
    if told.beyond:
        said.append(f"It leaves out {_few(told.beyond, ', ', 6)}.")
    return said


def beside_words(result: PairComparison) -> str:
    """What was predicted beside what was measured, and what came of it; empty where nothing was predicted."""
    predicted, measured = result.predicted.change_pct, result.for_same_samples_pct
    if predicted is None:
        return ""
    beside = f"measured {range_words(measured)}" if measured is not None else "nothing comparable was measured"
    same = "" if result.work is None or result.work.samples == 1 else " for the same samples"
    came = came_words(result)
    promise = result.predicted.promise
    said = [f"Predicted step time{same} {range_words(predicted)}, {beside}.", *([sentence(came)] if came else [])]
    if promise and predicted[2] - predicted[0] >= 0.05:
        said.append(f"The predicted range {promise}.")
    return " ".join(said)


#: What came of a prediction, in a few words.
CAME: Mapping[Came, str] = {
    "held": "The prediction held",
    "missed": "The prediction missed",
    "inconclusive": "Inconclusive",
    "too wide to test": "Too wide to test",
}


def came_words(result: PairComparison) -> str:
    """What came of a prediction, and why; empty where that cannot be said."""
    predicted = result.predicted.change_pct
    if result.came is None or predicted is None:
        return ""
    why = {
        "held": "",
        "missed": ": the ranges do not touch",
        "inconclusive": ": the ranges overlap",
        "too wide to test": f": any change from {_signed(predicted[0])} to {_signed(predicted[2])} % would fit",
    }
    return f"{CAME[result.came]}{why[result.came]}"


def listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _within(text: str) -> str:
    """A sentence behind a colon; a job's letter stays as it is."""
    return text if text[1:2] in {" ", "'"} else f"{text[:1].lower()}{text[1:]}"


def _few(words: Sequence[str], between: str, most: int) -> str:
    left = f", and {len(words) - most} more" if len(words) > most else ""
    return f"{between.join(words[:most])}{left}"


def _signed(value: float) -> str:
    return f"{value:+.1f}" if abs(value) < 99.95 else f"{value:+,.0f}"
