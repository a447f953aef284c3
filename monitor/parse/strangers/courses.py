"""How a number runs from line to line: as a counter does, as a figure that training watches, or as the clock itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.parse.columns import Floats
from monitor.parse.numbers import MOST_DIGITS
from monitor.parse.strangers import words as w

#: So many different counts one writer must have reported: of a named counter beside a loss, of a number without a name or of
#: lines that nothing counts, of a counter where the words alone say training.
FEWEST, FEWEST_UNNAMED, FEWEST_UNWATCHED = 5, 8, 20
#: The share of a growth that is nearly always the same.
NEARLY_ALWAYS = 0.9
# The share of the usual growth among all, and of the three most usual ones.
_MOSTLY = 0.6
# A counter begins again once an epoch, of which a few reports are printed at least.
_FALLS, _FALLS_UNNAMED = 0.34, 0.1
# So often one count may be told.
_MOST_AGAIN, _MOST_AGAIN_UNNAMED = 64, 2
# Where something is told of some steps only, the gaps are no longer than so many usual or middle ones; the count begins again
# with another start alone.
_MOST_GROWTH, _SELDOM = 20, 0.001
# What goes up and down does so at least so often.
_TURNS = 0.25
# So many different values has no figure that stands still.
_SURELY_MOVES = 10
# A warm-up may double the learning rate from its first report to the second.
_MOST_OF_SCHEDULE = 2.0
# A clock goes as fast as that of its lines, but for what they wait to be written.
_SLOW_CLOCK = 0.1
# Lines of steps share a moment with few others, and do not come sooner.
_FEWEST_MOMENTS, _SOONEST_MS = 0.15, 2.0


class Course(NamedTuple):
    """How a counter runs in the lines of one writer."""

    distinct: int
    """Different counts, those of each start for themselves."""
    lines: int
    falls: int
    """How often it began again without a new epoch."""
    mostly: float
    """The share of the most usual growth."""
    nearly: float
    """That of the three most usual ones."""
    growth: float
    """The most usual growth."""
    middle: float
    """The median growth where it goes up and down, as games are longer and shorter, of whose lengths none is usual; else 0."""
    most: float
    """No more than that, but for one time in twenty."""


def course_of(counts: Floats, epochs: Floats) -> Course | None:
    """The course of the counter in these lines; None where it is no count at all, or stands still."""
    known = ~np.isnan(counts)
    if known.mean() < NEARLY_ALWAYS:
        return None
    values, epochs = counts[known], epochs[known]
    if (values < 0).any() or (values != np.floor(values)).any() or values.max() >= 10**MOST_DIGITS:
        return None
    rises = np.diff(values)
    grown = rises[rises > 0]
    if not len(grown):
        return None
    growths, often = np.unique(grown, return_counts=True)
    usual = np.sort(often)[::-1]
    begun = rises < 0
    segment = np.cumsum(np.append(0, begun))
    return Course(
        len(np.unique(np.stack([segment, values]), axis=1).T),
        len(values),
        int((begun & ~(np.diff(epochs) > 0)).sum()),
        float(usual[0] / len(grown)),
        float(usual[:3].sum() / len(grown)),
        float(growths[often.argmax()]),
        float(np.median(grown)) if _fluctuates(grown) else 0.0,
        float(np.quantile(grown, 0.95)),
    )


def _fluctuates(grown: Floats) -> bool:
    more = np.diff(grown)
    more = more[more != 0]
    return len(more) > 1 and float((more[1:] * more[:-1] < 0).mean()) >= _TURNS


def is_regular(course: Course, order: int, of_total: bool = False) -> bool:
    """Whether a counter of this order (``strangers.words``) runs as one does; ``of_total`` one that its line says the end of."""
    # Lines of an epoch each are told of its batches; processes without a label print the same each.
    if course.lines > (_MOST_AGAIN if order <= w.SAMPLES else _MOST_AGAIN_UNNAMED) * course.distinct:
        return False
    often = order == w.STEP and course.distinct >= FEWEST_UNWATCHED
    if (
        often
        and course.falls <= _SELDOM * course.distinct
        and course.most <= _MOST_GROWTH * max(course.growth, course.middle)
    ):
        return True  # of some steps only something is told
    most_falls = (_FALLS if of_total or order != w.UNNAMED else _FALLS_UNNAMED) * course.distinct
    return course.falls <= most_falls and course.mostly >= _MOSTLY and course.nearly >= NEARLY_ALWAYS


def moves(values: Floats) -> bool:
    """Whether it is a figure that changes, and no second counter."""
    values = values[np.isfinite(values)]
    different = len(np.unique(values))
    # Rewards of games are whole and few.
    if different < max(3, min(0.1 * len(values), _SURELY_MOVES)):
        return False
    rises = np.diff(values)
    return not ((values == np.floor(values)).all() and ((rises >= 0).all() or (rises <= 0).all()))


def is_scheduled(rates: Floats) -> bool:
    """Whether learning rates go from each report to the next by little, as a schedule has them, and not as trials do."""
    known = rates[rates > 0]
    return len(known) > 1 and float(np.median(np.abs(np.diff(np.log(known))))) <= np.log(_MOST_OF_SCHEDULE)


def goes_on(time_ms: Floats) -> bool:
    """Whether lines come one after the other as steps do, and not all at once as those of a table."""
    known = time_ms[~np.isnan(time_ms)]
    moments = len(np.unique(known))
    if moments < max(FEWEST_UNWATCHED, _FEWEST_MOMENTS * len(time_ms)):
        return False
    return bool(known.max() - known.min() >= _SOONEST_MS * len(known))


def is_clock(time_ms: Floats, counts: Floats, growth: float) -> bool:
    """Whether a number without a name grows as the time of its lines does, several at a time: then it is one."""
    if np.isnan(time_ms).any() or growth < 2:
        return False
    passed_s, grown = np.diff(time_ms) / 1e3, np.diff(counts)
    up = grown > 0
    alike = abs(passed_s[up].sum() - grown[up].sum()) <= _SLOW_CLOCK * grown[up].sum()
    return bool(alike and (np.abs(passed_s - grown) <= 1.0).mean() > NEARLY_ALWAYS)
