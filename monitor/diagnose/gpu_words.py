"""What the charts of single GPUs show, in a sentence."""

from __future__ import annotations

from monitor.analyze.step_anatomy import StepAnatomy
from monitor.model import NodeStats
from monitor.words import percent

# GPUs nearer to one another than this are alike.
_ALIKE_POINTS = 5.0
_STILL_PCT = 20.0
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
    """``GPUs are busy throughout the step`` or ``GPUs stand still for 0.6 s of a step of 2.1 s``."""
    pieces = found.pieces
    still = pieces[pieces["mean_pct"] < _STILL_PCT]
    mean = float(pieces["mean_pct"].mean())
    if len(still) >= _FEWEST_STILL:
        lost_s = float((still["end_s"] - still["begin_s"]).sum())
        return f"GPUs stand still for {lost_s:.1f} s of a step of {found.step_s:.1f} s"
    low, high = float(pieces["mean_pct"].min()), float(pieces["mean_pct"].max())
    return f"GPUs are at {_range(low, high)} throughout the step, {percent(mean)} on average"


def _range(low: float, high: float) -> str:
    return percent(low) if round(low) == round(high) else f"{low:.0f} to {percent(high)}"
