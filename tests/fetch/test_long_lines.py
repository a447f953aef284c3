"""A bar that is drawn again without a line feed makes one line of a whole training: each redraw of it is read."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.fetch.files import renderings
from tests.parse.compare import read_file
from tests.parse.made_up import redraw

_STEPS = 24_000


@pytest.mark.parametrize("longest", [None, 1 << 18], ids=["of a few MiB", "longer than is held"])
@pytest.mark.parametrize("label", ["", "[rank0]: "])
@pytest.mark.parametrize(
    "written",
    [str.encode, lambda text: gzip.compress(text.encode()), lambda text: text.encode("utf-16")],
    ids=["plain", "gzip", "utf-16"],
)
def test_a_line_of_redraws_is_read_to_its_end(
    written: Callable[[str], bytes], label: str, longest: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if longest is not None:
        monkeypatch.setattr(renderings, "_LONGEST_LINE", longest)
        monkeypatch.setattr(renderings, "_PIECE_BYTES", longest // 4)
    bar = "\r".join(redraw(step, _STEPS, 0.3 * step, 0.3) for step in range(1, _STEPS + 1))
    log = tmp_path / "train.log"
    log.write_bytes(written(f"training\n{label}{bar}\nsaved\n"))
    steps = read_file(log).steps
    assert steps["step"].tolist() == list(range(1, _STEPS + 1))
    if longest is None:
        assert steps["rank"].dropna().nunique() == bool(label)
