"""What must hold for any log: no input raises, and how lines are cut, wrapped or printed does not change what they say."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import Job, Node
from monitor.parse.events.completion import completed
from monitor.parse.lines.envelope import fragments
from monitor.parse.numbers import clock_s, number
from tests.parse.read import parse

_PIECES = st.sampled_from(
    [
        *(
            "iteration ",
            "10/ 20 | ",
            "elapsed time per iteration (ms): ",
            "Batch 9 Loss: ",
            ", Speed: ",
            " samples/sec",
            "(12s), ",
        ),
        *(
            "step: 3: step time is ",
            " 50%|##| 3/6 [00:01<00:01, ",
            "s/it]",
            "it/s]",
            "1e308",
            "-1",
            "nan",
            "1e-320",
            "#015",
        ),
        *(
            "#033[A",
            "\r",
            "\x1b[34m",
            "[1,mpirank:3,algo-2]<stdout>:",
            "[1,0]<stderr>:",
            "\x00",
            "{'loss': ",
            "'epoch': 1}",
        ),
        *("SM_TRAINING_ENV={", "Data for node: ", "Process rank: 99999999999999999999", "2026-13-45 99:99:99 "),
        *(
            "Env Hosts: x Hosts: ['a:b', 'algo-1:2']",
            "2026-03-04 08:39:26 Training - x",
            "step=1 step_time_s=",
            "9" * 30,
        ),
        "Total optimization steps = 7",
        "Total optimization steps = ,",
        "mpirun --host algo-1:99999999999,algo-2:" + "9" * 5000 + " -np 3 python",
        "mpirun --host algo-1:999999 -np 3 python",
        'SM_TRAINING_ENV={"hosts":[1,{}],"current_host":[],"num_gpus":"9999999","distribution_hosts":["a"]}',
        'SM_TRAINING_ENV={"instance_groups":[{"hosts":[1],"instance_type":{}}],"additional_framework_parameters":[]}',
        "SM_TRAINING_ENV={" + '"a":[' * 3000 + "}",
        "torchrun --nnodes 2 --nproc_per_node 99999999999 --node_rank 7 train.py",
        "Training seconds: " + "9" * 5000,
        "2026-02-31 08:00:00 Completed - x",
    ]
)
_LINES = st.lists(st.lists(_PIECES | st.text(max_size=8), max_size=8).map("".join), max_size=12)
_TIMES = st.lists(st.integers(1, 10_000), min_size=12, max_size=40)


@settings(max_examples=150, deadline=None)
@given(_LINES)
def test_no_line_raises_and_times_are_durations(lines: list[str]) -> None:
    parsed = parse([line.replace("\n", " ") for line in lines])
    times = parsed.steps["step_time_s"].dropna()
    assert (times > 0).all()
    assert np.isfinite(times).all()
    assert parsed.steps["line"].between(1, max(1, len(lines))).all()
    job = Job("j", nodes=(Node("algo-1"),), source="logs")
    completed(job, parsed.identity, parsed.events, lambda name: None, lambda name: None)


@settings(max_examples=60, deadline=None)
@given(_LINES, st.lists(st.integers(0, 12), max_size=4))
def test_where_pages_are_cut_and_their_order_do_not_matter(lines: list[str], cuts: list[int]) -> None:
    lines = [line.replace("\n", " ") for line in lines]
    whole, cut = parse(lines), parse(lines, cuts)
    assert whole.steps.equals(cut.steps)
    assert whole.events.equals(cut.events)
    assert whole.identity == cut.identity


@settings(max_examples=60, deadline=None)
@given(_TIMES)
def test_milliseconds_and_seconds_say_the_same(times: list[int]) -> None:
    form = " iteration {n}/ 999 | consumed samples: 4 | elapsed time per iteration ({unit}): {value} | lm loss: 1.0 |"
    ms = parse([form.format(n=i + 1, unit="ms", value=t) for i, t in enumerate(times)]).steps
    s = parse([form.format(n=i + 1, unit="s", value=t / 1000) for i, t in enumerate(times)]).steps
    np.testing.assert_allclose(ms["step_time_s"], s["step_time_s"], rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(_TIMES)
def test_a_clock_and_its_differences_say_the_same(times: list[int]) -> None:
    total = np.cumsum(times) / 1000
    steps = parse([f"step: {i + 1}: step time is {value!r}" for i, value in enumerate(total.tolist())]).steps
    assert set(steps["kind"]) == {"cumulative"}
    np.testing.assert_allclose(steps["step_time_s"], np.array(times) / 1000, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(_TIMES, st.integers(0, 15))
def test_the_envelope_changes_who_and_not_what(times: list[int], rank: int) -> None:
    lines = [f"step={i} step_time_s={value / 1000}" for i, value in enumerate(times)]
    bare = parse(lines).steps
    wrapped = parse([f"\x1b[34m[1,mpirank:{rank},algo-2]<stdout>:#015{line}\x1b[0m" for line in lines]).steps
    columns = ["step", "step_time_s", "kind", "format"]
    assert bare[columns].equals(wrapped[columns])
    assert set(wrapped["rank"]) == {rank}
    assert set(wrapped["node"]) == {"algo-2"}


@pytest.mark.parametrize("escape", ["\x1b", "#033"])
def test_colors_between_a_name_and_its_sign_change_nothing(escape: str) -> None:
    line = "{0}[0;33mstep{0}[0m: {1}/100, {0}[0;31mloss{0}[0m: 2.5, {0}[1mtime{0}[0m: 0.{2}"
    steps = parse([line.format(escape, step, 500 + step % 7) for step in range(1, 61)]).steps
    assert steps["step"].tolist() == list(range(1, 61))
    assert steps["step_time_s"].to_numpy() == pytest.approx([(500 + step % 7) / 1000 for step in range(1, 61)])


# Each puts one envelope around a line that begins with no envelope.
ENVELOPES = {
    "SDK colour": "\x1b[34m{}\x1b[0m",
    "MPI": "[1,mpirank:3,algo-2]<stdout>:{}",
    "MPI, tagless": "[1,mpirank:3,algo-2]:{}",
    "MPI, older": "[1,3]<stderr>:{}",
    "MPI, doubled": "[1,mpirank:3,algo-2]<stdout>:[1,mpirank:3,algo-2]<stdout>:{}",
    "MPI, the next one behind": "[1,3]<stdout>:{}[1,4]<stdout>:",
    "torchrun": "[default3]:{}",
    "torchrun role": "[trainer3]:{}",
    "PyTorch": "[rank3]: {}",
    "srun, relabelled": "[task3]: {}",
    "compose": "\x1b[36m1x4fc011ay-algo-2-nrgii |\x1b[0m {}",
    "compose, newer": "algo-2-nrgii-1  | {}",
    "kubectl": "[pod/vit-worker-1/pytorch] {}",
    "docker": "2026-03-04T08:12:20.123456789Z {}",
    "export": "2026-03-04T08:12:20.123Z {}",
    "tail": "2026-03-04T08:12:20.123000+00:00 job/algo-2-1700000000 {}",
    "tail, short": "2026-03-04T08:12:20 {}",
    "tail, coloured": "\x1b[32m2026-03-04T08:12:20+00:00\x1b[0m \x1b[36mjob/algo-2-1700000000\x1b[0m {}",
    "pdsh": "algo-2: {}",
    "escaped return": "#015{}",
    "return": "\r{}",
    "escaped colour": "#033[36m{}#033[39m",
    "none": "{}",
}
_FORMATS = Path(__file__).parents[1] / "data" / "formats"
_REAL_LINES = [
    line
    for log in sorted(_FORMATS.glob("*.log"))
    for line in log.read_text(encoding="utf-8").splitlines()[:40]
    if line.strip() and len(line) < 2000
]


def test_with_an_envelope_or_two_a_line_says_the_same(subtests: pytest.Subtests) -> None:
    def said(line: str) -> list[tuple[str, bool]]:
        return [(piece.text, piece.nested) for piece in fragments(line)]

    bare = {line: said(line) for line in _REAL_LINES}
    for at, (outer, inner) in enumerate(product(ENVELOPES, repeat=2)):
        # Rotated, so that all pairs together see all lines many times.
        start = 37 * at % len(_REAL_LINES)
        with subtests.test(outer=outer, inner=inner):
            for line in (_REAL_LINES[start:] + _REAL_LINES[:start])[:60]:
                assert said(ENVELOPES[outer].format(ENVELOPES[inner].format(line))) == bare[line]


@pytest.mark.parametrize(
    ("name", "rank", "host", "local_rank"),
    [
        ("MPI", 3, "algo-2", None),
        ("MPI, tagless", 3, "algo-2", None),
        ("MPI, older", 3, "", None),
        ("torchrun", None, "", 3),
        ("PyTorch", 3, "", None),
        ("compose", None, "algo-2", None),
        ("compose, newer", None, "algo-2", None),
        ("kubectl", None, "vit-worker-1", None),
        ("tail", None, "algo-2", None),
        ("tail, coloured", None, "algo-2", None),
        ("pdsh", None, "algo-2", None),
    ],
)
def test_the_envelope_says_who(name: str, rank: int | None, host: str, local_rank: int | None) -> None:
    (piece,) = fragments(ENVELOPES[name].format("words"))
    assert (piece.rank, piece.host, piece.local_rank) == (rank, host, local_rank)


@given(st.text())
def test_helpers_of_text_never_raise(text: str) -> None:
    number(text)
    clock_s(text)
    fragments(text)
