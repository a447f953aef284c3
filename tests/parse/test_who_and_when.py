"""Ranks, hosts, segments and clocks: tables of small logs with one obvious answer each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.model import LogPage
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.lines.envelope import fragments, parted_bytes
from monitor.parse.lines.stamps import written_at_ms
from monitor.parse.numbers import clock_s
from monitor.parse.recognise import RawRows
from monitor.parse.steps import clocks
from tests.parse.read import pages, parse

STEP = "step=1 step_time_s=2.0"


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("plain text", [("plain text", None, "")]),
        ("\x1b[34m[1,mpirank:14,algo-2]<stderr>:text\x1b[0m", [("text", 14, "algo-2")]),
        ("[1,3]<stdout>:older form", [("older form", 3, "")]),
        ("[1,0] is a list of the script's", [("[1,0] is a list of the script's", None, "")]),
        (
            "[1,mpirank:0,algo-1]<stdout>:one[1,mpirank:1,algo-1]<stdout>:two",
            [("one", 0, "algo-1"), ("two", 1, "algo-1")],
        ),
        ("#015first#015second", [("first", None, ""), ("second", None, "")]),
        ("tail of a line [1,2]<stdout>:next", [("tail of a line ", None, ""), ("next", 2, "")]),
        ("   \r \x1b[0m", []),
        ("[32mstep: 7[39m loss: 2.5", [("step: 7 loss: 2.5", None, "")]),
        ("[1m 40/500[0m [32m━━[0m 4s", [(" 40/500 ━━ 4s", None, "")]),
        ("[38;2;10;20;30mstep: 7", [("step: 7", None, "")]),
        ("step 7 after [35m 20s] of [1m each", [("step 7 after [35m 20s] of [1m each", None, "")]),
    ],
)
def test_the_envelope_is_taken_off(line: str, pieces: list[tuple[str, int | None, str]]) -> None:
    assert [(piece.text, piece.rank, piece.host) for piece in fragments(line)] == pieces


def test_the_rank_map_wins_over_the_tag() -> None:
    head = ["mpirun --host algo-3:8,algo-1:8,algo-2:8 -np 24 python train.py"]
    lines = [f"[1,mpirank:{rank},algo-{rank // 8 + 1}]<stdout>:{STEP}" for rank in (0, 8, 16)]
    assert list(parse(head + lines).steps["node"]) == ["algo-3", "algo-1", "algo-2"]


def test_a_first_line_without_a_time_does_not_hide_a_clock() -> None:
    lines = ["step 0 loss 9.0", *(f"step {n} loss 8.5 elapsed {7.5 * n:.1f}s" for n in range(1, 14))]
    steps = parse(lines).steps
    assert steps["step_time_s"].dropna().tolist() == [7.5] * len(steps["step_time_s"].dropna())
    assert len(steps["step_time_s"].dropna()) >= 12


def test_addresses_in_the_rank_map_become_the_hosts_names() -> None:
    head = [
        "mpirun --host algo-2:1,algo-1:1 -np 2 python train.py",
        " Data for node: ip-10-0-1-7#011Num slots: 1",
        " #011Process OMPI jobid: [4711,1] App: 0 Process rank: 0 Bound: N/A",
        " Data for node: ip-10-0-1-9#011Num slots: 1",
        " #011Process OMPI jobid: [4711,1] App: 0 Process rank: 1 Bound: N/A",
    ]
    parsed = parse([*head, f"[1,1]<stdout>:{STEP}"])
    assert parsed.identity.hosts == ("algo-2", "algo-1")
    assert list(parsed.steps["node"]) == ["algo-1"]


@pytest.mark.parametrize(
    ("head", "rank", "node"),
    [
        ([], 0, "algo-1"),  # rank 0 runs where mpirun runs, and that is the stream's host
        (["Env Hosts: ['algo-2', 'algo-1'] Hosts: ['algo-2:1', 'algo-1:1'] process_per_hosts: 1"], 1, "algo-1"),
        (['SM_TRAINING_ENV={"hosts":["algo-1","algo-2"],"num_gpus":8}'], 9, ""),  # sorted hosts are no rank order
        (['SM_TRAINING_ENV={"distribution_hosts":["algo-2","algo-1"],"num_gpus":8}'], 9, "algo-1"),
    ],
)
def test_a_bare_rank_is_placed_only_where_that_is_safe(head: list[str], rank: int, node: str) -> None:
    assert list(parse([*head, f"[1,{rank}]<stdout>:{STEP}"]).steps["node"]) == [node]


def _streams(*texts: tuple[str, list[str]]) -> Parsed:
    """What streams of the given names say, each of the node that its name names."""
    raw = RawRows()
    for stream, lines in texts:
        for page in pages(lines, stream=stream, node="-".join(stream.rpartition("/")[2].split("-")[:2])):
            raw.add(page)
    return assemble(raw.steps, raw.events)


def _torchrun(node_rank: int) -> str:
    return f"torchrun --nnodes 2 --nproc_per_node 4 --master_addr algo-2 --master_port 7777 --node_rank {node_rank} train.py"


def test_torchrun_says_which_ranks_a_node_runs_whatever_its_name() -> None:
    parsed = _streams(
        ("job/algo-1-1700000000", [_torchrun(1), "[rank6]: " + STEP, STEP]),
        ("job/algo-2-1700000003", [_torchrun(0), "[rank1]: " + STEP, STEP]),
    )
    assert list(parsed.steps["node"]) == ["algo-1", "algo-1", "algo-2", "algo-2"]
    identity = parsed.identity
    assert [identity.rank_of(3, stream) for stream in ("job/algo-1-1700000000", "job/algo-2-1700000003")] == [7, 3]
    assert identity.rank_of(4, "job/algo-1-1700000000") is None  # it runs four processes
    assert identity.rank_of(0, "elsewhere") is None


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nnodes 2 --nproc_per_node 4 train.py",  # which of the two?
        "torchrun --nnodes 2 --nproc_per_node 4 --node_rank $SLURM_PROCID train.py",
        "torchrun --nnodes 2 --nproc_per_node gpu --node_rank 1 train.py",
        "torchrun --nnodes 1:2 --nproc_per_node 4 --node_rank 1 train.py",
        "torchrun --nnodes 2 --nproc_per_node 4 --node_rank 2 train.py",
        _torchrun(0) + "\n" + _torchrun(1),  # two nodes in one stream
    ],
)
def test_no_arithmetic_where_the_command_does_not_say(command: str) -> None:
    parsed = parse([*command.split("\n"), STEP])
    assert parsed.identity.rank_of(1, "algo-1.log") is None


def test_one_node_needs_no_number() -> None:
    assert parse(["torchrun --nproc_per_node=4 --nnodes=1 train.py", STEP]).identity.rank_of(3, "algo-1.log") == 3


def test_processes_of_a_host_are_counted_and_not_taken_for_its_gpus() -> None:
    environment = (
        'SM_TRAINING_ENV={"additional_framework_parameters":{"sagemaker_mpi_num_of_processes_per_host":2},'
        '"distribution_hosts":["algo-2","algo-1"],"num_gpus":8}'
    )
    lines = [environment, *(f"[1,{rank}]<stdout>:{STEP}" for rank in range(4))]
    assert list(parse(lines).steps["node"]) == ["algo-2", "algo-2", "algo-1", "algo-1"]


def test_a_job_started_again_has_its_hosts_in_the_order_of_that_attempt() -> None:
    def attempt(first: str, second: str) -> list[str]:
        return [f"mpirun --host {first}:1,{second}:1 -np 2 python train.py", f"[1,1]<stdout>:{STEP}"]

    parsed = _streams(
        ("job/algo-1-1700000000", attempt("algo-1", "algo-2")), ("job/algo-1-1700009999", attempt("algo-2", "algo-1"))
    )
    assert list(parsed.steps["node"]) == ["algo-2", "algo-1"]


def test_a_counter_that_begins_again_is_a_new_segment_and_nothing_is_negative() -> None:
    lines = [f"step: {i}: step time is {i * 0.5}" for i in range(1, 13)] * 2
    steps = parse(lines).steps
    assert list(steps["segment"]) == [0] * 12 + [1] * 12
    assert (steps["step_time_s"] == 0.5).all()


@pytest.mark.parametrize(("starts_s", "segments"), [(400, [0, 1]), (50, [0, 0])])
def test_streams_of_a_node_that_was_started_again_are_joined_in_time(starts_s: int, segments: list[int]) -> None:
    raw = RawRows()
    for stream, first, start_s in (("job/algo-1-1700000999", 7, starts_s), ("job/algo-1-1700000000", 1, 0)):
        lines = [f"step={step} step_time_s=2.0" for step in range(first, first + 12)]
        times = tuple(1_700_000_000_000 + (start_s + 10 * place) * 1000 for place in range(12))
        raw.add(LogPage.of(stream, "algo-1", 1, lines, times))
    steps = assemble(raw.steps, raw.events).steps
    by_stream = steps.groupby("stream", observed=True)["segment"].unique()
    assert [list(found) for found in by_stream] == [[segment] for segment in segments]


def test_hosts_and_counts_come_from_the_environment_and_secrets_do_not() -> None:
    parsed = parse(
        [
            'SM_TRAINING_ENV={"current_host":"algo-1","hosts":["algo-1","algo-2"],"num_gpus":8,"num_cpus":96,'
            '"hyperparameters":{"hf_token":"hf_secret"},"instance_groups":[{"instance_group_name":"g",'
            '"instance_type":"ml.p4d.24xlarge","hosts":["algo-2","algo-1"]}]}'
        ]
    )
    assert parsed.identity.hosts == ("algo-1", "algo-2")
    assert (parsed.identity.gpus, parsed.identity.vcpus) == (8, 96)
    assert parsed.identity.host_type == {"algo-1": "ml.p4d.24xlarge", "algo-2": "ml.p4d.24xlarge"}
    assert not parsed.events["text"].str.contains("secret").any()


@pytest.mark.parametrize(
    ("values", "clock"),
    [
        ([0.5, 1.0, 1.5, 2.0], True),
        ([2.0, 2.1, 2.05, 2.0], False),  # it falls
        ([2.0, 2.0, 2.0, 2.0], False),  # it stands
        ([2.0, 2.1], False),  # two step times that happen to rise
        ([2.0, 2.01, 2.02, 2.03], False),
        (list(np.round(np.linspace(2.0, 2.2, 60), 2)), False),  # slow drift of step times, as printed
        ([60.0, *np.arange(61.0, 80.0)], True),  # a first step of a minute
        (list(np.linspace(1.0, 60.0, 60)), True),
    ],
)
def test_what_passes_for_a_clock(values: list[float], clock: bool) -> None:
    assert clocks.is_clock(np.array(values)) is clock


def test_whole_seconds_are_differenced_over_enough_of_them() -> None:
    steps = np.arange(100.0)
    clock = np.floor(10 + steps * 0.22)
    out = clocks.differenced(steps, clock, 1.0, -1.0)
    assert out[0] == 10.0
    assert np.isnan(out[1])
    assert out[60:] == pytest.approx(np.full(40, 0.22), rel=0.1)


def test_a_start_up_is_no_step_where_the_clock_stands_behind_it() -> None:
    assert np.isnan(clocks.differenced(np.arange(1.0, 18.0), np.full(17, 5.0), 1.0, 0.0)).all()


def test_a_clock_of_tenths_that_stands_between_reports_is_differenced_over_enough_of_them() -> None:
    steps = np.arange(1.0, 101.0)
    out = clocks.differenced(steps, np.round(4.8 + steps * 0.022, 1), 0.0, 0.0)
    assert out[60:] == pytest.approx(np.full(40, 0.022), rel=0.15)


def test_an_evaluation_of_some_seconds_is_spread_over_no_steps() -> None:
    steps = np.arange(1.0, 61.0)
    clock = np.floor(steps * 0.5 + 6 * ((steps - 1) // 10))
    out = clocks.differenced(steps, clock, 1.0, 0.0)
    assert np.nanmedian(out) == pytest.approx(0.5, rel=0.15)


@pytest.mark.parametrize(
    ("steps", "spans_s", "each_s"),
    [
        pytest.param([100, 200, 300], [50.0, 40.0, 30.0], [0.5, 0.4, 0.3], id="from the start"),
        pytest.param([99, 199, 299], [50.0, 40.0, 30.0], [0.5, 0.4, 0.3], id="counted from 0"),
        pytest.param([1, 100, 200], [3.5, 49.5, 40.0], [3.5, 0.5, 0.4], id="the first step by itself"),
        pytest.param([1200, 1300, 1400], [50.0, 40.0, 30.0], [0.5, 0.4, 0.3], id="in the middle of a run"),
        pytest.param([100, 100, 200], [50.0, 1.0, 40.0], [0.5, math.nan, 0.4], id="a counter that stands"),
    ],
)
def test_seconds_since_the_last_report_are_shared_among_its_steps(
    steps: list[float], spans_s: list[float], each_s: list[float]
) -> None:
    found = clocks.shared(np.array(steps, float), np.array(spans_s), 100.0)
    assert found.tolist() == pytest.approx(each_s, nan_ok=True)


def test_a_wrong_batch_size_in_the_rate_does_not_reach_the_step_time() -> None:
    steps, rate = np.arange(9.0, 200.0, 10.0), np.full(20, 64.0)
    clock = np.arange(1, 21) * 20.0
    times, _ = clocks.by_rate_and_clock(steps, clock, rate, 1.0, clocks.steps_before_first(steps))
    assert times == pytest.approx(np.full(20, 2.0))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:04", 4.0),
        ("36:27", 2187.0),
        ("1:00:44", 3644.0),
        ("1 day, 2:00:00", 93600.0),
        ("?", None),
        ("1:2:3:4", None),
    ],
)
def test_clocks_of_bars(text: str, seconds: float | None) -> None:
    assert clock_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-03-04 08:12:20,001 toolkit INFO", 1772611940001),
        ("[2026-03-04 08:12:20.5: I file.py:1] x", 1772611940500),
        ("no time here", None),
        ("2026-02-31 08:12:20 is no day", None),
    ],
)
def test_the_time_a_line_carries(text: str, ms: int | None) -> None:
    assert written_at_ms(text) == ms


@pytest.mark.parametrize("first", [0, 1, 10])
def test_the_first_step_told_again_is_another_start_where_no_other_step_is(first: int) -> None:
    starts = [(0, 0), (10, 600), (0, 7_200), (0, 9_000), (10, 9_600), (20, 10_200)]
    starts = [(first + step, s) for step, s in starts]
    lines = [
        text
        for step, s in starts
        for text in (f"[03.24.26|{10 + s // 3600:02}:{s // 60 % 60:02}:00] Iter {step} Done. | loss: 1.{step}", "saved")
    ]
    found = parse(lines).steps
    assert found["segment"].tolist() == [0, 0, 1, 2, 2, 2]
    assert found["step_time_s"].dropna().tolist() == pytest.approx([60.0, 60.0, 60.0])

    # Two ranks without a name tell each step twice.
    found = parse([f"Iter {step} | loss: 1.{step}{rank}" for step in (first, 30, 40) for rank in (0, 1)]).steps
    assert set(found["segment"]) == {0}


def test_the_one_step_that_all_reports_tell_is_told_by_another_training_each_time() -> None:
    lines = [
        text
        for epoch in range(2)
        for client in range(3)
        for text in (f"client {client}", f"Epoch {epoch}, step 4148, avg loss 0.0{client}{epoch}284")
    ]
    assert parse(lines).steps["segment"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("line", ["step: {step}: step time is {at:.6f}", "step {step} loss 0.5 time {at:.3f}"])
@pytest.mark.parametrize("apart_s", [0.0, 0.004])
def test_a_clock_that_several_writers_show_for_each_step_is_differenced_between_steps(
    line: str, apart_s: float
) -> None:
    lines = [
        line.format(step=step, at=0.25 * step + 0.01 * (step % 3) + apart_s * (writer * 7 % 4))
        for step in range(1, 61)
        for writer in range(4)
    ]
    steps = parse(lines).steps
    assert len(steps) == 240
    assert steps["step_time_s"].median() == pytest.approx(0.25, rel=0.1)


_SIGNS = st.text(alphabet="=>*#+~-([{'|,. \"•🚀█训", max_size=3)
_WORDS = st.sampled_from(
    ["Epoch 3", "train epoch: 3", "step 7", "loss 0.5", "INFO: a", "2026-03-04 08:00", "epoch': 3}"]
)


@given(_SIGNS, _WORDS, st.sampled_from(["it/s", "s/it"]))
def test_a_page_is_parted_behind_a_bar_as_a_line_is(signs: str, words: str, rate: str) -> None:
    line = f" 50%|##  | 5/10 [00:05<00:05,  1.00{rate}]{signs}{words}"
    page = f"{line}\n 60%|##  | 6/10 [00:06<00:04,  1.00it/s]Epoch 4".encode()
    parted = parted_bytes(page).decode().partition("\n")[0].split("\r")
    assert [fragment.text for fragment in fragments(line)] == [part for part in parted if part.strip()]
