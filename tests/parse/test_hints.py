"""What libraries warn of is read, by the words that they print today."""

from __future__ import annotations

import pytest

from monitor.parse.events.facts import read


@pytest.mark.parametrize(
    "line",
    [
        "[rank0]:[W1104 10:00:00.000000000 reducer.cpp:1400] Warning: find_unused_parameters=True was specified in DDP "
        "constructor, but did not find any unused parameters in the forward pass.",
        "UserWarning: This DataLoader will create 16 worker processes in total. Our suggested max number of worker in "
        "current system is 8, which is smaller than what this DataLoader is going to create.",
        "The 'train_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the "
        "`num_workers` argument` to `num_workers=31` in the `DataLoader` to improve performance.",
        "huggingface/tokenizers: The current process just got forked, after parallelism has already been used.",
        "UserWarning: TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled.",
        "You are using a CUDA device ('NVIDIA A10G') that has Tensor Cores. To properly utilize them, you should set "
        "`torch.set_float32_matmul_precision('medium' | 'high')`",
        "UserWarning: Grad strides do not match bucket view strides.",
        "W1104 10:00:00 convert_frame.py:906] torch._dynamo hit config.recompile_limit (8)",
    ],
)
def test_a_warning_is_a_hint(line: str) -> None:
    assert [kind for kind, _ in read(line)] == ["hint"]


@pytest.mark.parametrize("line", ["num_workers=31", "import torch; torch.set_float32_matmul_precision('high')"])
def test_settings_are_none(line: str) -> None:
    assert [kind for kind, _ in read(line) if kind == "hint"] == []
