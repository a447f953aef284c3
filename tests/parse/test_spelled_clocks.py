"""A clock in a report, however it is spelled: it counts nothing, and is read as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitor.parse.numbers import spelled_s
from tests.parse.read import parse

CLOCKS: dict[str, Callable[[int, int, int], str]] = {
    "0:02:20": "{}:{:02}:{:02}".format,
    "0:02:20s": "{}:{:02}:{:02}s".format,
    "0:02:20.123": "{}:{:02}:{:02}.123".format,
    "[00:02:20]": "[{:02}:{:02}:{:02}]".format,
    "02:20": lambda hours, minutes, seconds: f"{60 * hours + minutes:02}:{seconds:02}",
    "00-02-20": "{:02}-{:02}-{:02}".format,
    "0h 02m 20s": "{}h {:02}m {:02}s".format,
    "0h:2m:20s": "{}h:{}m:{}s".format,
    "2m20s": lambda hours, minutes, seconds: f"{60 * hours + minutes}m{seconds}s",
    "2 min 20 sec": lambda hours, minutes, seconds: f"{60 * hours + minutes} min {seconds} sec",
    "0 hr 2 min 20 sec": "{} hr {} min {} sec".format,
    "0 hours, 2 minutes, 20 seconds": "{} hours, {} minutes, {} seconds".format,
    "2'20''": lambda hours, minutes, seconds: f"{60 * hours + minutes}'{seconds}''",
    "2′20″": lambda hours, minutes, seconds: f"{60 * hours + minutes}′{seconds}″",
    "0时2分20秒": "{}时{}分{}秒".format,
    "T+0:02:20": "T+{}:{:02}:{:02}".format,
}


def _clock(how: str, seconds: float) -> str:
    return CLOCKS[how](int(seconds) // 3600, int(seconds) // 60 % 60, int(seconds) % 60)


@pytest.mark.parametrize("how", CLOCKS)
@pytest.mark.parametrize(
    "line",
    [
        "epoch {n:<2} | loss: {loss:.5f} | val_0_auc: 0.9{n:03} |  {clock}",
        "Epoch {n}: loss {loss:.4f} acc 0.{n:03} {clock}",
        "{clock} | epoch {n} | train loss {loss:.4f}",
        "[{clock}] epoch {n} loss {loss:.4f}",
    ],
)
def test_a_clock_beside_an_epoch_counts_no_steps(line: str, how: str) -> None:
    found = parse([line.format(n=n, loss=0.9 / n, clock=_clock(how, 35 * n)) for n in range(1, 31)])
    assert found.steps.empty
    assert list(found.events[found.events["kind"] == "epochs-only"]["text"]) == ["30"]


@pytest.mark.parametrize("how", CLOCKS)
@pytest.mark.parametrize(
    "lines",
    [
        ["step {n}: loss {loss:.4f} acc 0.{n:03} {clock}"],
        ["step {n}: loss {loss:.4f} elapsed: {clock}"],
        ["{clock} | step {n} | train loss {loss:.4f}"],
        ["Step {n}/300", "  loss: {loss:.4f}", "  elapsed: {clock}"],
        ["step {n} loss {loss:.4f}", "Time elapsed: {clock}"],
    ],
)
def test_a_clock_beside_a_step_is_read_as_a_whole_or_not_at_all(lines: list[str], how: str) -> None:
    told = [line.format(n=n, loss=0.9 / n, clock=_clock(how, 3.5 * n)) for n in range(10, 301, 10) for line in lines]
    found = parse(told).steps
    assert list(found["step"]) == list(range(10, 301, 10))
    assert found["step_time_s"].isna().all() or found["step_time_s"].median() == pytest.approx(3.5, rel=0.05)


def test_a_clock_that_stands_is_each_reports_own_time() -> None:
    stamps = [f"2026-03-04 08:{25 * at // 60:02}:{25 * at % 60:02},000 - INFO - " for at in range(1, 41)]
    lines = [f"{stamp}iter {10 * at}/1000, loss: 2.5, time: 0:00:02.500" for at, stamp in enumerate(stamps, 1)]
    assert parse(lines).steps["step_time_s"].median() == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2'20''", 140.0),
        ("2′20″", 140.0),
        ("1小时2分钟20秒", 3740.0),
        ("0 hours, 2 minutes, 20 seconds", 140.0),
        ("2 min 20 sec", 140.0),
        ("0h:2m:20s", 140.0),
        ("1:02:03.5", 3723.5),
        ("8h 27min  3s 779ms", 30423.779),
        ("a:b", None),
    ],
)
def test_a_spelled_duration_is_so_many_seconds(text: str, seconds: float | None) -> None:
    assert spelled_s(text) == (pytest.approx(seconds) if seconds is not None else None)
