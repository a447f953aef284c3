"""What was measured and published? The rows of ``benchmarks/data``, each with its source and place."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from monitor.predict.layout import ModelShape

DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True, slots=True)
class Row:
    """One published number. Empty cells are None or ""; ``verified`` says how well the number is known: "text" was read in
    the source, "secondary" in a note about it, "recalled" comes from memory."""

    id: int
    source: str
    locator: str
    model: str
    params_b: float | None
    gpu: str
    gpus: int | None
    pipeline: int
    tensor: int
    data: int
    shard: str
    size: int
    """Samples of a microbatch."""
    microbatches: int
    sequence: int | None
    schedule: str
    recomputes: bool
    bits: int | None
    delay_s: float | None
    network_bits_s: float | None
    boundary_bytes: float | None
    quantity: str
    value: float
    unit: str
    verified: str
    note: str
    batch: int | None
    """Samples of a step of all GPUs; None where the table does not tell."""
    counts_microbatches: bool
    """Whether the table tells how many microbatches a step has."""


@cache
def rows() -> tuple[Row, ...]:
    """The rows that claims are made of, in the order of the file."""
    return _read("published.csv")


@cache
def changes() -> tuple[Row, ...]:
    """All rows, those included that serve as pairs alone."""
    return rows() + _read("changes.csv")


def _read(name: str) -> tuple[Row, ...]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return tuple(_row(cells) for cells in csv.DictReader(file))


def select(quantity: str, source: str = "", locator: str = "", fits: Callable[[Row], bool] | None = None) -> list[Row]:
    """The rows of a quantity whose source and locator contain these words."""
    return [
        row
        for row in rows()
        if row.quantity == quantity and source in row.source and locator in row.locator and (fits is None or fits(row))
    ]


def shape_of(row: Row) -> ModelShape | None:
    """The shape of a row's model; None where it is not known."""
    return shapes().get((row.model, row.params_b or 0)) or shapes().get((row.model, 0))


@cache
def shapes() -> dict[tuple[str, float], ModelShape]:
    """The shapes of the models by (name, billions of parameters, 0 where the name says all); most are not in the tables, but
    known or assumed."""
    with (DATA / "shapes.csv").open(encoding="utf-8", newline="") as file:
        return {
            (cells["model"], float(cells["params_b"] or 0)): ModelShape(
                *(int(cells[name]) for name in ("layers", "hidden", "heads", "vocabulary", "seq"))
            )
            for cells in csv.DictReader(file)
        }


def _row(cells: dict[str, str]) -> Row:
    def number(name: str, scale: float = 1.0) -> float | None:
        return float(cells[name]) * scale if cells[name] else None

    def whole(name: str, default: int = 1) -> int:
        return int(cells[name]) if cells[name] else default

    return Row(
        id=int(cells["id"]),
        source=cells["source"],
        locator=cells["locator"],
        model=cells["model"],
        params_b=number("params_b"),
        gpu=cells["gpu"],
        gpus=whole("n_gpus") if cells["n_gpus"] else None,
        pipeline=whole("p"),
        tensor=whole("t"),
        data=whole("d"),
        shard=cells["shard"],
        size=whole("b"),
        microbatches=whole("m"),
        sequence=whole("seq") if cells["seq"] else None,
        schedule=cells["schedule"],
        recomputes=cells["act_ckpt"] == "1",
        bits=whole("bits") if cells["bits"] else None,
        delay_s=number("delay_ms", 1e-3),
        network_bits_s=number("network_gbps", 1e9),
        boundary_bytes=number("boundary_mib", 2.0**20),
        quantity=cells["quantity"],
        value=float(cells["value"]),
        unit=cells["unit"],
        verified=cells["verified"],
        note=cells["note"],
        batch=whole("gbs")
        if cells["gbs"]
        else whole("b") * whole("m") * whole("d")
        if cells["b"] and cells["m"]
        else None,
        counts_microbatches=bool(cells["m"]),
    )
