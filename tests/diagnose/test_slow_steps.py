"""What is said of slow steps where one step in several prints its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.cli.main import main


@pytest.mark.parametrize(
    ("slow", "headline", "cost"),
    [
        # An evaluation of 34.5 s in each 250 steps of 0.5 s: 34.5 s of 159.5 s.
        (range(250, 4001, 250), "One step in 250 takes 70.0 x the usual time", "they cost 22 % of the time."),
        # By chance: as often between the reports.
        ([at * at % 4001 // 10 * 10 for at in range(37, 400, 17)], "of the steps take 70.0 x", "they cost 7"),
    ],
    ids=["at a period", "by chance"],
)
def test_slow_steps_between_reports_are_counted_where_they_may_be(
    slow: list[int], headline: str, cost: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "algo-1.log"
    lines = [f"iter {at}: loss 3.{at}, time {35000 if at in slow else 500}.00ms" for at in range(0, 4001, 10)]
    log.write_text("\n".join(lines), encoding="utf-8")
    main(["report", f"logs:{tmp_path}"])
    said = " ".join(capsys.readouterr().out.split())
    assert headline in said
    assert "steps that print their time take more than twice the median of 0.500 s" in said
    assert cost in said
    assert "means of 10 steps" not in said
