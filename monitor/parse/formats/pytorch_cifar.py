"""The line of PyTorch's CIFAR-10 tutorial, which very many own scripts and SageMaker's examples have copied.

``[2,  4000] loss: 1.843``: epoch and batch of the epoch, both from 1, and the mean loss since the last line; no time.
"""

from monitor.parse.family import Line

GATES = ("] loss: ", "] train loss: ")
LINES = (
    Line(
        "pytorch-cifar",
        r"(?:^|(?<=[\s:>]))\[<epoch>,\s{1,8}<step>(?:\.0{1,9}|/\d{1,9})?\] (?:train )?loss: <loss>(?=[\s,;|]|$)",
    ),
)
