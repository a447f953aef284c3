"""Figures in the boxes of frameworks, pictures in place of names, digits in groups: read as the plain figures are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.model import LogPage
from monitor.parse.lines.written_out import written_out
from monitor.parse.strangers.labels import teller
from tests.parse.read import parse

BOXES = [
    "tensor({}, device='cuda:0', grad_fn=<NllLossBackward0>)",
    "tensor({}, grad_fn=<MeanBackward0>)",
    "tensor([{}], device='cuda:0')",
    "tensor({}, dtype=torch.float64)",
    "Array({}, dtype=float32)",
    "[array({}, dtype=float32)]",
    "np.float32({})",
    "<tf.Tensor: shape=(), dtype=float32, numpy={}>",
    "tf.Tensor({}, shape=(), dtype=float32)",
]
REPORTS = [
    "step {} loss {}",
    "Epoch 1 batch {}: loss = {}",
    "[{}/500] loss: {}, acc: 0.3",
    "step: {}, train_loss: {}, time: 0.52s",
    "{{'step': {}, 'loss': {}}}",
    "{} loss: {}",
]


def _page(text: str) -> LogPage:
    return LogPage.of("algo-1.log", "algo-1", 1, text.split("\n"))


def _written(text: str) -> str:
    return written_out(_page(text)).data.decode()


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("report", REPORTS)
def test_a_boxed_loss_is_the_number_in_it(report: str, box: str) -> None:
    steps = parse([report.format(at, box.format(f"{3 / at:.4f}")) for at in range(1, 41)]).steps
    assert steps["step"].tolist() == list(range(1, 41))
    assert steps["loss"].tolist() == pytest.approx([3 / at for at in range(1, 41)], abs=1e-4)


@pytest.mark.parametrize("head", ["", "{} ", "3 {} ", "Epoch 3, {}, ", "{}/400 "])
def test_what_has_a_gradient_and_no_name_is_a_loss(head: str) -> None:
    lines = [head.format(at) + BOXES[0].format(f"{3 / at:.4f}") for at in range(1, 41)]
    steps = parse(lines).steps
    assert steps["step"].tolist() == list(range(1, 41))
    assert steps["loss"].iloc[0] == 3.0
    assert not len(parse([line.replace(", grad_fn=<NllLossBackward0>", "") for line in lines]).steps)


@pytest.mark.parametrize(
    ("picture", "plain"),
    [
        ("Step 4 | ⏱️ 53.1ms | 📉 2.31", "Step 4 | time 53.1ms | loss 2.31"),
        ("Step 4 · ⏱ 0:00:12 · 🕐: 12.5s", "Step 4 · time 0:00:12 · time 12.5s"),
        ("⏳ 5m 12s left, ⏱️ Time: 3 s, 📉 Loss: 2.31", "⏳ 5m 12s left, ⏱️ Time: 3 s, 📉 Loss: 2.31"),
        ("[tensor(1.5), tensor(2.5)] at 3 tensor(4.) tensor(5.)", "[1.5, 2.5] at 3 4. 5."),
        ("step 12_000 of 1_200_000", "step 12000 of 1200000"),
        ("step 1_000/12_000", "step 1000/12000"),
        ("run_12_000 v1.2_000 12_0000 a_100 3_2 CVC-300_149 data/12_000",) * 2,
        (
            "tensor([[1.5, 2.5]]) Parameter(3) subtensor(4.5) tensor(2,",
            "tensor([[1.5, 2.5]]) Parameter(3) subtensor(4.5) tensor(2,",
        ),
    ],
)
def test_what_is_written_out(picture: str, plain: str) -> None:
    assert _written(picture) == plain


@given(
    st.lists(
        st.sampled_from(["tensor(1.5)", "📉 2", "\n", " ", "1_000", "⏱", "x", "tensor(", "nan)", "é"]), max_size=40
    )
)
def test_lines_stay_lines(parts: list[str]) -> None:
    page = _page("".join(parts))
    again = written_out(page)
    assert again.count == page.count
    assert written_out(again) is again


def test_a_line_of_a_learned_shape_is_told_as_it_is_printed() -> None:
    lines = [f"Epoch 3, {at}, tensor({3 / at:.4f}, grad_fn=<MeanBackward0>)" for at in range(1, 41)]
    found = parse(lines)
    assert found.learned
    assert "step 2 · loss 1.5" in teller(found.learned)(lines[1])


def test_a_report_of_pictures_is_read() -> None:
    lines = [
        f"🚀 Step {50 * at}/2_000 • 📉 {3 / at:.3f} • ⏱️ {520 + at}.1ms/step • ⚡ 12.3k tok/s" for at in range(1, 31)
    ]
    steps = parse(lines).steps
    assert steps["step"].tolist() == [50 * at for at in range(1, 31)]
    assert steps["step_time_s"].median() == pytest.approx(0.536, rel=0.01)
    assert steps["loss"].iloc[1] == 1.5
    assert set(steps["total"]) == {2000}
