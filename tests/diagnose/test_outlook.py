"""How a running job goes on, in the words of the page's head and of the report."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from monitor.analyze.phases import Phase
from monitor.diagnose.headline import outlook, usd_to_finish
from monitor.model import AtRisk, Cost, Price, Report
from monitor.review.reports import report
from tests.builders import START, steps
from tests.diagnose.cases import END, run

ROWS = steps(["algo-1", "algo-2"], 1700, 2.0)
NOW: datetime = ROWS["timestamp"].max().to_pydatetime() + timedelta(seconds=1)

#: What the range of every time to finish says of itself.
RANGE = "; range for 8 of 10 jobs, tested on simulated ones)"


def _running(**changes: object) -> Report:
    found = report(run(step_frame=ROWS, status="InProgress"), NOW, Price(10.0, "settings file"))
    return replace(found, **changes)  # type: ignore[arg-type]


def _with_band(*band: float) -> Report:
    found = _running()
    assert found.steps is not None
    return replace(found, steps=replace(found.steps, seconds_to_finish=band))


def test_a_running_job_says_when_it_will_be_done_and_for_how_much() -> None:
    found = _running()
    # 1,700 of 3,400 steps of 2 s, on two instances.
    assert usd_to_finish(found) == pytest.approx(1700 * 2.0 * 2 * 10.0 / 3600, rel=0.02)
    (said,) = outlook(found)
    assert said.startswith("about 57 min and $18.")
    assert outlook(report(run(), END, Price(10.0, "settings file"))) == []


@pytest.mark.parametrize(
    ("band", "words"),
    [
        ((29_000.0, 33_000.0, 39_000.0), "about 9 h 10 min and $183.33 to finish (8 to 11 h" + RANGE),
        ((50_000.0, 82_000.0, 92_000.0), "about 23 h and $455.56 to finish (14 to 26 h" + RANGE),
        ((41.0, 52.0, 61.0), "about 52 s and $0.29 to finish (41 s to 1 min" + RANGE),
    ],
)
def test_an_estimate_has_the_digits_that_it_has(band: tuple[float, float, float], words: str) -> None:
    assert outlook(_with_band(*band))[0] == words


def test_a_stalled_job_would_have_to_go_on_first() -> None:
    silent = (Phase("stall", START, NOW, True),)
    assert outlook(replace(_with_band(50.0, 60.0, 70.0), phases=silent))[0].endswith(", if it resumed now")


def test_a_spot_job_pays_at_most_that_and_without_a_price_there_is_only_the_time() -> None:
    spot = replace(_with_band(50.0, 60.0, 70.0), cost=Cost(1.0, None, 10.0, "list", at_most=True))
    assert "and at most $0.33 to finish" in outlook(spot)[0]
    assert outlook(replace(spot, cost=Cost()))[0] == "about 1 min to finish (50 s to 1 min" + RANGE


def test_work_at_risk_names_its_checkpoint() -> None:
    risk = AtRisk(START, 3600, 720, 1440.0, 310.0)
    said = outlook(_running(at_risk=risk))[-1]
    assert (
        said == "24 min of work not yet in a checkpoint ($310.00): "
        "720 steps since the checkpoint of 25 Sep 2026, 12:05 UTC, step 3,600"
    )
    bare = AtRisk(START, None, None, 1440.0, None)
    assert (
        outlook(_running(at_risk=bare))[-1]
        == "24 min of work not yet in a checkpoint: since the checkpoint of 25 Sep 2026, 12:05 UTC"
    )
