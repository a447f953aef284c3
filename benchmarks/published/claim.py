"""What came of holding a prediction against measurements? A value a claim, with what was fitted apart from what was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from monitor.predict.spread import FEWEST, PROMISED, Coverage


@dataclass(frozen=True, slots=True)
class Claim:
    """``fitted`` and ``held_out`` hold errors in percent. ``passed`` is None where no line is drawn."""

    name: str
    fitted_on: str
    fitted: tuple[float, ...]
    held_out: tuple[float, ...]
    line: str
    passed: bool | None
    result: str = ""
    """What was found, where it is no error; then ``looked_at`` says on how many rows."""
    looked_at: int = 0

    def cells(self) -> tuple[str, ...]:
        """claim, fitted on, rows and mean and max error of the fitted, the same of the others, pass line, result."""
        if self.result:
            held: tuple[str, ...] = (str(self.looked_at), self.result, "")
        else:
            held = _errors(self.held_out)
        verdict = {True: "pass", False: "FAIL", None: "no line"}[self.passed]
        return (self.name, self.fitted_on, *_errors(self.fitted), *held, self.line, verdict)


def promised(coverage: Coverage) -> str:
    """What a range promises that held so many pairs, as the page has it."""
    if coverage.promise == "few":
        return "no share: too few"
    return f"{PROMISED} of 10, within its only source" if coverage.sources == 1 else f"{PROMISED} of 10"


def share_line(inside: int, pairs: int) -> tuple[str, bool | None]:
    """The pass line of a range, and whether it is met: what is promised; of too few pairs nothing is."""
    if pairs < FEWEST:
        return "none", None
    return f">= {PROMISED / 10:.0%}", 10 * inside >= PROMISED * pairs


def held_words(coverage: Coverage, groups: int, of: str = "setups") -> str:
    """``21 of 21, 2 sources``, or of one source how many setups it has."""
    return f"{coverage.held} of {coverage.pairs}, {groups} {of if coverage.sources == 1 else 'sources'}"


HEADER = ("claim", "constants fitted on", "rows", "mean", "max", "other rows", "mean", "max", "pass line", "result")


def off_pct(predicted: float, measured: float) -> float:
    """By how many percent a prediction misses what was measured; above 0 where it is too high."""
    return 100 * (predicted / measured - 1)


def within(errors: Sequence[float], most: float, on_average: float | None = None) -> bool:
    """Whether there are errors, and none is above ``most`` percent nor their mean above ``on_average``."""
    sizes = [abs(error) for error in errors]
    return bool(sizes) and max(sizes) <= most and (on_average is None or mean(sizes) <= on_average)


def _errors(errors: Sequence[float]) -> tuple[str, str, str]:
    if not errors:
        return "", "", ""
    sizes = [abs(error) for error in errors]
    digits = 4 if max(sizes) < 0.01 else 1
    return str(len(sizes)), f"{mean(sizes):.{digits}f} %", f"{max(sizes):.{digits}f} %"
