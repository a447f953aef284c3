"""Which network NCCL chose, and which share of the peak the model gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.devices import without_efa
from monitor.analyze.mfu import HEALTHY_MFU, PEAK_TFLOPS, mfu, parameters
from monitor.model import Job, Parameter, events_frame, steps_frame
from monitor.parse.events.marks import read
from tests.builders import nodes_of, steps
from tests.diagnose.utilization_runs import said

_NCCL = "algo-1:34:90 [0] NCCL INFO "


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["Using network Socket"], "sockets"),
        (["NET/Socket : Using [0]eth0:10.0.0.2<0>"], "sockets"),
        (["Channel 00/0 : 7[b0] -> 8[a0] [send] via NET/Socket/0"], "sockets"),
        (["NET/OFI Selected Provider is tcp;ofi_rxm", "Using network AWS Libfabric"], "sockets"),
        (["NCCL_NET set by environment to Socket"], "sockets"),
        (["NET/OFI Couldn't find any optimal provider"], "absent"),
        (["NET/OFI aws-ofi-nccl initialization failed"], "absent"),
        (["NET/OFI Couldn't find any optimal provider", "Using network Socket"], "sockets"),
        (["NET/OFI Selected Provider is efa (found 4 nics)"], None),
        (["Using network AWS Libfabric"], None),
        (["NET/Socket : Using [0]eth0:10.0.0.2<0>", "NET/OFI Selected provider is efa, fabric is efa"], None),
        (["Bootstrap : Using eth0:10.0.0.2<0>"], None),
        (["NET/Plugin: Failed to find ncclCollNetPlugin_v6 symbol."], None),
        (["Channel 00/0 : 1[b0] -> 2[c0] via SHM/direct/direct"], None),
        ([], None),
    ],
)
def test_the_network_is_read_off_its_own_lines(lines: list[str], what: str | None) -> None:
    events = [(0.1, kind, text) for line in lines for kind, text in read(_NCCL + line)]
    found = without_efa(said(events))
    assert [one.what for one in found] == ([] if what is None else [what])
    assert not found or any(found[0].line.removeprefix("via ") in _NCCL + line for line in lines)


def test_each_node_speaks_for_itself() -> None:
    efa, socket = (f"{_NCCL}NET/OFI Selected Provider is efa", f"{_NCCL}Using network Socket")
    frames = [said([(0.1, "network", efa)], "algo-1"), said([(0.1, "network", socket)], "algo-2")]
    assert [one.node for one in without_efa(pd.concat(frames))] == ["algo-2"]


def _job(model: str | None = "NVIDIA A100", **configuration: Any) -> Job:
    nodes = tuple(replace(node, gpu_model=model) for node in nodes_of(2))
    return Job("job", nodes=nodes, configuration={name: Parameter(value, "") for name, value in configuration.items()})


def _printed(value: float, unit: str) -> pd.DataFrame:
    return steps_frame(steps(["algo-1"], 20, 2.0).assign(throughput=value, throughput_unit=unit))


_SHAPE = {"num_layers": 32, "hidden_size": 4096, "vocab_size": 50257, "seq_length": 2048}
_PARAMETERS = 32 * 12 * 4096**2 + 50257 * 4096
_FLOP = 6 * _PARAMETERS + 12 * 32 * 4096 * 2048


@given(st.sampled_from(sorted(PEAK_TFLOPS)), st.floats(0.01, 0.99))
def test_what_the_log_prints_is_taken_by_its_peak(model: str, share: float) -> None:
    found = mfu(_job(model), _printed(share * PEAK_TFLOPS[model], "TFLOP/s/GPU"), events_frame(), 2.0)
    assert found is not None
    assert found.value == pytest.approx(share)
    assert found.healthy == HEALTHY_MFU.get(model)


def test_tokens_and_batches_come_to_the_same() -> None:
    tokens = 16 * 2048 / (2.0 * 16)
    by_tokens = mfu(_job(**_SHAPE), _printed(tokens, "tokens/s/GPU"), events_frame(), 2.0)
    by_batch = mfu(
        _job(**_SHAPE, global_batch_size=16, precision="bf16-mixed"), steps(["algo-1"], 20, 2.0), events_frame(), 2.0
    )
    told = said([(0.1, "samples-per-step", "16"), (0.1, "model-size", f"parameters={_PARAMETERS}")])
    by_log = mfu(_job(**_SHAPE, fp16=1), steps(["algo-1"], 20, 2.0), told, 2.0)
    lines = said([(0.1, "tokens-per-step", f"tokens={16 * 2048}")])
    by_line = mfu(_job(**_SHAPE), steps(["algo-1"], 20, 2.0), lines, 2.0)
    for found in (by_tokens, by_batch, by_log, by_line):
        assert found is not None
        assert found.value == pytest.approx(_FLOP * tokens / 312e12)


@pytest.mark.parametrize(
    "job",
    [
        _job(None, **_SHAPE),
        _job("NVIDIA K80", **_SHAPE),
        _job(),
        _job(**_SHAPE, bf16=False, fp16=0),
        _job(num_layers=32),
    ],
)
def test_what_is_not_known_is_no_mfu(job: Job) -> None:
    assert mfu(job, _printed(1000.0, "tokens/s/GPU"), events_frame(), 2.0) is None
    assert mfu(job, steps(["algo-1"], 20, 2.0), events_frame(), None) is None


def test_units_that_do_not_say_whose_they_are_are_none() -> None:
    assert mfu(_job(**_SHAPE), _printed(1000.0, "tokens/s"), events_frame(), 2.0) is None
    assert mfu(_job(), _printed(500.0, "TFLOP/s/GPU"), events_frame(), 2.0) is None  # more than the peak


def test_the_size_of_a_gated_model_is_near_what_is_published() -> None:
    shape = {"num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008, "vocab_size": 32000}
    assert parameters(_job(**shape), events_frame()) == pytest.approx(6.74e9, rel=0.03)
