"""The first error is the one that began it: not a peer's echo, not one that was caught, not a file's first line."""

from __future__ import annotations

import pytest

from monitor.analyze.cascade import Cascade, cascade, cascade_words
from monitor.model import LogPage
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows
from tests.parse.read import parse


def _step(number: int, rank: int = 0) -> str:
    return f"rank={rank} step={number} step_time_s=0.5 loss=2.0"


PEER = "[rank0]: RuntimeError: [pair.cc:77] Connection closed by peer [10.0.0.9]:4711"
OWN = "[rank3]: ValueError: 48 rows do not fit 64"
STEPS = [_step(number) for number in range(1, 9)]


def _first(lines: list[str], failed: bool = False) -> Cascade | None:
    parsed = parse(lines)
    return cascade(parsed.events, parsed.steps, failed)


@pytest.mark.parametrize(
    ("lines", "rank", "text"),
    [
        ([*STEPS, OWN, PEER], 3, "ValueError"),
        # The peers' lines may come first.
        ([*STEPS, PEER, OWN], 3, "ValueError"),
        ([*STEPS, PEER], 0, "Connection closed"),
        # Caught: the training went on.
        ([*STEPS[:3], "OSError: a worker found no file", *STEPS[3:], OWN], 3, "ValueError"),
        ([*STEPS[:3], "OSError: a worker found no file", *STEPS[3:]], None, None),
        # The other ranks finish a step or two.
        ([*STEPS, OWN, _step(9), _step(10)], 3, "ValueError"),
        # Python's own word for an exception that does not matter.
        (["Exception ignored in: <function Reader.__del__>", "AttributeError: 'x'", *STEPS, OWN], 3, "ValueError"),
        (
            [*STEPS, "[E ProcessGroupNCCL.cpp:5] [Rank 6] Watchdog caught collective operation timeout: W"],
            6,
            "Watchdog caught",
        ),
        ([*STEPS, "[rank2]: Traceback (most recent call last):"], 2, "Traceback"),
        ([*STEPS, "Killed", "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0"], None, "Killed"),
        (STEPS, None, None),
        ([], None, None),
    ],
)
def test_the_first_error(lines: list[str], rank: int | None, text: str | None) -> None:
    found = _first(lines)
    assert (found is None) == (text is None)
    if found is not None and text is not None:
        assert text in found.text
        assert found.rank == rank


def test_what_followed_is_counted() -> None:
    lines = [*STEPS, OWN, PEER, "[rank1]: ncclRemoteError: A call failed", "[rank1]: RuntimeError: broken pipe"]
    found = _first(lines)
    assert found is not None
    assert (found.followers, found.ranks) == (3, (0, 1))
    assert cascade_words(found) == (
        "rank 3, log line 9: ValueError: 48 rows do not fit 64 (3 more errors followed, of ranks 0, 1)"
        if not found.node
        else "rank 3 on algo-1, log line 9: ValueError: 48 rows do not fit 64 (3 more errors followed, of ranks 0, 1)"
    )


def test_an_error_before_all_epochs_of_a_log_without_steps_was_got_over() -> None:
    epochs = [f"Epoch {epoch} loss {2 / epoch:.3f}" for epoch in range(1, 9)]
    assert _first([OWN, *epochs]) is None
    found = _first([*epochs, OWN])
    assert found is not None
    assert found.line == 9
    assert _first([OWN, epochs[0]]) is not None


@pytest.mark.parametrize(
    ("behind", "text"),
    [
        ([], None),
        (["RuntimeError: the loss is gone"], "RuntimeError: the loss is gone"),
        # Nobody caught it.
        (
            [
                "Traceback (most recent call last):",
                '  File "train.py", line 90, in <module>',
                "    main()",
                "ValueError: no answer",
            ],
            "ValueError: no answer",
        ),
        # The launcher saw a process end.
        (["sagemaker-training-toolkit ERROR    Encountered exit_code 1"], "ValueError: no number in answer 5"),
    ],
)
def test_an_error_like_several_that_were_got_over_ended_nothing(behind: list[str], text: str | None) -> None:
    lines = [line for at, step in enumerate(STEPS) for line in (step, f"ValueError: no number in answer {at}")]
    found = _first([*lines, *behind])
    assert (found.text if found else None) == text
    if not behind:
        known = _first(lines, failed=True)
        assert known is not None
        assert known.text == "ValueError: no number in answer 5"


def test_a_traceback_that_is_cut_off_is_called_that() -> None:
    found = _first(
        [*STEPS, "Traceback (most recent call last):", '  File "/opt/ml/code/train.py", line 4, in <module>']
    )
    assert found is not None
    assert cascade_words(found).endswith("log line 9: a traceback whose last line is missing")


def _streams(*pages: tuple[str, list[tuple[int | None, str]]]) -> Cascade | None:
    raw = RawRows()
    for node, lines in pages:
        raw.add(LogPage.of(f"job/{node}-1", node, 1, [line for _, line in lines], tuple(at for at, _ in lines)))
    parsed = assemble(raw.steps, raw.events)
    return cascade(parsed.events, parsed.steps)


def test_streams_are_ordered_by_time() -> None:
    first = [(1000, _step(1)), (9000, "RuntimeError: late"), (9100, "OSError: later")]
    second = [(1000, _step(1)), (4000, "ValueError: early")]
    found = _streams(("algo-1", first), ("algo-2", second))
    assert found is not None
    assert (found.node, found.followers) == ("algo-2", 2)


def test_a_node_that_goes_on_shows_that_an_error_was_caught() -> None:
    first = [(1000 * number, _step(number)) for number in range(1, 10)]
    second: list[tuple[int | None, str]] = [(2500, "OSError: tried again")]
    assert _streams(("algo-1", list(first)), ("algo-2", second)) is None
    # Without times nothing is known of it.
    found = _streams(("algo-1", [(None, line) for _, line in first]), ("algo-2", [(None, "OSError: tried again")]))
    assert found is not None


def test_a_peer_that_was_lost_long_before_is_not_explained_by_a_later_error() -> None:
    lines = [(1000, "RuntimeError: Connection reset by peer"), (900_000, "OSError: the disk is full")]
    found = _streams(("algo-1", list(lines)))
    assert found is not None
    assert "Connection reset" in found.text
