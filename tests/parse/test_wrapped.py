"""Lines that were cut at a column are one again; lines that merely have one length stay as they are."""

from __future__ import annotations

import pytest

from monitor.parse.lines.wrapped import unwrapped
from tests.parse.read import pages, parse

STEPS = range(50, 1050, 50)
SAID = {
    "pairs": [
        f"2026-03-01 10:{step // 50:02}:00,123 - trainer - INFO - Step [{step}/1000] lr: 5.000e-04, data_time: 0.012, "
        f"step_time: 0.{500 + step % 90}, memory: 3012, loss: {900 / step:.4f}, heat_loss: 0.0012"
        for step in STEPS
    ],
    "a bar": [
        f"{step // 10:3}%|{'█' * (step // 100):10}| {step}/1000 [{step // 60:02}:{step % 60:02}<{(1000 - step) // 60:02}:00,  "
        f"1.02s/it, loss={900 / step:.4f}, grad_norm=0.{step}, lr=1e-4]"
        for step in STEPS
    ],
}


def _cut(lines: list[str], width: int) -> list[str]:
    return [line[at : at + width] for line in lines for at in range(0, len(line), width)]


@pytest.mark.parametrize("what", SAID)
@pytest.mark.parametrize("width", [50, 60, 70, 80, 100])
def test_what_was_cut_is_read_as_if_it_were_whole(what: str, width: int) -> None:
    whole, cut = (parse(lines).steps for lines in (SAID[what], ["start", *_cut(SAID[what], width)]))
    assert list(cut["step"]) == list(whole["step"])
    for name in ("step_time_s", "loss"):
        assert list(cut[name]) == pytest.approx(list(whole[name]))


def test_each_line_keeps_its_number() -> None:
    lines = _cut(SAID["pairs"], 80)
    (page,) = pages(lines)
    together = unwrapped(page)
    assert together.count == page.count
    assert [line for line in together.lines if line] == SAID["pairs"]
    assert [number for number, line in enumerate(together.lines) if line] == list(range(0, len(lines), 2))


@pytest.mark.parametrize(
    "lines",
    [
        [f"step {step:5} | loss 2.{step:05} | lr 1.0000e-04 | grad norm 0.123456" for step in range(40)],
        [
            line
            for step in range(40)
            for line in (f"step {step:5} | loss 2.{step:05} | lr 1.0000e-04 | grad norm 0.123456", f" took 0.{step}s")
        ],
        [
            line
            for epoch in range(1, 20)
            for line in (
                f"epoch:{epoch}",
                f"ELBO: 3.{epoch + 10} valid loss: 3.35{epoch + 10} acc 13.6{epoch + 10} time: 192.{epoch + 10}s",
                *(["Saving model..."] if epoch % 3 else []),
            )
        ],
        ["=" * 80, "settings of the run", "=" * 80, "model", "=" * 80, "data", "=" * 80, "done"] * 3,
        ["short"] * 30,
    ],
)
def test_lines_of_one_length_are_not_joined(lines: list[str]) -> None:
    (page,) = pages(lines)
    assert unwrapped(page) is page


@pytest.mark.parametrize(
    "beside",
    [
        "forward: 0.151s backward: 0.302s optimizer: 0.050s",
        "current results of the running training are as follows:",
        "2026-03-04 10:00:23 INFO sampled a batch from the replay buffer",
        "sampling temperature is 0.70, top-p is 0.95, max tokens 512",
        "weights synced to all of the workers of the data group,",
    ],
)
@pytest.mark.parametrize(
    "report", ["step {n}, loss {loss}, time {s}s", "{n}/600 loss {loss} {s}s/it", "[{n}/600] loss: {loss} ({s} s/step)"]
)
def test_a_line_of_one_length_beside_each_report_changes_nothing(report: str, beside: str) -> None:
    reports = [report.format(n=n, loss=f"{3 / n:.4f}", s=f"0.5{n % 10}") for n in range(1, 41)]
    alone = parse(reports).steps
    assert list(alone["step"]) == list(range(1, 41))
    for lines in ([beside, line] for line in reports), ([line, beside] for line in reports):
        steps = parse([line for both in lines for line in both]).steps
        assert list(steps["step"]) == list(alone["step"])
        assert list(steps["step_time_s"]) == list(alone["step_time_s"])


def test_what_a_logger_writes_on_a_line_of_its_own_has_the_time_before_it() -> None:
    head = "2026-01-28 18:{:02}:12,624 - train_face - INFO - "
    lines = [
        line
        for epoch in range(1, 9)
        for line in (head.format(20 + epoch), f"Epoch {epoch}/100", head.format(20 + epoch) + "-" * 50)
    ]
    found = parse(lines).events
    assert found.loc[found["kind"] == "epoch-pace", "text"].tolist() == ["60"]
    (page,) = pages(lines)
    assert unwrapped(page).count == page.count


def test_a_bar_behind_an_empty_line_of_a_logger_is_a_bar() -> None:
    bar = [f"Training: {at:3}%|##        | {at}/100 [00:{at // 2:02}<00:50,  2.00it/s]" for at in range(1, 101)]
    lines = [
        line
        for at, redraw in enumerate(bar)
        for line in ([] if at % 9 else ["2026-01-28 18:20:12 - INFO - "]) + [redraw]
    ]
    assert list(parse(lines).steps["step"]) == list(range(1, 101))


@pytest.mark.parametrize(
    "epoch",
    [
        "2026-03-04 10:{n:02}:00 - INFO - Epoch {n}: train loss {loss} val loss {loss}",
        "Epoch {n} of 40: train loss {loss} took 60.0 s",
    ],
)
def test_a_line_of_one_length_beside_each_epoch_changes_nothing(epoch: str) -> None:
    lines = [
        line
        for n in range(1, 41)
        for line in (
            epoch.format(n=n, loss=f"{3 / n:.4f}"),
            "Detected CUDA_VISIBLE_DEVICES=0,1,2,3: setting --include=localhost:0,1,2,3",
        )
    ]
    found = parse(lines).events
    assert found.loc[found["kind"] == "epochs-only", "text"].tolist() == ["40"]
    assert found.loc[found["kind"].isin(["epoch-pace", "epoch-took"]), "text"].tolist() == ["60"]
