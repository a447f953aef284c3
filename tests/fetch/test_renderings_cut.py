"""Where the pages of a copied log are cut changes nothing of what is restored."""

from __future__ import annotations

import json

import pytest

from monitor.fetch.files import renderings
from monitor.model import LogPage
from tests.fetch.test_renderings import T0_MS, _quoted, _rows


def _wrapped_console() -> list[str]:
    blank = " " * 21
    lines = []
    for n in range(60):
        head = f"[03/04/26 08:{n:02d}:21]" if n % 2 else blank[:-1]
        lines += [
            f"\x1b[2;36m{head}\x1b[0m INFO     job/algo-1-1700000000      resources.py:28457",
            f"{blank}        : step=\x1b[1;36m{n}\x1b[0m".ljust(60),
            f"{blank}        step_time_s=1.{n:02d}",
        ]
    return lines


def _cut_by_srun() -> list[str]:
    bars = "".join(
        f"\rSteps: {n}%|{'#' * (n // 10):<10}| {n}/99 [00:{n % 60:02d}<01:00,  {n}.25s/it]" for n in range(99)
    )
    pieces = [bars[at : at + 1024] for at in range(0, len(bars), 1024)]
    return [line for n in range(99) for line in (f"0: {(pieces[n : n + 1] or ['done'])[0]}", f"1: step {n}")]


CUT = {
    "console": _wrapped_console(),
    "srun": _cut_by_srun(),
    "tail": [
        line
        for n in range(60)
        for line in (
            f"2026-03-04T08:{n:02d}:20+00:00 job/algo-2-1700000000 ",
            *json.dumps({"step": n, "step_time_s": 1.5}, indent=4).split("\n"),
        )
    ],
    "pairs": [line for n in range(60) for line in (f"2026-03-04T08:{n:02d}:20.000Z", f"step={n} step_time_s=2")],
    "CSV": ["@timestamp,@message", *(_quoted(stamp, f"a\n{line}") for _ in range(20) for stamp, line in _rows())],
    "JSON": json.dumps(
        {"events": [{"timestamp": T0_MS + n, "message": f"step={n} step_time_s=2"} for n in range(99)]}, indent=1
    ).split("\n"),
}


@pytest.mark.parametrize("lines", CUT.values(), ids=CUT.keys())
@pytest.mark.parametrize("length", [1, 7, 50])
def test_where_pages_are_cut_changes_nothing(lines: list[str], length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderings, "_LOOKED_AT", 60)
    lines = "\n".join(lines).split("\n")

    def read(length: int) -> list[tuple[str, int, str, int | None]]:
        pages = [LogPage.of("a.log", "algo-1", at + 1, lines[at : at + length]) for at in range(0, len(lines), length)]
        return [
            (page.stream, page.first_line + at, line, time_ms)
            for page in renderings.restored(pages)
            for at, (line, time_ms) in enumerate(zip(page.lines, page.times, strict=True))
        ]

    whole = read(len(lines))
    assert read(length) == whole
    assert any("step" in line for _, _, line, _ in whole)
