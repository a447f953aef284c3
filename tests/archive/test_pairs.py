"""Pairs of predicted and measured are kept whole, once, by any number of processes, and nothing that is secret with them."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.archive.comparison import Pairs, PredictionRecord, record, record_line, user_pairs
from monitor.model import Pair, PairSide, came_of

AT = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)


def pair(before: str = "run-1", after: str = "run-2", **changes: object) -> Pair:
    sides = [PairSide(name, f"arn:aws:sagemaker:::training-job/{name}", AT, 200) for name in (before, after)]
    made = Pair(
        sides[0],
        sides[1],
        {"microbatches": ("4", "8")},
        (-12.0, -10.0, -8.0),
        (-11.0, -9.5, -8.0),
        "simulation of the pipeline",
        "smp1",
        30e9,
        ("raise-microbatches",),
        AT,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_pair_is_read_back_as_it_was(tmp_path: Path) -> None:
    store = Pairs(tmp_path / "new" / "pairs.jsonl")
    assert store.all() == ()
    assert store.keep(pair())
    assert store.all() == (pair(),)
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert store.path.parent.stat().st_mode & 0o777 == 0o700


def test_the_newest_of_two_jobs_counts_and_the_same_is_not_written_again(tmp_path: Path) -> None:
    store = Pairs(tmp_path / "pairs.jsonl")
    later = pair(measured=(-9.0, -8.5, -7.0), compared_at=AT + timedelta(days=1))
    for each in (pair(), later, pair("run-1", "run-3"), replace(later, compared_at=AT + timedelta(days=2))):
        assert store.keep(each)
    assert store.path.read_text(encoding="utf-8").count("\n") == 3
    assert {each.after.name: each.measured[1] for each in store.all()} == {"run-2": -8.5, "run-3": -9.5}


def test_a_name_that_is_used_again_is_another_job(tmp_path: Path) -> None:
    store = Pairs(tmp_path / "pairs.jsonl")
    again = replace(pair().after, created=AT + timedelta(days=3))
    store.keep(pair())
    store.keep(replace(pair(), after=again))
    assert len(store.all()) == 2


@pytest.mark.parametrize(
    "line",
    [b'{"half": ', b"\xff\xfe", b"[]", b"null", b'{"format": 2}', b'{"format": 1}', b'{"format": 1, "before": 3}', b""],
)
def test_what_cannot_be_read_is_left_out(tmp_path: Path, line: bytes) -> None:
    store = Pairs(tmp_path / "pairs.jsonl")
    store.path.write_bytes(line)
    assert store.all() == ()
    assert store.keep(pair())
    assert store.all() == (pair(),)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert not Pairs(tmp_path / "file" / "pairs.jsonl").keep(pair())


def _keep_many(path: Path, number: int) -> None:
    for each in range(20):
        Pairs(path).keep(pair(f"run-{number}", f"after-{each}"))


def test_processes_do_not_cut_each_other(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_keep_many, args=(path, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(Pairs(path).all()) == 80


def test_the_record_counts_what_was_decided() -> None:
    kept = [
        pair("a", "b"),
        pair("a", "c", measured=(2.0, 3.0, 4.0)),  # missed
        pair("a", "d", measured=(-8.5, -7.0, -6.0)),  # inconclusive
        pair("a", "e"),
        pair("a", "f", predicted=(-30.0, -5.0, 40.0)),  # too wide to test
    ]
    assert record(kept) == PredictionRecord(3, 2, 1)
    assert record(kept, without=[kept[3]]) == PredictionRecord(2, 1, 1)
    assert record([]) == PredictionRecord(0, 0)
    assert record_line(record(kept)) == "Earlier predictions on your own jobs: 2 of 3 held; 1 more too wide to test."
    assert record_line(record(kept[4:])) == "Earlier predictions on your own jobs: 1 too wide to test."
    assert record_line(record([])) == ""


@pytest.mark.parametrize(
    ("predicted", "measured", "came"),
    [
        ((-3.9, 13.6, 45.9), (6.0, 8.0, 10.0), "too wide to test"),
        ((-3.9, 13.6, 45.9), (50.0, 60.0, 70.0), "missed"),  # even this one can be refuted
        ((-3.9, 13.6, 45.9), (40.0, 50.0, 60.0), "too wide to test"),
        ((-30.0, -13.0, -5.0), (-15.2, -14.0, -12.7), "held"),  # wide, and it says which way
        ((-2.0, 0.5, 3.0), (-1.0, 1.0, 2.0), "held"),  # narrow about no change: it says that little happens
        ((-12.0, -10.0, -8.0), (-8.5, -7.0, -6.0), "inconclusive"),
        ((-12.0, -10.0, -8.0), (2.0, 3.0, 4.0), "missed"),
        ((-100.0, 0.0, 1e6), (-1.0, 0.0, 1.0), "too wide to test"),
    ],
)
def test_what_came_of_a_prediction(
    predicted: tuple[float, float, float], measured: tuple[float, float, float], came: str
) -> None:
    assert came_of(predicted, measured) == came


ranges = st.lists(st.floats(-90, 90), min_size=3, max_size=3).map(sorted)


@settings(max_examples=50, deadline=None)
@given(ranges, ranges)
def test_a_prediction_holds_is_refuted_or_says_too_little(predicted: list[float], measured: list[float]) -> None:
    said = came_of(tuple(predicted), tuple(measured))  # type: ignore[arg-type]
    touch = predicted[0] <= measured[2] and measured[0] <= predicted[2]
    assert (said == "missed") == (not touch)
    if said == "held":
        assert predicted[0] <= measured[1] <= predicted[2]
        # What held could have failed: by a change of some tenth, one way or the other.
        assert not (predicted[0] <= -11 and predicted[2] >= 12)


def test_the_place_is_the_users_data_folder(tmp_path: Path) -> None:
    found = user_pairs({"XDG_DATA_HOME": str(tmp_path)})
    assert found is not None
    assert found.path == tmp_path / "trainwatch" / "pairs.jsonl"
