"""The size of the whole model and the tokens of a step are read; shards, and what is trained alone, are not."""

from __future__ import annotations

import pytest

from monitor.parse.facts import read


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
        (" > number of parameters on (tensor, pipeline) model parallel rank (3, 9): 805560320", None),
        ("Number of parameters on partition 0 are 115. 115 require grads", None),
        ("  Number of trainable parameters = 120,576", None),
        ("tokens per iteration will be: 491,520", "tokens=491520"),
        ("number of parameters: 12", None),
        ("Number of parameters in most loaded shard in billions: 0.9406", None),
    ],
)
def test_the_size_of_the_model(line: str, text: str | None) -> None:
    assert [found for kind, found in read(line) if kind in {"model-size", "tokens-per-step"}] == (
        [] if text is None else [text]
    )
