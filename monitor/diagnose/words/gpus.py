"""What the charts of single GPUs show, in a sentence."""

from __future__ import annotations

from monitor.analyze.step_anatomy import StepAnatomy
from monitor.model import NodeStats
from monitor.words import percent

# GPUs nearer to one another than this are alike.
_ALIKE_POINTS = 5.0
_STILL_PCT = 20.0
_LOW_SHARE = 0.6
# A tenth of a step; less may be chance.
_FEWEST_STILL = 2


def gpus_said(stats: NodeStats) -> str:
    """``GPU 5 of algo-2 is least busy, 48 %; the others 92 to 95 %``."""
    node = stats.node.name
    busy = {gpu.gpu: gpu.utilization.mean for gpu in stats.gpus if gpu.utilization is not None}
    if not busy:
        return f"How busy the GPUs of {node} are was not sampled"
    least, most = min(busy, key=lambda gpu: busy[gpu]), max(busy, key=lambda gpu: busy[gpu])
    low, high = busy[least], busy[most]
    if len(busy) == 1:
        return f"The GPU of {node} is {percent(low)} busy"
    if high - low < _ALIKE_POINTS:
        return f"All {len(busy)} GPUs of {node} are about as busy: {_range(low, high)}"
    middle = sorted(busy.values())[len(busy) // 2]
    odd, which = (least, "least") if middle - low >= high - middle else (most, "busiest")
    others = [value for gpu, value in busy.items() if gpu != odd]
    word = "least busy" if which == "least" else "busiest"
    return f"GPU {odd} of {node} is {word}, {percent(busy[odd])}; the others {_range(min(others), max(others))}"


def anatomy_said(found: StepAnatomy) -> str:
    """``GPUs are at 93 to 96 % throughout the step``, ``GPUs fall to 20 % for 0.4 s of a step of 3.0 s, else 84 %`` or ``GPUs
    stand still for 0.6 s of a step of 2.1 s``."""
    busy = found.pieces["mean_pct"]
    length_s = found.pieces["end_s"] - found.pieces["begin_s"]
    of_step = f"of a step of {found.step_s:.1f} s"
    still = busy < _STILL_PCT
    if still.sum() >= _FEWEST_STILL:
        return f"GPUs stand still for {length_s[still].sum():.1f} s {of_step}"
    low = busy < _LOW_SHARE * busy.median()
    if low.sum() >= _FEWEST_STILL:
        fall = f"GPUs fall to {percent(busy[low].mean())} for {length_s[low].sum():.1f} s {of_step}"
        return f"{fall}, else {percent(busy[~low].mean())}"
    return f"GPUs are at {_range(busy.min(), busy.max())} throughout the step, {percent(busy.mean())} on average"


def _range(low: float, high: float) -> str:
    return percent(low) if round(low) == round(high) else f"{low:.0f} to {percent(high)}"
