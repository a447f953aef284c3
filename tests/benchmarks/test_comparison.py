"""The measurement of compare measures: equal pairs are equal, planted ones are found, and the demo's pair is read."""

from __future__ import annotations

import pytest

from benchmarks.comparison import KINDS, measured, mics


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.printed != "step" or kind.name == "noise of 1 %"])
def test_a_few_pairs_of_each_way_of_printing(kind: object) -> None:
    found = measured(kind, pairs=6)  # type: ignore[arg-type]
    assert found.equal >= 5 / 6
    assert found.found >= 5 / 6


def test_the_demos_pair_comes_out_as_published() -> None:
    assert mics().verdict() == "faster"
    assert mics().percent()[1] == pytest.approx(-14, abs=1)
