"""Reports told on several lines: a block, a line beside a report, a line for each figure. Pages may be cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import LogPage
from monitor.parse import table
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows
from monitor.parse.rows import Reading
from monitor.parse.table import Rows
from tests.parse.read import parse

RULE = "-" * 34


def _rows(steps: pd.DataFrame) -> list[tuple[object, ...]]:
    told = steps[["step", "step_time_s", "loss"]].astype(float).round(6)
    return [tuple(None if value != value else value for value in row) for row in told.itertuples(index=False)]


def _framed(number: int) -> list[str]:
    lines = [
        RULE,
        "| rollout/             |      |",
        "|    ep_len_mean       | 22.3 |",
        "| time/                |      |",
    ]
    lines += [f"|    fps               | {300 + number}  |", f"|    iterations        | {number}    |"]
    lines += [f"|    time_elapsed      | {7 * number}    |", f"|    total_timesteps   | {2048 * number} |"]
    if number > 1:
        lines += ["| train/               |      |", f"|    loss              | 0.{number}  |"]
        lines += [f"|    n_updates         | {10 * number - 10}   |", "|    value_loss        | 1.03 |"]
    return [*lines, RULE]


def _headed(number: int) -> list[str]:
    lines = ["#" * 60, f"          Learning iteration {number}/1500      ", ""]
    lines += [f"    Computation: {9000 + number} steps/s (collection: 0.381s, learning 0.138s)"]
    lines += ["    Value function loss: 0.0056", "    Mean reward: 0.39", "-" * 60]
    return [*lines, f"    Iteration time: 0.5{number}s", f"    Total time: {0.5 * number:.2f}s", "    ETA: 85.0s", ""]


def _yaml(number: int) -> list[str]:
    lines = ["Result for trial_00000:", "  done: false", "  info:", "    learner:", f"      total_loss: 2.{number}"]
    lines += ["      policy_loss: -0.03", f"  iterations_since_restore: {number}", f"  time_this_iter_s: 4.{number}"]
    lines += [f"  time_total_s: {4.1 * number:.1f}", "  timestamp: 1700000000", f"  timesteps_total: {4000 * number}"]
    return [*lines, f"  training_iteration: {number}", "  trial_id: a1b2c", "", "== Status =="]


def _under_a_head(number: int) -> list[str]:
    return [
        f"Step {10 * number}/100",
        f"  loss: 2.{number}  lr: 1e-4",
        f"  time: 0.5{number}s",
        "  throughput: 120 samples/s",
    ]


def _printed_json(number: int) -> list[str]:
    return ["{", f'  "step": {number},', f'  "loss": 2.{number},', f'  "step_time": 0.5{number}', "}"]


def _time_before(number: int) -> list[str]:
    return [
        f"Timer: 0.6{number}",
        f"epoch:0 || iter:{10 * number} || Loss:2.{number}",
        "->> part loss:1.1",
        "->>lr:0.0005",
    ]


def _time_behind(number: int) -> list[str]:
    return [f"iter {10 * number} loss 2.{number}", f"Time: 0.5{number} s"]


def _line_each(number: int) -> list[str]:
    return [
        f"step {10 * number} | loss 2.{number}",
        f"step {10 * number} | time 0.5{number}s",
        f"step {10 * number} | lr 1e-4",
    ]


FORMS: list[tuple[Callable[[int], list[str]], list[tuple[object, ...]]]] = [
    (_framed, [(1, 7, None), (2, 7, 0.2), (3, 7, 0.3), (4, 7, 0.4)]),
    (_headed, [(1, 0.51, None), (2, 0.52, None), (3, 0.53, None), (4, 0.54, None)]),
    (_yaml, [(1, 4.1, 2.1), (2, 4.2, 2.2), (3, 4.3, 2.3), (4, 4.4, 2.4)]),
    (_under_a_head, [(10, 0.51, 2.1), (20, 0.52, 2.2), (30, 0.53, 2.3), (40, 0.54, 2.4)]),
    (_printed_json, [(1, 0.51, 2.1), (2, 0.52, 2.2), (3, 0.53, 2.3), (4, 0.54, 2.4)]),
    (_time_before, [(10, 0.61, 2.1), (20, 0.62, 2.2), (30, 0.63, 2.3), (40, 0.64, 2.4)]),
    (_time_behind, [(10, 0.51, 2.1), (20, 0.52, 2.2), (30, 0.53, 2.3), (40, 0.54, 2.4)]),
    (_line_each, [(10, 0.51, 2.1), (20, 0.52, 2.2), (30, 0.53, 2.3), (40, 0.54, 2.4)]),
]  # fmt: skip
IDS = [form.__name__.strip("_") for form, _ in FORMS]


@pytest.mark.parametrize(("form", "read"), FORMS, ids=IDS)
def test_one_report_is_one_row(form: Callable[[int], list[str]], read: list[tuple[object, ...]]) -> None:
    lines = [line for number in range(1, 5) for line in form(number)]
    assert _rows(parse(lines).steps) == read


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(range(len(FORMS))), st.lists(st.integers(0, 60), max_size=6))
def test_it_does_not_matter_where_pages_are_cut(which: int, cuts: list[int]) -> None:
    form, read = FORMS[which]
    lines = [line for number in range(1, 5) for line in form(number)]
    assert _rows(parse(lines, cuts).steps) == read


@pytest.mark.parametrize(("form", "read"), FORMS, ids=IDS)
@pytest.mark.parametrize(
    "tag", ["[1,mpirank:0,algo-1]<stdout>:", "2026-03-04T08:12:01.000Z ", "[rank0]: "], ids=["mpi", "time", "rank"]
)
def test_a_tag_in_front_changes_nothing(
    form: Callable[[int], list[str]], read: list[tuple[object, ...]], tag: str
) -> None:
    lines = [tag + line for number in range(1, 5) for line in form(number)]
    assert _rows(parse(lines).steps) == read


@pytest.mark.parametrize(("form", "read"), FORMS, ids=IDS)
def test_other_lines_between_reports_change_nothing(
    form: Callable[[int], list[str]], read: list[tuple[object, ...]]
) -> None:
    lines = ["model build time: 5.1s", "starting"]
    for number in range(1, 5):
        lines += [*form(number), *["some words of a worker"] * (3 if number == 2 else 0)]
    assert _rows(parse(lines).steps) == read


@pytest.mark.parametrize(("form", "read"), FORMS, ids=IDS)
def test_ranks_are_read_apart(form: Callable[[int], list[str]], read: list[tuple[object, ...]]) -> None:
    both = [(f"[1,{rank}]<stdout>:", form(number)) for number in range(1, 5) for rank in range(2)]
    steps = parse([tag + line for tag, lines in both for line in lines]).steps
    assert [_rows(steps[steps["rank"] == rank]) for rank in range(2)] == [read, read]


def test_the_events_own_times_tell_to_which_report_a_line_belongs() -> None:
    """Three lines of a report at one moment; by lines alone the time is as near to the one as to the other."""
    lines = [line for number in range(1, 5) for line in (f"Time: 0.5{number} s", f"iter {number} loss 2.{number}")]
    raw = RawRows()
    # The log is cut: it begins with the time of a report that is not there.
    times = tuple(1_700_000_000_000 + 10_000 * ((place + 1) // 2) for place in range(len(lines)))
    raw.add(LogPage.of("algo-1.log", "algo-1", 1, lines, times))
    steps = assemble(raw.steps, raw.events).steps
    assert _rows(steps) == [(1, 0.52, 2.1), (2, 0.53, 2.2), (3, 0.54, 2.3), (4, None, 2.4)]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["Time: 3.2 s", *(f"iter {step} loss 2.5" for step in range(9))], id="printed once"),
        pytest.param([text for step in range(9) for text in (f"iter {step} loss 2.5", *["time: 0.1 s"] * 8)], id="too often"),
        pytest.param(
            [text for step in range(9) for text in (f"iter {step} loss 2.5", *(["time: 3 s"] if step % 4 == 3 else []))],
            id="each fourth",
        ),
    ],
)  # fmt: skip
def test_a_time_that_is_not_of_each_report_is_of_none(lines: list[str]) -> None:
    assert parse(lines).steps["step_time_s"].isna().all()


def test_a_clock_of_whole_seconds_is_no_finer_in_a_block() -> None:
    lines: list[str] = []
    for number in range(1, 61):
        lines += [f"| iterations | {number} |", f"| fps | {300.5 + number} |", f"| time_elapsed | {number // 4} |"]
    times = parse(lines).steps["step_time_s"].dropna()
    assert len(times) > 10
    assert times.between(0.2, 0.3).all()


def test_ranks_that_print_the_same_step_stay_apart() -> None:
    lines = [f"step {step} | loss 2.{rank} | time 0.5s" for step in range(3) for rank in range(4)]
    assert len(parse(lines).steps) == 12


def test_of_too_many_pieces_whole_stretches_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_PIECES", 6000)
    lines = [line for number in range(1, 8001) for line in _under_a_head(number)]
    steps = parse(lines, range(0, len(lines), 3000)).steps
    assert 500 < len(steps) < 2000
    whole = steps[steps["loss"].notna() & steps["step_time_s"].notna()]
    assert len(whole) > 0.98 * len(steps)
    assert (whole["loss"].map(lambda loss: str(loss)[:2]) == "2.").all()


def test_a_flood_of_pieces_takes_no_room_from_reports() -> None:
    rows = Rows(most=10)
    rows.beside.add(
        "a",
        "algo-1",
        [(line, 0, None, -1, "", False, -1, -1, None, None) for line in range(50)],
        [Reading("piece")] * 50,
    )
    rows.add(
        "a",
        "algo-1",
        [(line, 0, None, -1, "", False, -1, -1, None, None) for line in range(9)],
        [Reading("json", 1)] * 9,
    )
    assert (len(rows), rows.every, len(rows.beside)) == (9, 1, 50)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        pytest.param("-- {step:03d} / 2200 --", "mean loss: {loss:.5f}", id="a count in a frame"),
        pytest.param("Step   {step:3d} of   469: ", "Train loss: {loss:.5f}", id="numbers in columns"),
        pytest.param(
            "2024-12-09 13:51:39,294 - INFO - Batch:\t{step}/300", "Current error:\t{loss:.5f}", id="an error"
        ),
        pytest.param("current step: {step}th step", "batch loss:{loss:.5f}", id="an ordinal"),
        pytest.param("📊 Step {step}/600", "   ├─ 🔥 Loss: {loss:.5f}", id="pictures"),
        pytest.param(
            "pass i:{step}, batch i:{step}, length:31", "kl:0.01,loss:{loss:.5f},entropy:4.2", id="commas alone"
        ),
    ],
)
def test_a_count_and_what_the_next_line_tells_are_one_report(head: str, told: str) -> None:
    lines = [
        text.format(step=step, loss=5.0 - step / 100)
        for step in range(10, 210, 10)
        for text in (head, told, "accuracy: 0.5")
    ]
    steps = parse(lines).steps
    assert steps["step"].tolist() == list(range(10, 210, 10))
    assert steps["loss"].tolist() == pytest.approx([5.0 - step / 100 for step in range(10, 210, 10)])


def test_a_count_in_a_frame_beside_no_loss_is_nothing() -> None:
    assert parse([line for part in range(1, 40) for line in (f"== {part} / 40 ==", "compiling kernel")]).steps.empty


def test_a_part_of_the_loss_alone_makes_a_report() -> None:
    block = [
        "-" * 30,
        "| mse_label_mean    | 0.162    |",
        "| mse_loss_mean     | 0.{loss}   |",
        "| step | {step} |",
        "-" * 30,
    ]
    lines = [text.format(loss=900 - step // 10, step=f"{step:.3g}") for step in range(10, 1300, 10) for text in block]
    steps = parse(lines).steps
    assert steps["step"].iloc[0] == 10
    assert steps["step"].iloc[-1] == 1290
    assert steps["loss"].isna().all()


def test_a_format_that_reads_the_parts_of_its_reports_is_not_told_again_by_their_count() -> None:
    lines = [
        line
        for batch in range(5, 105, 5)
        for line in (
            f"[epoch=0][batch={batch}/200]:",
            f"\t Train time/batch: {batch - 1}",
            f"\t Train time/batch_in_epoch: {batch - 1}",
            f"\t Train loss/train/total: 2.{batch}",
            "\t Train throughput/batches_per_sec: 12.5",
            "\t Train throughput/samples_per_sec: 800.0",
        )
    ]
    found = parse(lines).steps
    assert list(found["step"]) == list(range(5, 105, 5))
    assert set(found["format"]) == {"composer"}


@pytest.mark.parametrize("name", ["num_updates", "num of updates", "number of updates"])
def test_updates_are_counted_whatever_they_are_called(name: str) -> None:
    lines = [
        line
        for at in range(1, 21)
        for line in (RULE, f"time elapsed: 0:{at:02}:03", f"{name}: {1000 * at}", f"action loss: {2 / at:.5f}")
    ]
    found = parse(lines).steps
    assert list(found["step"]) == list(range(1000, 20_001, 1000))
    assert found["step_time_s"].median() == pytest.approx(0.06)


def test_a_greek_letter_is_a_name() -> None:
    lines = [
        f"Episode {at}/50 | Deliveries: {at} | Collisions: 0 | Loss: {2 / at:.4f} | ε: 0.05" for at in range(1, 51)
    ]
    found = parse(lines).steps
    assert list(found["step"]) == list(range(1, 51))
    assert found["loss"].iloc[0] == 2.0


def test_frames_and_their_rate_tell_more_than_a_clock_of_whole_seconds() -> None:
    lines = []
    for number in range(1, 41):
        passed_s, frames = 0.3 * number + 0.11 * (number % 2), 256 * number
        lines += [RULE, "| time/ |  |", f"|    fps              | {int(frames / passed_s)} |"]
        lines += [f"|    iterations       | {number} |", f"|    time_elapsed     | {int(passed_s)} |"]
        lines += [f"|    total_timesteps  | {frames} |", RULE]
    steps = parse(lines).steps
    assert steps["step"].tolist() == list(range(1, 41))
    assert steps["step_time_s"].notna().all()
    assert steps["step_time_s"].median() == pytest.approx(0.3, rel=0.05)
    # Where they do not agree the clock is what there is, and tells nothing of the first few seconds.
    other = [re.sub(r"fps  .*", "fps  | 9000 |", line) for line in lines]
    assert parse(other).steps["step_time_s"].head(9).isna().all()
