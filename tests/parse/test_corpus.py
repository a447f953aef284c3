"""Published logs of others, read and held against what a careful reader found in them. They are not part of the project.

Skipped where the collection is absent; TRAINWATCH_CORPUS names its folder, otherwise it is looked for beside the
checkout. Only the families that this version reads are held against it.
"""

from __future__ import annotations

import csv
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.analyze.cascade import cascade
from monitor.analyze.ending import IDS
from monitor.analyze.lost import lost_work
from monitor.diagnose.rulebook import diagnose
from monitor.model import Job, Run, metrics_frame
from monitor.parse.assemble import Parsed
from tests.parse.read import parse

CORPUS = Path(os.environ.get("TRAINWATCH_CORPUS") or Path(__file__).resolve().parents[3] / "shared" / "corpus")

pytestmark = pytest.mark.skipif(
    not (CORPUS / "logs").is_dir(), reason="the collection of published logs is absent; TRAINWATCH_CORPUS can name it"
)


def _read(name: str) -> tuple[Parsed, list[dict[str, str]]]:
    for folder in (CORPUS, CORPUS / "frameworks", CORPUS / "found"):
        for log in folder.glob(f"logs/{name}*.log"):
            with (folder / "truth" / f"{log.stem}.csv").open(encoding="utf-8", newline="") as file:
                truth = list(csv.DictReader(file))
            lines = log.read_bytes().decode("utf-8", "replace").split("\n")
            return parse(lines), truth
    pytest.skip(f"{name} is not in the collection")


@pytest.mark.parametrize(
    "name",
    ["sm01", "sm03", "sm04", "sm07", "ns01", "ns02", "is21", "sm15", "seed_smd", "is12", "accelerate", "sm_toolkit_hf"],
)
def test_steps_are_those_that_a_reader_finds(name: str) -> None:
    parsed, truth = _read(name)
    ours = parsed.steps
    # A row of the truth is a redraw at times: what counts is each new step once.
    expected = {int(row["step"]): row for row in reversed(truth)}
    assert sorted(set(ours["step"])) == sorted(expected)
    assert len(ours) == len(expected)
    for row in ours.itertuples():
        want = expected[int(row.step)]
        if want["step_time_s"]:
            # Sums of what is printed with few digits, and clocks against measured times, agree to some per cent.
            assert row.step_time_s == pytest.approx(float(want["step_time_s"]), rel=0.02, abs=0.002)
        if want["throughput"]:
            assert row.throughput == pytest.approx(float(want["throughput"]))
        if want["loss"]:
            assert row.loss == pytest.approx(float(want["loss"]))


@pytest.mark.parametrize("name", ["f01", "f02", "f03", "f04", "f05"])
def test_an_evaluation_is_no_step_where_a_log_ends_in_it(name: str) -> None:
    parsed, truth = _read(name)
    assert list(parsed.steps["step_time_s"]) == pytest.approx([float(row["step_time_s"]) for row in truth], rel=0.01)


@pytest.mark.parametrize("name", ["f06", "f07", "f09"])
def test_bars_of_loading_and_of_epochs_are_no_steps(name: str) -> None:
    parsed, truth = _read(name)
    assert "tqdm" not in set(parsed.steps["format"])
    assert name == "f07" or len(parsed.steps) == len(truth)


@pytest.mark.parametrize("name", ["sm06", "sm30", "is10", "is11"])
def test_failure_logs_have_no_steps(name: str) -> None:
    assert _read(name)[0].steps.empty


def test_merged_nodes_stay_unknown_and_are_both_there() -> None:
    steps = _read("sm16")[0].steps
    assert set(steps["node"]) == {""}
    assert set(steps.groupby("step").size()) == {2}


def test_ranks_are_placed_by_the_map_and_not_by_the_tag() -> None:
    assert set(_read("sm01")[0].steps["node"]) == {"algo-2"}  # its lines say algo-1
    assert set(_read("sm03")[0].steps["node"]) == {"algo-1"}


def test_step_times_follow_the_clock() -> None:
    for name, expected in (("sm01", 1.37), ("sm03", 1.06), ("sm04", 0.222), ("sm07", 11.0), ("ns01", 1.62)):
        steps = _read(name)[0].steps
        assert steps.loc[~steps["warm_up"], "step_time_s"].median() == pytest.approx(expected, rel=0.05), name


@pytest.mark.parametrize(
    ("name", "rank", "text", "ranks"),
    [
        ("sm06", 14, "CUDA out of memory", ()),
        ("sm30", None, "Killed", ()),
        ("is11", 1, "Watchdog caught", (2, 3, 6, 7)),
        ("is12", 5, "Watchdog caught", ()),
        ("fail_exception", 1, "The size of tensor a", (0,)),
        ("fail_memerror", 1, "MemoryError", (0,)),
        ("sm_toolkit_mpi_fail", 1, "The size of tensor a", (0,)),
        ("ns22", None, "SignalException", ()),
    ],
)
def test_the_first_error_is_of_the_rank_that_failed_first(
    name: str, rank: int | None, text: str, ranks: tuple[int, ...]
) -> None:
    parsed = _read(name)[0]
    found = cascade(parsed.events, parsed.steps)
    assert found is not None
    assert text in found.text
    assert (found.rank, found.ranks) == (rank, ranks)


def test_jobs_that_went_well_have_no_first_error() -> None:
    for name in ("sm01", "sm09", "sm15", "sm19", "sm22", "sm23"):
        parsed = _read(name)[0]
        assert cascade(parsed.events, parsed.steps) is None, name
        assert lost_work(parsed.steps, parsed.events, Job(name, source="logs")) is None, name


# What only the authors of these logs print.
_OWN_WORDS = {"run_begin", "run_pass", "infrastructure_failure"}


@pytest.mark.parametrize(
    "truth",
    sorted(path for folder in (CORPUS, CORPUS / "frameworks") for path in folder.glob("truth/*.events.csv")),
    ids=lambda path: path.name,
)
def test_the_events_that_a_reader_names_are_found(truth: Path) -> None:
    log = truth.parents[1] / "logs" / truth.name.replace(".events.csv", ".log")
    lines = log.read_bytes().decode("utf-8", "replace").split("\n")
    found = set(parse(lines).events.query("kind != 'first-line'")["line"])
    with truth.open(encoding="utf-8", newline="") as file:
        named = [row for row in csv.DictReader(file) if row["line"] and row["event"] not in _OWN_WORDS]
    # The line of Python that raises is not the error's own.
    missing = [row for row in named if int(row["line"]) not in found and not row["detail"].startswith("raise ")]
    assert missing == []


def _named(name: str) -> list[str]:
    """Ids of what is said about how a published log ended."""
    parsed, _ = _read(name)
    run = Run(Job(name, source="logs", status="Failed"), parsed.steps, metrics_frame(), parsed.events)
    return [finding.id for finding in diagnose(run, datetime(2027, 1, 1, tzinfo=UTC)) if finding.id in IDS]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("sm06", ["cuda-out-of-memory"]),
        ("sm30", ["host-out-of-memory"]),
        ("is10", []),
        ("is11", ["nccl-timeout"]),
        ("is12", ["nccl-timeout"]),
        ("ns22", []),
        ("fail_exception", ["data-error"]),
        ("sm_toolkit_mpi_fail", ["data-error"]),
        ("fail_memerror", ["host-out-of-memory"]),
        ("fail_nan", ["nan-loss"]),
    ],
)
def test_the_end_is_explained_by_its_first_cause(name: str, ids: list[str]) -> None:
    assert _named(name) == ids


def test_nothing_ended_the_logs_that_went_well() -> None:
    failed = ("sm06", "sm30", "is10", "is11", "is12", "ns22", "fail_")
    for log in (*CORPUS.glob("logs/*.log"), *CORPUS.glob("frameworks/logs/*.log")):
        if not log.name.startswith(failed) and "_fail_" not in log.name:
            assert _named(log.stem) == [], log.name
