"""A report's findings and phases have their places in the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pandas as pd

from monitor.diagnose.bookmarks import log_context, marks, row_of
from monitor.model import Evidence, Phase, events_frame
from tests import situations
from tests.builders import START

OOM = situations.OUT_OF_MEMORY


def frame(*lines: tuple[float, str, str]) -> pd.DataFrame:
    """Lines: seconds after the start, node, text."""
    times = pd.to_datetime([START + timedelta(seconds=at) for at, _, _ in lines]).astype("datetime64[ms, UTC]")
    return pd.DataFrame({"time": times, "node": [node for _, node, _ in lines], "whole": [text for *_, text in lines]})


def test_a_quote_is_the_nearest_line_that_says_it_on_its_node() -> None:
    (quote,) = log_context(situations.failed()).quotes
    text = "torch.OutOfMemoryError: CUDA  out of memory. Tried to allocate 2.50 GiB (GPU 3)"
    lines = frame((100, "algo-2", text), (1559, "algo-1", text), (1560.12, "algo-2", text), (1563, "algo-2", text))
    assert row_of(quote, lines) == 2
    assert row_of(quote, lines.iloc[:1]) is None
    assert row_of(quote, lines[lines["node"] == "algo-1"]) == 1


def test_marks_are_findings_first_error_and_phases() -> None:
    report = situations.failed()
    event = {
        "timestamp": START + timedelta(minutes=26), "node": "algo-2", "rank": 11, "kind": "error",
        "text": OOM.evidence[0].line, "stream": "j/algo-2-1", "line": 7,
    }  # fmt: skip
    report = replace(report, run=replace(report.run, events=events_frame([event])))
    about = log_context(report)
    assert [place.key for place in about.bookmarks[:4]] == ["start", "first-step", "first-error", "end"]
    lines = frame((1, "algo-1", "hello"), (200, "algo-1", "step 1"), (1560, "algo-2", str(OOM.evidence[0].line)))
    assert marks(about, lines) == ["▸ initialization", "▸ training", "◆ cuda-out-of-memory, ✕ first error"]
    assert marks(about, frame((400, "algo-1", "step 9"))) == [""], "the phase began before these lines"


def test_a_fact_without_a_time_takes_that_of_its_line() -> None:
    report = situations.low_utilization()
    event = {
        "timestamp": START + timedelta(minutes=2), "node": "algo-1", "rank": 0, "kind": "configuration",
        "text": "smp config active_microbatches=2 microbatches=8 and the rest of it", "stream": "j/algo-1-1", "line": 7,
    }  # fmt: skip
    report = replace(report, run=replace(report.run, events=events_frame([event])))
    (quote,) = log_context(report).quotes
    assert quote.at is None, "half of a line is not that line"
    fact = Evidence("active_microbatches", 2, line="smp config active_microbatches=2 microbatches=8…")
    finding = replace(report.findings[0], evidence=(fact,))
    (quote,) = log_context(replace(report, findings=(finding,))).quotes
    assert quote.at == START + timedelta(minutes=2)


def test_what_sagemaker_says_is_no_line_of_the_log() -> None:
    finding = replace(
        OOM, evidence=(Evidence("what SageMaker says", line="CapacityError", role="of SageMaker"), *OOM.evidence)
    )
    assert [quote.key for quote in log_context(replace(situations.failed(), findings=(finding,))).quotes] == [
        "cuda-out-of-memory.1"
    ]


def test_slow_steps_are_no_phases_of_a_log() -> None:
    names = ("initialization", "productive", "slow-excess", "productive", "idle-tail")
    phases = tuple(
        Phase(name, START + timedelta(minutes=at), START + timedelta(minutes=at + 1), True)
        for at, name in enumerate(names)
    )
    about = log_context(replace(situations.healthy(), phases=phases))
    assert [phase.name for phase in about.phases] == ["initialization", "productive", "idle-tail"]


def test_a_rank_has_a_node_where_the_whole_log_names_one() -> None:
    assert log_context(situations.low_utilization()).nodes == {0: "algo-1", 1: "algo-2", 2: "algo-3", 3: "algo-4"}
