"""The times that lines print of themselves: a table of the forms that loggers use, and of numbers that are no times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.parse.lines.stamps import Stamp, stamp, unwrapped
from tests.parse.read import parse

_AT = datetime(2026, 11, 24, 13, 15, 7, 250_000, UTC)
_MS = round(_AT.timestamp() * 1000)
_WHOLE = _MS - 250


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-11-24 13:15:07,250 INFO step 5", _MS),
        ("[2026-11-24T13:15:07.250Z] step 5", _MS),
        ("2026/11/24 13:15:07 step 5", _WHOLE),
        ("2026.11.24 13:15:07.25 step 5", _MS),
        ("(trainer pid=7) 2026-11-24 13:15:07.250123 step 5", _MS),
        ("I1124 13:15:07.250580 26 main.go:180] 2026-11-24T13:15:07Z step 5", _MS),
        ("2026-11-24T13:15:07Z 13:15:07.250 step 5", _MS),
        ("2026-11-24 13:15:07 elapsed 00:12:05.125 step 5", _WHOLE),
        ("20261124-13:15:07 step 5", _WHOLE),
        ("20261124_131507 step 5", _WHOLE),
        ("11/24/2026 13:15:07 - INFO - step 5", _WHOLE),
        ("[11/24/26 13:15:07] INFO step 5", _WHOLE),
        ("[11.24.26|13:15:07] step 5", _WHOLE),
        ("24.11.2026 13:15:07 step 5", _WHOLE),
        ("11/24/2026 01:15:07 PM step 5", _WHOLE),
        ("24/Nov/2026:13:15:07 step 5", _WHOLE),
        ("2026-Nov-24 13:15:07 step 5", _WHOLE),
        ("Nov 24, 2026 01:15:07 PM step 5", _WHOLE),
        ("[Nov 24, 2026 13:15:07] step 5", _WHOLE),
        ("2026年11月24日 13:15:07 step 5", _WHOLE),
        ("[20261124-131507] step 5", _WHOLE),
        ("[2026-11-24_13-15-07] step 5", _WHOLE),
        ("Tue Nov 24 13:15:07 2026 step 5", _WHOLE),
        ("LOG Tue Nov 24 13:15:07 UTC 2026 - step 5", _WHOLE),
        ("I20261124 13:15:07.250000 88 train.cc:7] step 5", _MS),
        ('{"step": 5, "timestamp": "2026-11-24T13:15:07.250Z"}', _MS),
        (f'{{"step": 5, "time": {_MS / 1000:.3f}}}', _MS),
        (f'{{"ts": {_MS}, "step": 5}}', _MS),
        (f"{_MS / 1000:.3f} step 5", _MS),
        (f"time: {_MS / 1000:.3f}, step 5", _MS),
        ("2026-11-24 13:15: step 5", _WHOLE - 7_000),
    ],
)
def test_a_stamp_with_its_day_is_an_instant(text: str, ms: int) -> None:
    assert stamp(text) == Stamp(ms, True)


@pytest.mark.parametrize(
    "text",
    [
        "13:15:07 step 5",
        "[13:15:07.250] step 5",
        "INFO 13:15:07 step 5",
        "INFO:trainer:13:15:07 step 5",
        "step 5 loss 2.0 Time=13:15:07",
        "Nov 24 13:15:07 host step 5",
        "24-Nov 13:15:07:INFO:root:step 5",
        "24 Nov 13:15:07.250 step 5",
        "I1124 13:15:07.250000 88 train.py:7] step 5",
        "[11/24 13:15:07 d2.utils.events]: iter: 5",
        "I | 11-24 13:15:07 | train | step=5",
        "11-24 13:15:07 step 5",
        "[INFO] 11/24 13:15:07 step 5",
        "INFO 11-24 13:15:07 step 5",
        "[rank0] 11/24 13:15:07 step 5",
        "[rank0] 13:15:07 step 5",
        "Rank 3: 13:15:07 step 5",
    ],
)
def test_a_stamp_without_its_day_or_year_still_tells_how_long(text: str) -> None:
    first, later = stamp(text), stamp(text.replace("13:15:07", "13:16:09"))
    assert first is not None
    assert later is not None
    assert not first.dated
    assert later.ms - first.ms == 62_000


@pytest.mark.parametrize(
    "text",
    [
        "step 5 loss 2.0",
        "eta: 0:05:22  iter: 19  time: 1.16",
        "  7%|7  | 15/213 [06:48<1:31:41, 27.79s/it]",
        "elapsed 00:01:35 step 5",
        "a:b:c:d:e",
        "2026-02-31 08:12:20 is no day",
        "2026-11-24 25:15:07 is no hour",
        "1234567890123456789 step 5",
        "step 1700000000 loss 2.0",
        "[rank0]:[13:15:07 step",
        "this job began long ago, and its first line was written on 2026-11-24 13:15:07",
    ],
)
def test_other_numbers_are_no_stamps(text: str) -> None:
    assert stamp(text) is None


@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=50), st.integers(0, 86_399))
def test_times_of_day_go_on_past_midnight(gaps_s: list[int], begin_s: int) -> None:
    true_ms = 1000.0 * (begin_s + np.cumsum([0, *gaps_s]))
    assert np.diff(unwrapped(true_ms % 86_400_000.0)) == pytest.approx(np.diff(true_ms))


@pytest.mark.parametrize(
    "day", ["2026-03-04 ", "03/04/2026 ", "03/04 ", "03-04 ", "2026-Mar-04 ", "2026-03-04_", "2026-03-04T", "26/03/04 "]
)
@pytest.mark.parametrize("line", ["time={} step {} loss {}", 'time="{}" level=info msg="step {} loss {}"'])
def test_the_date_of_a_line_is_no_time_of_a_step(day: str, line: str) -> None:
    clocks = [f"08:{4 * step // 60:02}:{4 * step % 60:02}" for step in range(1, 41)]
    stamps = [f"{day}{clock.replace(':', '-') if day.endswith('_') else clock}" for clock in clocks]
    steps = parse([line.format(stamp, step, 3 / step) for step, stamp in enumerate(stamps, start=1)]).steps
    assert steps["step"].tolist() == [*range(1, 41)]
    assert set(steps["step_time_s"].dropna().round()) <= {4.0}


@pytest.mark.parametrize("head", ["{stamp}-root-INFO: ", "INFO {stamp}: ", "[{stamp}] ", "{stamp}Z "])
@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d-%H:%M:%S", "%Y-%m-%d_%H-%M-%S", "%Y-%m-%d:%H:%M:%S", "%b %d %H:%M:%S", "%m-%d %H:%M:%S", "%H:%M:%S"],
)
def test_no_part_of_a_stamp_is_learned_as_a_step(form: str, head: str) -> None:
    begin = datetime(2026, 3, 4, 8, 1, 2, tzinfo=UTC)
    lines = [
        head.format(stamp=(begin + timedelta(seconds=61 * turn)).strftime(form))
        + f"gradient norm: {3 / (9 + turn):.4f}, lr 1e-3"
        for turn in range(40)
    ]
    steps = parse(lines).steps
    assert steps["step"].isna().all() or list(steps["step"]) == list(range(1, 41))


_FORMS = (
    *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%m/%d/%Y, %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%a %b %d %H:%M:%S %Y"),
    *("%b %d %H:%M:%S", "%I:%M:%S %p", "%I:%M:%S%p"),
)


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize(
    "said", [" at {}", " @ {}", " ({})", " [{}]", " | {}", ", time: {}", " (time: {})", " Time = {}", " finished at {}"]
)
@pytest.mark.parametrize(
    ("line", "each"),
    [
        ("Step {n}0/5000 | loss=2.{n}1{said}", 3.0),
        ("step {n}0{said}, loss 2.{n}1", 3.0),
        ("Finished epoch {n}{said}", 30.0),
    ],
)
def test_the_time_of_a_line_may_stand_behind_its_words(line: str, each: float, said: str, form: str) -> None:
    """It tells how long steps and epochs take, and none is taken for a number of hours, minutes or seconds."""
    times = [_AT + timedelta(seconds=30 * n + n % 3) for n in range(1, 40)]
    lines = [line.format(n=n, said=said.format(f"{at:{form}}")) for n, at in enumerate(times, start=1)]
    found = parse(["training started", *lines])
    if "epoch" in line:
        told = found.events.loc[found.events["kind"].isin(["epoch-pace", "epoch-took"]), "text"]
        assert [float(text) for text in told] == pytest.approx([each], rel=0.1)
    else:
        assert found.steps["step_time_s"].median() == pytest.approx(each, rel=0.1)


def test_minutes_of_the_day_tell_the_mean_of_epochs() -> None:
    lines = [f"EPOCH {n} done @ {_AT + timedelta(seconds=n * 100):%I:%M %p}" for n in range(40)]
    events = parse(lines).events
    (pace,) = events.loc[events["kind"] == "epoch-pace", "text"]
    assert float(pace) == pytest.approx(100, rel=0.03)
