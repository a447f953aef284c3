"""Events are known by their line alone; look-alikes are none."""

from __future__ import annotations

import pytest

from monitor.parse.marks import GATES, MARKS
from tests.parse.read import parse


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Saving model checkpoint to /opt/ml/checkpoints/checkpoint-500", "checkpoint-begin"),
        ("saving checkpoint at iteration     200 to /fsx/run", "checkpoint-begin"),
        ("  successfully saved checkpoint at iteration     200 to /fsx/run", "checkpoint-end"),
        ("Finished checkpointing after 100 steps: /opt/ml/checkpoints", "checkpoint-end"),
        ("Model weights saved in /opt/ml/checkpoints/checkpoint-500/pytorch_model.bin", "checkpoint-end"),
        ("***** Running Evaluation *****", "evaluation-begin"),
        ("{'eval_loss': 2.31, 'eval_runtime': 12.0, 'epoch': 1.0}", "evaluation-end"),
        (" validation loss at iteration 200 | lm loss value: 7.6E+00 |", "evaluation-end"),
        ("Resuming from checkpoint /opt/ml/checkpoints/checkpoint-500", "resume"),
        ("  Continuing training from global step 500", "resume"),
        ("step 120 loss: nan lr: 0.001", "nan"),
        ("{'loss': inf, 'epoch': 1.2}", "nan"),
        ("[stage3.py:3069:step] 2 pytorch allocator cache flushes since last step.", "cache-flush"),
        ("algo-1:34:90 [0] NCCL INFO NET/OFI Selected Provider is efa", "network"),
        ("algo-1:34:90 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>", "network"),
        (
            "[rank3]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5) ran for 600 ms",
            "collective-timeout",
        ),
        ("torch.distributed.elastic: Sending process 77 closing signal SIGTERM", "signal"),
        ("initializing with world size 32", "world-size"),
        ("Downloading checkpoint shards", None),
        ("loss function: nanmean", None),
        ("saving disk space", None),
        ("the announcement of finance", None),
    ],
)
def test_a_line_marks_an_event(line: str, kind: str | None) -> None:
    kinds = [found for found in parse([line]).events["kind"] if found not in {"first-line", "error"}]
    assert kinds == ([kind] if kind else [])


def test_every_gate_leads_to_a_mark() -> None:
    assert len(set(GATES)) == len(GATES)
    assert all(mark.gates and mark.kind for mark in MARKS)
