"""The cause of an end is the first one, whatever came after it, in whatever order lines and streams arrive."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.analyze.ending import Ending, ending_of
from monitor.analyze.journal import nan_loss
from monitor.model import Job, LogCoverage, Run, metrics_frame
from tests.analyze.failing_logs import Log
from tests.analyze.failing_logs import raised as raised_in_program
from tests.analyze.failing_programs import ALL
from tests.diagnose.failure_cases import CHILD, OOM, PEER, WATCHDOG, raised, run_of, trained, two
from tests.parse.read import parse


def _run(lines: tuple[str, ...]) -> Run:
    parsed = parse(list(lines))
    return Run(
        Job("job", source="logs", status="Failed"),
        parsed.steps,
        metrics_frame(),
        parsed.events,
        logs=LogCoverage(1, len(lines)),
    )


def _ending(lines: tuple[str, ...]) -> Ending | None:
    run = _run(lines)
    return ending_of(run, nan_loss(run.steps, run.events))


@pytest.mark.parametrize("log", ALL.values(), ids=ALL.keys())
def test_the_cause_is_named_where_it_is_seen(log: Log) -> None:
    found = _ending(log.lines)
    assert found is not None
    assert found.id == log.id, (found.kind, found.text, found.frames)
    assert (found.first.rank if found.first else None) == log.rank


_ENDS = {
    "cuda-out-of-memory": raised(14, 3590.5, OOM),
    "host-out-of-memory": raised(14, 3590.5, "MemoryError"),
    "data-error": raised(14, 3590.5, "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff"),
    "script-error": raised(14, 3590.5, "ImportError: cannot import name 'heads'"),
    "nccl-timeout": [(3590.5, WATCHDOG.format(rank=14)), (3591.0, "[rank14]: Fatal Python error: Aborted")],
}
_ECHOES = [
    *raised(0, 3590.9, PEER),
    (3591.5, "[rank1]: RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.9]:4711"),
    (
        3592.0,
        "W0304 77 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 383 closing signal SIGTERM",
    ),
    (3592.5, CHILD),
]


@settings(max_examples=30, deadline=None)
@given(
    id=st.sampled_from(sorted(_ENDS)),
    skew=st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
    turned=st.booleans(),
    page=st.integers(3, 40),
)
def test_clocks_and_the_order_of_streams_do_not_matter(
    id: str, skew: tuple[float, float], turned: bool, page: int
) -> None:
    streams = two(_ECHOES, _ENDS[id], 3500.0)
    order = ("algo-2", "algo-1") if turned else ("algo-1", "algo-2")
    run = run_of(streams, skew_s=dict(zip(streams, skew, strict=True)), order=order, page=page)
    found = ending_of(run)
    assert found is not None
    assert found.first is not None
    assert (found.id, found.first.rank, found.first.node) == (id, 14, "algo-2")


# Two clocks that are four seconds apart with what happened between the errors, as far as they are taken for equal.
@settings(max_examples=20, deadline=None)
@given(skew=st.tuples(st.floats(-1.8, 1.8), st.floats(-1.8, 1.8)))
@example(skew=(1.8, -1.8))
def test_of_equal_errors_the_launchers_word_decides_where_clocks_cannot(skew: tuple[float, float]) -> None:
    verdict = [(3593.0 + 0.1 * n, line) for n, line in enumerate(("Root Cause (first observed failure):",
               "[0]:", "  rank      : 14 (local_rank: 6)", "  exitcode  : 1 (pid: 77)"))]  # fmt: skip
    streams = two(raised(3, 3590.9, OOM), [*raised(14, 3590.5, OOM), *verdict], 3500.0)
    found = ending_of(run_of(streams, skew_s=dict(zip(streams, skew, strict=True))))
    assert found is not None
    assert found.first is not None
    assert found.first.rank == 14


@pytest.mark.parametrize(
    ("reason", "id"),
    [
        ("InternalServerError: We encountered an internal error. Please try again.", ""),
        ("ClientError: Cannot pull algorithm container. Either the image does not exist.", ""),
        ("ClientError: Artifact upload failed:Insufficient disk space", ""),
        (
            "ClientError: Data download failed:Unable to download object s3://b/k (AccessDenied: Access Denied)",
            "access-denied",
        ),
        ("AlgorithmError: , exit code: 1", ""),
        ("AlgorithmError: , exit code: 143", ""),
        ("AlgorithmError: , exit code: 137", "host-out-of-memory"),
        ("AlgorithmError: OutOfMemory: Process killed by SIGKILL (signal 9), exit code: 137", "host-out-of-memory"),
        (
            'AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "[1,14]<stderr>:RuntimeError[1,14]<stderr>:: CUDA '
            'out of memory. Tried to allocate 64.00 MiB (GPU 6; 15.78 GiB total capacity" Command "mpirun --host a"',
            "cuda-out-of-memory",
        ),
        ('AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "" Command "python train.py"', ""),
        (
            'AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "raise ValueError(msg) ValueError: lr must be '
            'positive" Command "python train.py"',
            "script-error",
        ),
        (
            'AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "RuntimeError: Connection closed by peer" Command"',
            "",
        ),
        (None, ""),
    ],
)
def test_without_a_log_the_reason_is_all_there_is(reason: str | None, id: str) -> None:
    found = ending_of(run_of({}, reason=reason))
    assert found is not None
    assert found.id == id


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("OSError: [Errno 122] Disk quota exceeded", "quota"),
        (
            "RuntimeError: [enforce fail at inline_container.cc:764] . PytorchStreamWriter failed writing file data/3",
            "full",
        ),
        ("RuntimeError: [enforce fail at inline_container.cc:595] . unexpected pos 64 vs 0", "full"),
        ("RuntimeError: the queue was full", None),
    ],
)
def test_a_file_that_cannot_be_written_has_a_reason(text: str, why: str | None) -> None:
    found = _ending(raised_in_program(text))
    assert found is not None
    assert (why or "") in found.why
    assert bool(found.why) == (why is not None)


def test_a_frame_of_the_program_is_kept() -> None:
    found = _ending(ALL["column"].lines)
    assert found is not None
    assert found.frames == (
        "train.py:9 in <module>",
        "data: /opt/conda/lib/python3.11/site-packages/pandas/core/indexes/base.py:3812 in get_loc",
    )


def test_an_error_that_the_job_got_over_is_no_end() -> None:
    lines = [
        *trained(0, 400.0),
        *raised(0, 410.0, OOM),
        *((500.0 + n, f"rank=0 step={100 + n} loss=1.0") for n in range(9)),
    ]
    found = ending_of(run_of({"algo-1": lines}, end_s=600.0))
    assert found is not None
    assert found.id == ""


def test_a_silence_belongs_to_the_timeout_that_ends_it() -> None:
    found = ending_of(run_of(two([(3500.0, WATCHDOG.format(rank=0))], (), 2900.0)))
    assert found is not None
    assert found.at is not None
    assert found.since is not None
    assert (found.at - found.since).total_seconds() == pytest.approx(600.0)
