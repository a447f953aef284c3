"""The sentences above the charts of single GPUs: what a step's anatomy shows, in one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monitor.analyze.stalls import PIECES, StepAnatomy
from monitor.diagnose.words.charts import anatomy_sentence


@pytest.mark.parametrize(
    ("low_pct", "low_pieces", "said"),
    [
        (90, 0, "GPUs are at 90 % throughout the step, 90 % on average"),
        (2, 6, "GPUs stand still for 1.2 s of a step of 4.0 s"),
        (30, 4, "GPUs fall to 30 % for 0.8 s of a step of 4.0 s, else 90 %"),
        (30, 1, "GPUs are at 30 to 90 % throughout the step, 87 % on average"),
        (75, 8, "GPUs are at 75 to 90 % throughout the step, 84 % on average"),
    ],
)
def test_the_anatomy_of_a_step_names_its_weak_stretch(low_pct: float, low_pieces: int, said: str) -> None:
    busy = np.full(PIECES, 90.0)
    busy[PIECES - low_pieces :] = low_pct
    begin_s = np.arange(PIECES) * 4.0 / PIECES
    pieces = pd.DataFrame(
        {"piece": range(PIECES), "begin_s": begin_s, "end_s": begin_s + 4.0 / PIECES, "mean_pct": busy}
    )
    assert anatomy_sentence(StepAnatomy("algo-1", pieces, 4.0, 100, 600)) == said
