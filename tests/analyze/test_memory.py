"""The most GPU memory that each rank printed, from step reports and from the allocator's own lines."""

from __future__ import annotations

import pytest

from monitor.analyze.memory import memory_peaks
from tests.parse.read import parse

MEGATRON = (
    "[Rank {}] (after 20 iterations) memory (MB) | allocated: 1024.0 | max allocated: {} "
    "| reserved: 3072.0 | max reserved: {}"
)


@pytest.mark.parametrize(
    ("lines", "peaks"),
    [
        ([MEGATRON.format(3, 2048.0, 4096.0), MEGATRON.format(7, 2048.0, 5120.0)], {3: 4.0, 7: 5.0}),
        # Two ranks on one line.
        ([MEGATRON.format(3, 2048.0, 4096.0) + MEGATRON.format(5, 2048.0, 6144.0)], {3: 4.0, 5: 6.0}),
        (
            ["[1,mpirank:2,algo-1]<stdout>:MA 5.25 GB         Max_MA 7.5 GB         CA 8.0 GB         Max_CA 8 GB"],
            {2: 8.0},
        ),
        (["step=5 rank=1 step_time_s=0.5 max_mem_gb=11.5", MEGATRON.format(1, 2048.0, 4096.0)], {1: 11.5}),
        (["no word of it"], {}),
    ],
)
def test_peaks(lines: list[str], peaks: dict[int, float]) -> None:
    parsed = parse(lines)
    found = memory_peaks(parsed.steps, parsed.events)
    assert {entry.rank: entry.peak_gib for entry in found} == pytest.approx(peaks)


def test_the_capacity_is_kept() -> None:
    line = (
        "[rank4]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 4 has a total capacity of "
        "39.50 GiB of which 100.00 MiB is free. Including non-PyTorch memory, this process has 39.25 GiB memory in use. Of the "
        "allocated memory 36.00 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated."
    )
    parsed = parse([line])
    (found,) = memory_peaks(parsed.steps, parsed.events)
    assert (found.rank, found.peak_gib, found.capacity_gib) == (4, 39.25, 39.5)
