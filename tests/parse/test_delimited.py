"""Tables of comma-separated values: rows are read by the last header above them, whatever the pages they come in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.model import LogPage
from monitor.parse.assemble import assemble
from monitor.parse.events.event_rows import EventRows
from monitor.parse.recognise import RawRows
from monitor.parse.reports import delimited
from monitor.parse.rows import EventRow
from tests.parse.read import parse

HEADER = "epoch,lr-Adam,step,train_loss,train_step_time,val_acc,val_loss"
TABLE = [
    HEADER,
    "0,0.001,49,,,,",
    "0,,49,2.5,0.25,,",
    "0,,99,2.25,0.5,,",
    "0,,99,,,0.61,1.75",
    "1,,149,2.0,0.75,,",
]


def _rows(steps: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(steps[["line", "step", "step_time_s", "loss", "format"]].itertuples(index=False, name=None))


READ = [(2, 49, 0.25, 2.5, "csv"), (4, 99, 0.5, 2.25, "csv"), (6, 149, 0.75, 2.0, "csv")]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (3,), (5,)])
def test_rows_of_one_step_are_one_report_wherever_pages_are_cut(cuts: tuple[int, ...]) -> None:
    assert _rows(parse(TABLE, cuts).steps) == READ


def test_headers_and_rows_are_no_events() -> None:
    assert set(parse(TABLE).events["kind"]) == {"first-line"}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(TABLE[1:], id="rows without a header"),
        pytest.param(["name,size,owner", *TABLE[1:]], id="a header without a step"),
        pytest.param(["epoch,step,val_loss", "0,49,,", "0,,1.5"], id="validation only"),
        pytest.param([HEADER, "0,,49,2.5,,"], id="fewer fields than names"),
        pytest.param([HEADER, "0,,x,2.5,0.25,,"], id="a step that is no number"),
        pytest.param([HEADER, ",,,,,,"], id="nothing in it"),
        pytest.param(["batch\ttime", *(f"{2**n}\t0.{n}5" for n in range(9))], id="batch sizes"),
        pytest.param(["model,batch,time", *(f"7,{2**n},0.{n}5" for n in range(9))], id="batch sizes of models"),
    ],
)
def test_what_is_no_table_of_steps(lines: list[str]) -> None:
    assert parse(lines).steps.empty


def test_a_row_belongs_to_the_last_header_of_its_stream() -> None:
    lines = [*TABLE[:3], "step,loss,lr,grad_norm", "7,1.5,,", "8,1.25,,"]
    assert [row[1:] for row in _rows(parse(lines).steps)] == [
        (49, 0.25, 2.5, "csv"),
        (7, pytest.approx(float("nan"), nan_ok=True), 1.5, "csv"),
        (8, pytest.approx(float("nan"), nan_ok=True), 1.25, "csv"),
    ]


def test_cells_that_are_left_empty_are_found_by_the_names_above() -> None:
    head = "epoch       iteration   main/loss   validation/main/loss  elapsed_time  eps"
    rows = [
        f"{at // 3:<12}{100 * at:<12}{9 / at:<12.6}{'12.5' if at == 5 else '':<22}{138_000 + 136 * at:<14}1e-08"
        for at in range(1, 8)
    ]
    steps = parse([head, *rows]).steps
    assert steps["step"].tolist() == list(range(100, 800, 100))
    assert steps["loss"].iloc[0] == 9.0
    assert steps["step_time_s"].tolist()[1:] == [1.36] * 6
    assert parse([head, *(row.replace("1e-08", "  1e-08") for row in rows)]).steps["step"].tolist() == [500]


def test_a_row_may_end_with_when_it_was_written() -> None:
    lines = ["  Episode    Step    MeanLoss    TimeDelta          Time"]
    lines += [f"  {n - 10:>7} {100 * (n - 9):>7}       0.{n}         4.00  2026-03-04T10:00:{n}" for n in range(10, 30)]
    steps = parse(lines).steps
    assert list(steps["step"]) == [100 * n for n in range(1, 21)]
    assert steps["step_time_s"].iloc[1:].to_numpy() == pytest.approx(0.04)


def test_a_table_behind_reports_of_the_log_itself_says_them_again() -> None:
    lines = [*(f"step {step} loss 2.5 dt 250.0ms" for step in (49, 99, 149)), *TABLE]
    assert set(parse(lines).steps["format"]) == {"key-value"}


@pytest.mark.parametrize(("between_ms", "known"), [(0, False), (30_000, True)])
def test_the_time_of_a_table_printed_at_once_is_not_that_of_its_steps(between_ms: int, known: bool) -> None:
    raw = RawRows()
    times_ms = tuple(1_700_000_000_000 + place * between_ms for place in range(len(TABLE)))
    raw.add(LogPage.of("algo-1.log", "algo-1", 1, TABLE, times_ms))
    steps = assemble(raw.steps, raw.events).steps
    assert (steps["timestamp"].notna() == known).all()


LAYOUTS = {
    "pipes in a frame": ("| step | loss | time |", "| {} | {} | {}s |"),
    "markdown": ("|step|loss|time (s)|", "|{}|{}|{}|"),
    "pipes": ("step | loss | time", "{} | {} | {}s"),
    "box": ("┃ STEP ┃ LOSS ┃ TIME ┃", "│ {} │ {} │ {}s │"),
    "tabs": ("step\tloss\ttime", "{}\t{}\t{}"),
    "tabs and batches": ("batch\tloss\ttime\r", "{}\t{}\t{}\r"),
    "commas": ("step,loss,time", "{},{},{}"),
    "columns": ("  step    loss    time", "  {:>4}    {:>4}    {:>4}"),
    "one blank": ("step loss time", "{} {} {}"),
    "data frame": ("   step  loss  time", "0     {}  {}  {}"),
    "words": ("Step   Training Loss   Step Time (ms)", "{}   {}   {}"),
    "behind a logger": ("[08:12:01] [INFO] Step  Loss  Time", "[08:12:02] [INFO] {}  {}  {}"),
    "colored": ("\x1b[34mstep\tloss\ttime\x1b[0m", "\x1b[34m{}\t{}\t{}\x1b[0m"),
    "tagged": ("[1,0]<stdout>:step\tloss\ttime", "[1,0]<stdout>:{}\t{}\t{}"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cuts", [(), (1,), (2, 3)])
def test_a_row_is_a_report_however_columns_are_set(layout: str, cuts: tuple[int, ...]) -> None:
    header, row = LAYOUTS[layout]
    ms = 1000.0 if "(ms)" in header else 1.0
    lines = [header, *(row.format(step, 2.5 - step / 100, 0.25 + step / 100) for step in (10, 20, 30)), "done"]
    steps = parse(lines, cuts).steps
    assert list(steps["step"]) == [10, 20, 30]
    assert list(steps["loss"]) == pytest.approx([2.4, 2.3, 2.2])
    assert list(steps["step_time_s"] * ms) == pytest.approx([0.35, 0.45, 0.55])


@given(
    st.lists(
        st.sampled_from(
            ["1", "2.5", "|", "  ", "\t", ",", "a", "loss", "\x1b[0m", "\r", "é", "│", "nan", "[1,0]<stdout>:", ":"]
        ),
        max_size=40,
    ),
    st.integers(0, 3),
)
def test_lines_that_end_as_rows_are_found_wherever_they_stand(pieces: list[str], others: int) -> None:
    lines = ["x"] * others + ["".join(pieces), "1\t2.5", "word"]
    page = LogPage.of("a", "algo-1", 1, lines)
    found = delimited.may_be_rows(page.data, page.ends).tolist()
    alone = LogPage.of("a", "algo-1", 1, lines[others : others + 1])
    assert others + 1 in found
    assert others + 2 not in found
    assert (others in found) == bool(len(delimited.may_be_rows(alone.data, alone.ends)))


def test_of_too_many_rows_those_kept_are_from_all_over_the_table() -> None:
    kept = EventRows(most=1000)
    for line in range(20_000):
        kept.add_all([EventRow("a", "algo-1", line, 0, None, None, "", delimited.ROW, f"{line}\t2.5")])
    lines = np.array([row.line for row in kept if row.kind == delimited.ROW])
    assert 500 < len(lines) <= 1000
    assert np.diff(lines).max() < 400


@given(st.text(alphabet="0123456789,.eE+-naif \t|", max_size=200))
def test_any_text_is_read_or_left(text: str) -> None:
    assert all(kind in delimited.KINDS for kind, _ in delimited.read(text))


@pytest.mark.parametrize(
    "text", ["1," * 100_000, "a," * 100_000, "1.1e5" * 50_000, "," * 200_000, ("9" * 19 + ",") * 190 + "x"]
)
def test_long_lines_take_no_time(text: str) -> None:
    assert list(delimited.read(text)) == []


def test_a_plain_count_may_be_called_i() -> None:
    lines = ["i,time,loss,kl", *(f"{100 * turn},{2.5 + 11.0 * turn},0.{900 - turn},0.5{turn}" for turn in range(20))]
    steps = parse(lines).steps
    assert list(steps["step"]) == list(range(0, 2000, 100))
    assert steps["step_time_s"].median() == pytest.approx(0.11)


@pytest.mark.parametrize("sign", ["", "# ", "#  "])
def test_a_table_of_errors_beside_the_learning_rate_is_a_trainings_also_behind_the_sign_of_a_comment(sign: str) -> None:
    head = f"{sign}step      rmse_val    rmse_trn         lr"
    rows = [f"   {step:4d}      1.6{step % 7}e+01    1.5{step % 5}e+01    1.0e-03" for step in range(0, 2000, 100)]
    assert list(parse([head, *rows]).steps["step"]) == list(range(0, 2000, 100))


def test_a_head_with_commas_may_stand_above_rows_with_tabs() -> None:
    lines = ["epoch,step,grad_step,tr_loss,tr_ppl", *(f"1\t{16 * n}\t{n}\t{7 / n:.4f}\t1.9{n}" for n in range(1, 40))]
    steps = parse(lines).steps
    assert steps["step"].tolist() == [16 * n for n in range(1, 40)]
    assert steps["loss"].iloc[0] == pytest.approx(7.0)
