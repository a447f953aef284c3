"""The size of the model, the tokens of a step and a printed MFU are read, each as what it is."""

from __future__ import annotations

import pytest

from monitor.parse.events.facts import read

_SIZES = {"model-size", "trainable-size", "part-size", "tokens-per-step"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("# total parameters: 6050882784", "parameters=6050882784"),
        ("Total number of parameters in billions: 3.50", "parameters=3500000000"),
        (
            "trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.0622",
            "parameters=6742609920",
        ),
        ("Model llama3 8B size: 8,030,261,248 total parameters", "parameters=8030261248"),
        ("number of parameters: 123.59M", "parameters=123590000"),
        (
            " > number of parameters on (tensor, pipeline) model parallel rank (3, 9): 805560320",
            "3 9 parameters=805560320",
        ),
        ("Total number of parameters: 1.06G (2023.73MiB). Local number of parameters: 266M", "parameters=1060000000"),
        ("number parameters: 6.738 billion", "parameters=6738000000"),
        ("Total number of parameters: 1,176,764,416", "parameters=1176764416"),
        ("--> Model meta-llama/Llama-2-7b-hf has 6738.415616 Million params", "parameters=6738415616"),
        (
            "STAGE_PARAMS=94000000 (94.0M) TOTAL_PARAMS=1699336192 (1699.3M) UNIQUE_PARAMS=1699336192 (1699.3M)",
            "parameters=1699336192",
        ),
        ("Number of parameters on partition 0 are 115. 115 require grads", None),
        ("  Number of trainable parameters = 120,576", "parameters=120576"),
        ("Number of trainable parameters: 6,738,415,616", "parameters=6738415616"),
        ("124 M     Trainable params", "parameters=124000000"),
        ("Total number of parameters: 12", None),
        ("tokens per iteration will be: 491,520", "tokens=491520"),
        ("Tokens / optimizer step : 32,768", "tokens=32768"),
        ("total tokens per step: 524288", "tokens=524288"),
        ("number of parameters: 12", None),
        ("Number of parameters in most loaded shard in billions: 0.9406", None),
    ],
)
def test_the_size_of_the_model(line: str, text: str | None) -> None:
    assert [found for kind, found in read(line) if kind in _SIZES] == ([] if text is None else [text])


@pytest.mark.parametrize(
    ("line", "percent"),
    [
        ("step: 40  loss:  7.3201  memory: 41.20GiB(51.9%)  tps: 6,210  tflops: 310.2  mfu: 31.37%", "31.37"),
        ("iter 250: loss 2.1407, time 61.83ms, mfu 17.20%", "17.20"),
        ("iter 10: loss 9.3051, time 3094.05ms, mfu 142.91%", "142.91"),
        ("iter 0: loss 10.9031, time 31804.11ms, mfu -100.00%", None),
        ("step 00120/21400 (0.56%) | loss: 4.81 | lrm: 1.00 | dt: 512.30ms | tok/sec: 1,023,400 | mfu: 47.1", "47.1"),
        (
            "step   40/9536 | loss 7.62 (+0.1z)| norm 1.2 | lr 4e-05 | 2714.20 ms | 54.4% bf16 MFU | 193100 tok/s",
            "54.4",
        ),
        ("\t Train throughput/device/mfu: 0.4312", "43.12"),
        (
            "step   40/9536 | loss 7.62 (+0.1z)| norm 1.2 | lr 4e-05 | 2714.20 ms | -100.0% bf16 MFU | 193100 tok/s",
            None,
        ),
    ],
)
def test_the_mfu_that_a_script_prints_in_percent(line: str, percent: str | None) -> None:
    assert [found for kind, found in read(line) if kind == "mfu"] == ([] if percent is None else [percent])
