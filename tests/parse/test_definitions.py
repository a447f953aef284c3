"""Metric definitions of a job read what no format knows, and what they cannot is named."""

from __future__ import annotations

from monitor.model import LogPage
from monitor.parse.assemble import assemble
from monitor.parse.definitions import recogniser
from monitor.parse.recognise import RawRows

LINES = ("<utt> no. 7 ~ cost 3.25 ~ spent 1.5", "<utt> no. 8 ~ cost 3.00 ~ spent 1.4", "<dev> cost 2.9")


def test_a_line_with_a_time_is_a_report() -> None:
    found, refused = recogniser(
        {"train:step": r"no\. (\d+)", "train:loss": r"cost ([\d.]+)", "step_time": r"spent ([\d.]+)", "size": "(a)"}
    )
    assert found is not None
    assert refused == ()
    raw = RawRows(further=(found,))
    raw.add(LogPage.of("s", "algo-1", 1, LINES))
    steps = assemble(raw.steps, raw.events).steps
    assert list(steps["step"]) == [7, 8]
    assert list(steps["step_time_s"]) == [1.5, 1.4]
    assert list(steps["loss"]) == [3.25, 3.0]
    assert set(steps["format"]) == {"metric-definition"}


def test_a_loss_alone_is_no_report_and_evaluations_are_left_out() -> None:
    assert recogniser({"loss": "cost (.*)", "eval:step_time": "spent (.*)"}) == (None, ())


def test_refused_patterns_are_named() -> None:
    found, refused = recogniser({"step_time": "spent ([0-9.]+)", "loss": r"(?<=cost )(\d+)"})
    assert found is not None
    assert refused == ("loss",)
