"""A count with its total, however it stands beside an epoch, samples or a clock, is the step."""

from __future__ import annotations

import pytest

from tests.parse.read import parse

HEAD = "03/04/2026 08:{minute:02}:{second:02} - INFO - __main__ - "
REPORTS = {
    "samples stand behind": "Ep {epoch} ({batch}/300) | NLL {loss} | samples {samples}",
    "tokens stand behind": "Epoch {epoch} of 3 [{batch:4}/300 ({share}%)]  nll: {loss}  tokens {tokens}",
    "a letter, and samples": "Train Epoch: {epoch} i={batch} | training loss: {loss} | tokens {tokens}",
    "an epoch in brackets": "[{epoch}/3] {batch}/300, ce_loss: {loss}, 0.21s/it",
    "both in brackets": "[{epoch}/3] ({batch}/300) training loss: {loss} 84.70s",
    "an index beside the epoch": "[{epoch}/3] i={batch} - Loss {loss} - PPL 1.59",
    "an index before the epoch": "i={batch} [{epoch}/3] loss={loss}",
    "padded, at the head": "[{batch:3}/300 ({share}%)] top5 13.310 lr: 9.62e-05 loss: {loss}",
    "a letter behind a logger": f"{HEAD}B[{{batch}}/300] epoch {{epoch}}/3 - nll: {{loss}}",
    "behind srun's task and a logger": "2: 2026-03-04 08:{minute:02}:{second:02},218 - INFO - [{batch}/300] loss {loss}",
    "behind a worker and a logger": "[worker 3] 2026-03-04 08:{minute:02}:{second:02},218 INFO [{batch}/300] loss {loss}",
    "as quick as a clock": f"{HEAD}[{{batch:4}}/300 ({{share}}%)] Epoch #{{epoch}} - ips: 123.08 - nll: {{loss}}",
}


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("every", [2, 60])
def test_it_is_the_step(report: str, every: int) -> None:
    batches = [(epoch, batch) for epoch in (1, 2, 3) for batch in range(every, 301, every)]
    lines = []
    for epoch, batch in batches:
        done = 300 * (epoch - 1) + batch
        values = {"epoch": epoch, "batch": batch, "share": batch // 3, "samples": done * 64, "tokens": done * 4096}
        clock_s = done * 52 // 100
        lines.append(report.format(**values, loss=f"{3 / done:.4f}", minute=clock_s // 60, second=clock_s % 60))
    assert parse(lines).steps["step"].tolist() == [batch for _, batch in batches]
