"""The published measurements are well-formed, and every claim about a prediction computes and passes its line."""

from __future__ import annotations

import csv
from types import ModuleType

import pytest

from benchmarks import predictions
from benchmarks.__main__ import main
from benchmarks.published import coverage, kernels, memories, networks, schedules
from benchmarks.published.claim import HEADER, Claim, within
from benchmarks.published.rows import DATA, rows, select, shapes

FILLED = ("id", "source", "locator", "quantity", "value", "unit", "verified")


def test_every_published_number_says_where_it_is_from() -> None:
    with (DATA / "published.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    assert len(cells) == len(rows()) > 150
    for row in cells:
        assert all(row[name] or (name == "unit" and row["quantity"] == "fits") for name in FILLED), row
        assert row["verified"] in {"text", "secondary", "recalled"}
    assert len({row["id"] for row in cells}) == len(cells)
    assert all(len(row["note"].split()) <= 3 for row in cells), "numbers are copied, sentences are not"


def test_every_model_whose_memory_is_asked_for_has_a_shape() -> None:
    for row in select("fits") + select("gpu_memory", "Zero Bubble") + select("gpu_memory", "tr3m"):
        assert (row.model, row.params_b) in shapes(), row
    for (model, billions), shape in shapes().items():
        # Without the table of tokens; Llama's feed-forward layers are not four times as wide.
        body = 12 * shape.layers * shape.hidden**2 / 1e9
        assert body == pytest.approx(billions, rel=0.25), model


@pytest.mark.parametrize("part", [schedules, kernels, memories, networks], ids=lambda part: part.__name__)
def test_every_claim_computes_passes_its_line_and_is_on_the_page(part: ModuleType) -> None:
    page = predictions.PAGE.read_text(encoding="utf-8")
    for claim in part.claims():
        assert claim.held_out or claim.looked_at, claim.name
        assert claim.passed is not False, claim
        assert len(claim.cells()) == len(HEADER)
        assert predictions.line(claim.cells()) in page, "run python -m benchmarks.predictions --write-docs"


def test_a_published_change_lies_in_the_range_that_is_predicted_for_it() -> None:
    # All pairs take long: the benchmark has them.
    for few, many in schedules.microbatch_pairs():
        if many.locator == "Table 9":
            low, middle, high = coverage.predicted_range(few, many)
            assert low <= 100 * (few.value / many.value - 1) <= high
            assert low <= middle <= high


def test_a_claim_below_its_line_fails_the_benchmarks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Claim("a claim", "nothing", (), (7.0,), "max <= 5 %", within((7.0,), 5.0))
    monkeypatch.setattr(predictions, "claims", lambda: (bad,))
    assert main(["predictions"]) == 1
    assert "predictions: a claim" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("errors", "most", "on_average", "expected"),
    [((), 5.0, None, False), ((-4.9, 5.0), 5.0, None, True), ((-5.1,), 5.0, None, False), ((1, 9), 10.0, 4.0, False)],
)
def test_a_line_is_for_the_size_of_errors_and_never_passed_by_none(
    errors: tuple[float, ...], most: float, on_average: float | None, expected: bool
) -> None:
    assert within(errors, most, on_average) is expected
