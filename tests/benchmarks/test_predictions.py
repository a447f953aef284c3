"""The published measurements are well-formed, and every claim about a prediction computes and passes its line."""

from __future__ import annotations

import csv
import math
from types import ModuleType

import pytest

from benchmarks import predictions
from benchmarks.__main__ import main
from benchmarks.published import coverage, memories, memory_ranges, networks, paces, pairs, schedules
from benchmarks.published.calibration import groups_of, residuals, spread_of, wider
from benchmarks.published.claim import HEADER, Claim, within
from benchmarks.published.rows import DATA, changes, select, shapes
from monitor.predict.memory import COVERAGE
from monitor.predict.spread import PROMISED, RATIOS, SPREADS

FILLED = ("id", "source", "locator", "quantity", "value", "unit", "verified")


def test_every_published_number_says_where_it_is_from() -> None:
    cells = []
    for name in ("published.csv", "changes.csv"):
        with (DATA / name).open(encoding="utf-8", newline="") as file:
            cells += list(csv.DictReader(file))
    assert len(cells) == len(changes()) > 450
    for row in cells:
        assert all(row[name] or (name == "unit" and row["quantity"] == "fits") for name in FILLED), row
        assert row["verified"] in {"text", "secondary", "recalled"}
    assert len({row["id"] for row in cells}) == len(cells)
    assert all(len(row["note"].split()) <= 3 for row in cells), "numbers are copied, sentences are not"


def test_every_model_whose_memory_is_asked_for_has_a_shape() -> None:
    for row in select("fits") + select("gpu_memory", "Zero Bubble") + select("gpu_memory", "tr3m"):
        assert (row.model, row.params_b) in shapes(), row
    for (model, billions), shape in shapes().items():
        if not billions:
            continue
        # Without the table of tokens; Llama's feed-forward layers are not four times as wide.
        body = 12 * shape.layers * shape.hidden**2 / 1e9
        assert body == pytest.approx(billions, rel=0.25), model


@pytest.mark.parametrize(
    "part", [schedules, memories, networks, coverage, memory_ranges, paces], ids=lambda part: part.__name__
)
def test_every_claim_computes_passes_its_line_and_is_on_the_page(part: ModuleType) -> None:
    page = predictions.PAGE.read_text(encoding="utf-8")
    for claim in part.claims():
        assert claim.held_out or claim.looked_at, claim.name
        assert claim.passed is not False, claim
        assert len(claim.cells()) == len(HEADER)
        assert predictions.line(claim.cells()) in page, "run python -m benchmarks.predictions --write-docs"


def test_the_page_tells_what_each_range_promises_and_held() -> None:
    page = predictions.PAGE.read_text(encoding="utf-8")
    head, *rows = predictions.ranges()
    assert predictions.line(head) in page
    for row in rows:
        assert predictions.line(row) in page, "run python -m benchmarks.predictions --write-docs"
    for several in (True, False):
        found = [spread.coverage for spread in SPREADS.values() if (spread.coverage.sources > 1) == several]
        told = f"{sum(each.held for each in found)} of {sum(each.pairs for each in found)} for step"
        assert told in page.replace("\n  ", " ")
    kinds = {row[0] for row in rows}
    assert len(kinds) == len(rows) == len(SPREADS) + len(COVERAGE) + len(RATIOS)
    spreads = [spread.coverage for spread in SPREADS.values()]
    assert all(each.sources > 1 or 10 * each.held >= PROMISED * each.pairs for each in spreads)


def test_a_range_of_one_source_holds_setups_that_it_was_not_made_of() -> None:
    for kind in ("interleaving", "accumulation", "sequence length", "model", "recomputation of many replicas"):
        groups = groups_of(kind)
        assert len(groups) > 1
        inside = 0
        for name, group in groups.items():
            others = spread_of({other: pairs for other, pairs in groups.items() if other != name}, wider(kind))
            inside += sum(each.is_inside(others) for each in group)
        assert 10 * inside >= PROMISED * sum(map(len, groups.values())), kind


def test_a_pair_differs_in_what_its_kind_says_and_is_asked_of_plan_itself() -> None:
    found = pairs.time_pairs()
    assert {"microbatches", "size", "stages", "recomputation", "hosts", "sequence length"} <= {
        pair.kind for pair in found
    }
    for pair in found:
        one, other = pair.one, pair.other
        if pair.kind == "hosts":
            assert (one.size, one.microbatches, one.sequence) == (other.size, other.microbatches, other.sequence)
            assert (one.gpus or 0) < (other.gpus or 0)
        if pair.kind == "recomputation":
            assert pairs.setup_of(one).flag("activation_checkpointing") is False
            assert pairs.setup_of(other).flag("activation_checkpointing") is True
    by_hand = next(
        each
        for each in residuals()["microbatches"]["Zero Bubble Pipeline Parallelism, arXiv 2401.10241"]
        if (each.pair.one.microbatches, each.pair.other.microbatches, each.pair.one.size) == (2, 4, 6)
    )
    # 1F1B on 8 stages: (m + p - 1) / m.
    assert math.exp(by_hand.middle) == pytest.approx((11 / 4) / (9 / 2))


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
