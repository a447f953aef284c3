"""A plan drawn with letters: bars of memory, bars of a curve, and the pipeline's schedule."""

from __future__ import annotations

from monitor.predict.outcome import schedule_of
from monitor.predict.pipeline import Schedule
from monitor.predict.setup import Setup

_EIGHTHS = " ▏▎▍▌▋▊▉█"
#: Stages beyond these are not drawn.
MOST_STAGES = 16
WAITING = "·"
_FORWARDS, _BACKWARDS = "1234567890", "abcdefghij"


def bar(share: float, width: int) -> str:
    """A bar of ``share`` of ``width``, to an eighth of a letter; what is more than nothing has one."""
    eighths = max(0, min(8 * width, round(8 * width * share)))
    if not eighths and share > 0:
        eighths = 1
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def lanes(setup: Setup, width: int) -> list[str]:
    """A line a stage, in time: a digit is the forward of a microbatch (its number's last), a letter its backward (a that of
    1). What does not fit ends in an ellipsis. Empty without a pipeline, or where it is not known or too large."""
    found = schedule_of(setup)
    if found is None or not 1 < found.stages <= MOST_STAGES:
        return []
    unit_s = min(work.end_s - work.start_s for work in found.work)
    return [_cut(lane, width) for lane in _lanes(found, unit_s, width)]


def _lanes(schedule: Schedule, unit_s: float, width: int) -> list[str]:
    cells = min(round(schedule.seconds / unit_s), width + 1)
    drawn = [[WAITING] * cells for _ in range(schedule.stages)]
    for work in schedule.work:
        first, last = round(work.start_s / unit_s), round(work.end_s / unit_s)
        if last > cells:
            continue
        sign = (_FORWARDS if work.kind == "forward" else _BACKWARDS)[work.microbatch % 10]
        drawn[work.stage][first:last] = [sign] * (last - first)
    return ["".join(lane) for lane in drawn]


def _cut(lane: str, width: int) -> str:
    return lane if len(lane) <= width else f"{lane[: width - 1]}…"
