"""Figures of single GPUs: of the minutes that were chosen evenly, and the maximum of all that were read."""

from __future__ import annotations

import pandas as pd

from monitor.analyze.single_gpus import by_gpu, fullest
from monitor.diagnose.rulebook import OF_ONE_GPU, Case
from monitor.model import gpus_frame
from tests.diagnose.runs import END, healthy
from tests.diagnose.single_gpu_cases import profiled, sampled

_ODD = {("algo-2", 3): (92.0, 88.0)}


def test_the_figures_of_a_gpu_are_of_even_minutes_and_its_maximum_is_of_all() -> None:
    full = sampled(odd={("algo-2", 3): (10.0, 99.0)}, minutes=(30,), even=False)
    gpus = by_gpu(gpus_frame(pd.concat([sampled(noise=0.0), full])))
    assert [gpu.gpu for gpu in gpus["algo-2"]] == list(range(8))
    odd = gpus["algo-2"][3]
    assert odd.utilization is not None
    assert (odd.samples, odd.utilization.mean, odd.memory_max_pct) == (140, 92.0, 99.0)


def test_where_no_minute_was_chosen_evenly_all_count() -> None:
    (gpu, *_) = by_gpu(sampled(even=False))["algo-1"]
    assert gpu.samples == 140


def test_the_fullest_gpu_of_a_node_needs_some_minutes() -> None:
    assert {name: (one.gpu, one.pct) for name, one in fullest(sampled(odd=_ODD)).items()}["algo-2"] == (3, 88.0)
    assert fullest(sampled(odd=_ODD, minutes=(4, 12))) == {}
    assert fullest(gpus_frame()) == {}


def test_predictions_start_from_the_fullest_gpu_where_it_is_known() -> None:
    known = Case(profiled(sampled(odd=_ODD)), END).setup.values["gpu_memory_utilization"]
    assert (known.value, known.read_from) == (88.0, OF_ONE_GPU)
    host = Case(healthy(), END).setup.values["gpu_memory_utilization"]
    assert host.read_from == "measured"
    assert host.value < 80
