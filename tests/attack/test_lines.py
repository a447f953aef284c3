"""One line costs one line: whatever it holds, all other lines are read, and what was not read is told."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from benchmarks.attack import attacked
from benchmarks.hostile.account import NAME, START, OneJob, answer
from benchmarks.hostile.lines import PLANTED
from monitor.masking import without_secrets
from monitor.model import LogPage, Report
from monitor.parse.assemble import assemble
from monitor.parse.fields.keys import key_of
from monitor.parse.identity import identify
from monitor.parse.numbers import MOST_PROCESSES, count, process_number, whole_number
from monitor.parse.pages import gates, page_rows, plans
from monitor.parse.recognise import RawRows, Recogniser
from monitor.parse.rows import EventRow, Reading
from monitor.parse.user import step_pattern
from monitor.review.reviewer import Reviewer

_STEPS = [f"step={step} step_time_s={1 + step % 3 / 100} loss=2.0" for step in range(1, 41)]
_OWN = set(range(1, 41))
_LINE = 100_000


def _raw(lines: Sequence[str], extra: tuple[Recogniser, ...] = ()) -> RawRows:
    raw = RawRows(extra)
    raw.add(LogPage.of("algo-1", "algo-1", 1, [line.replace("\n", " ") for line in lines]))
    return raw


@pytest.mark.parametrize("line", PLANTED, ids=lambda line: line[:40].encode("ascii", "replace").decode())
def test_a_hostile_line_takes_no_other_with_it(line: str) -> None:
    raw = _raw([*_STEPS[:20], line, *_STEPS[20:]])
    assert list(raw.failures) == []
    steps = assemble(raw.steps, raw.events).steps
    assert set(steps.loc[steps["line"] != 21, "step"]) == _OWN


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_review_survives_all_of_them_at_once(newest_first: bool) -> None:
    lines = [line.replace("\n", " ").encode() for line in (*_STEPS, *PLANTED, *_STEPS)]
    now = START + timedelta(hours=1)
    reviewer = Reviewer(OneJob(lines), NAME)
    told = list(reviewer.reviews(lambda: now)) if newest_first else [reviewer.review(now)]
    assert all(report.faults == () for report in told)
    assert set(told[-1].run.steps["step"].dropna()) >= _OWN


def test_mutated_logs_say_the_same_from_both_ends_and_break_nothing() -> None:
    runs = [attacked(seed, whole=seed % 40 == 0) for seed in range(90)]
    assert sum(run.steps for run in runs) > 300
    assert [run.seeds for run in runs if run.errors] == []


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("7", 7),
        ("6,785", 6785),
        ("120.0", 120),
        (120.0, 120),
        ("9" * 15, 10**15 - 1),
        (10**15 - 1, 10**15 - 1),
        ("٣", 3),
    ]
    + [(text, None) for text in ("9" * 16, "9" * 320, "9" * 5000, "", "-1", "1.5", "x", "1e3", "²", None)]
    + [(number, None) for number in (10**15, 10**320, -1, 1.5, 1e300, float("nan"), float("inf"))],
)
def test_counts_are_bounded_where_they_are_read(printed: str | float | None, expected: int | None) -> None:
    assert whole_number(printed) == expected
    if isinstance(printed, str) and printed.isdecimal():
        assert count(printed) == expected


def test_ranks_are_bounded_where_they_are_read() -> None:
    assert process_number("131071") == MOST_PROCESSES - 1
    assert process_number(str(MOST_PROCESSES)) is None
    raw = _raw(['{"rank": 3000000000, "step": 5, "loss": 1.0}', "step=5 step_time_s=0.5 rank=3000000000"])
    steps = assemble(raw.steps, raw.events).steps
    assert len(steps) > 0
    assert steps["rank"].isna().all()
    own = step_pattern(r"r(?P<rank>\d+) s(?P<step>\d+) t(?P<time_s>\S+)")
    steps = assemble(_raw(["r3000000000 s5 t0.5"], (own,)).steps, ()).steps
    assert steps["rank"].isna().all()
    assert list(steps["step"]) == [5]


def test_facts_with_numbers_beyond_all_bounds_are_no_facts() -> None:
    kinds = {
        "planned-steps": "9" * 30,
        "torchrun": f"{'9' * 30} 8 0",
        "rank-order": f"algo-1:{'9' * 30}",
        "rank-map-rank": "9" * 30,
    }
    rows = [
        EventRow("s", "algo-1", place, 0, None, None, "", kind, text)
        for place, (kind, text) in enumerate(kinds.items())
    ]
    found = identify(rows)
    assert (found.planned_steps, dict(found.first_rank), dict(found.rank_host)) == (None, {}, {})


@pytest.mark.parametrize("printed", ["9" * 19, "9" * 320, "9" * 5000, "-" + "9" * 320, "1e400", "18446744073709551616"])
def test_a_setting_beyond_all_numbers_breaks_no_check(printed: str) -> None:
    names = (
        "batch_size",
        "microbatches",
        "hidden_size",
        "num_layers",
        "partitions",
        "seq_length",
        "processes_per_host",
    )
    library = f'{{"pipeline_parallel_degree": {printed}, "microbatches": {printed}, "ddp": true}}'
    given = {
        **dict.fromkeys(names, printed),
        "mp_parameters": library,
        "sagemaker_mpi_num_of_processes_per_host": printed,
    }
    job = OneJob([line.encode() for line in _STEPS], answer(40, HyperParameters=given))
    told = Reviewer(job, NAME).review(START + timedelta(hours=1))
    assert told.faults == ()
    assert set(told.run.steps["step"]) == _OWN


def test_a_name_that_is_no_name_by_its_length_means_nothing() -> None:
    assert key_of("train/" * 10 + "loss") is not None
    assert all(key_of(name) is None for name in ("a/" * 1200 + "loss", "l_" * 1200, "loss (" * 1200 + ")"))


def _fails(on: str) -> Recogniser:
    def read(text: str) -> Iterator[Reading]:
        if on in text:
            raise RecursionError("too deep")
        yield from ()

    return read


def test_a_reader_that_fails_costs_its_lines_and_is_counted() -> None:
    raw = _raw(_STEPS, (_fails("step=7 "),))
    (failed,) = raw.failures
    assert (failed.lines, type(failed.error)) == (1, RecursionError)
    assert set(assemble(raw.steps, raw.events).steps["step"]) == _OWN - {7}


def test_an_event_reader_that_fails_leaves_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def events(text: str) -> Iterator[tuple[str, str]]:
        raise KeyError("text")
        yield "", ""

    monkeypatch.setattr(gates, "ALL", gates.ALL._replace(events=(events,)))
    monkeypatch.setattr(page_rows, "ALL", gates.ALL)
    raw = _raw(_STEPS, (_fails("nowhere"),))
    assert [failed.lines for failed in raw.failures] == [40]
    assert set(assemble(raw.steps, raw.events).steps["step"]) == _OWN


def test_a_page_whose_lines_cannot_be_read_together_is_read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        raise OverflowError("beyond int32")

    monkeypatch.setattr(plans, "learn", fails)
    raw = _raw(_STEPS * 2)
    assert [failed.lines for failed in raw.failures] == [0]
    assert set(assemble(raw.steps, raw.events).steps["step"]) == _OWN


def test_a_review_tells_of_lines_that_a_reader_failed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def review(extra: tuple[Recogniser, ...]) -> Report:
        return Reviewer(OneJob([line.encode() for line in _STEPS]), NAME, extra=extra).review(
            START + timedelta(hours=1)
        )

    (gap,) = [gap for gap in review((_fails("step=7 "),)).run.gaps if gap.what == "logs"]
    assert gap.why == "1 log line could not be read because a reader failed: test_lines (RecursionError)."
    assert "traceback" in gap.remedy
    assert [gap for gap in review((_fails("nowhere"),)).run.gaps if gap.what == "logs"] == []


# What a line of 100 kB is made of; readers and masks have to get through each of them.
_PIECES = (
    *(
        "step ",
        "1 ",
        "9",
        "[",
        "{",
        "(",
        '{"step": ',
        '"a": {',
        "loss=",
        "=1 ",
        ": ",
        "a/",
        "l_",
        "|",
        "%|",
        "it/s",
        "\x1b[",
        "\r",
        "#0",
    ),
    *(
        "token=",
        'token="',
        'token="[',
        '"a", ',
        "--token ",
        "authorization: ",
        "://a:",
        "://aaaaaaaaaaaaaaaaaaaaaaa1",
        "wandb ",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "basic ",
        "eyJaaaaaaaaaaaaa",
        "<token>",
        "?token=",
        "key word ",
        "-",
        "/",
        "sk-",
        "a.b.c-",
    ),
    *(
        '\\"token\\": \\"',
        "login a ",
        '"name":"token",',
        "aws_key1_",
        "0123456789abcdef",
        "-u a:",
        "AKIA",
        "ENV a ",
        "\\\\",
        "`'\"",
    ),
    *(
        "SM_HPS={",
        "SM_TRAINING_ENV={",
        "mpirun --host a:1,",
        "torchrun --nnodes=1 ",
        "Error: ",
        "Timed out waiting ",
        "100%|",
        "nan ",
    ),
)


@pytest.mark.parametrize("piece", _PIECES)
def test_a_long_line_takes_no_more_than_its_length(piece: str) -> None:
    """Twice the line may take twice the time: an effort that grows with the square would take seconds."""
    line = f"step=1 loss=2 key token :// ----- wandb {piece * (_LINE // len(piece))}"[:_LINE]
    begun_s = time.thread_time()
    _raw([line])
    read_s = time.thread_time() - begun_s
    without_secrets(line)
    assert read_s < 1.5
    assert time.thread_time() - begun_s - read_s < 1.5
