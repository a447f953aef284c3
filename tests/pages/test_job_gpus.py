"""The Job page opens the GPUs of a node from its row, where the job's profiler tells them apart."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from monitor.model import Report
from monitor.review import report
from tests import situations
from tests.diagnose.profiled_hosts import WHOLE, beside, stop_and_go
from tests.diagnose.said import NOW
from tests.diagnose.single_gpu_cases import Level, profiled, sampled
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

_SLOW: Mapping[tuple[str, int], Level] = {("algo-2", 5): (48.0, 70.0)}


def _opened(open_page: Open, found: Report) -> AppTest:
    return open_page(FakeAccount((found,)), "job", job=found.job.name)


def test_the_node_that_a_finding_is_about_is_open(open_page: Open) -> None:
    page = _opened(open_page, report(profiled(sampled(odd=_SLOW)), NOW))
    said = texts(page)
    assert "GPUs of algo-2" in said
    assert "GPU 5 of algo-2 is least busy, 48 %" in said
    assert "one of 7 minutes" in said


def test_a_step_is_shown_from_within_where_samples_lie_in_steps(open_page: Open) -> None:
    gpus = stop_and_go(0.6, 2.0, WHOLE, interval_s=0.5)
    page = _opened(open_page, report(profiled(gpus, hosts=beside(gpus)), NOW))
    assert "throughout the step" in texts(page) or "of a step of 2.0 s" in texts(page)
    assert "folded by the time of each step's line" in texts(page)


@pytest.mark.parametrize("found", [situations.healthy(), situations.no_gpu()], ids=lambda found: found.job.name)
def test_a_job_without_a_profiler_has_no_such_part(open_page: Open, found: Report) -> None:
    assert "GPUs of " not in texts(_opened(open_page, found))


def test_one_gpu_is_no_row_of_siblings(open_page: Open) -> None:
    gpus = sampled(gpus=1)
    page = _opened(open_page, report(profiled(pd.concat([gpus])), NOW))
    assert "The GPU of algo-1 is 92 % busy" in texts(page)
