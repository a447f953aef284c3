"""A copy of a log says what the log said: JSON of the AWS tools, console pairs, the SDK's console, times and hosts in front."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from monitor.fetch.files import FilesSource
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows

STEPS = [f"step={n} step_time_s={1.5 + n / 10:.1f} loss={9 - n}.0" for n in range(1, 6)]
T0_MS = 1772611940000


def _read(tmp_path: Path, text: str, name: str = "copy.log") -> Parsed:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return _parsed(path)


def _parsed(path: Path) -> Parsed:
    source, raw = FilesSource([str(path)]), RawRows()
    for page in source.logs(source.job()).read():
        raw.add(page)
    return assemble(raw.steps, raw.events)


def _stamp(n: int) -> str:
    return f"2026-03-04T08:12:{20 + n:02d}.000Z"


def _check(parsed: Parsed, node: str = "algo-1", timed: bool = True) -> None:
    steps = parsed.steps
    assert list(steps["step"]) == [1, 2, 3, 4, 5]
    assert list(steps["step_time_s"]) == [1.6, 1.7, 1.8, 1.9, 2.0]
    assert set(steps["node"]) == {node}
    if timed:
        assert [f"{moment:%S}" for moment in steps["timestamp"]] == ["21", "22", "23", "24", "25"]
    else:
        assert steps["timestamp"].isna().all()


def test_an_ordinary_log_passes_as_it_is(tmp_path: Path) -> None:
    _check(_read(tmp_path, "\n".join(["a head", *STEPS])), timed=False)


@pytest.mark.parametrize("indent", [None, 4])
def test_get_log_events(tmp_path: Path, indent: int | None) -> None:
    events = [
        {"timestamp": T0_MS + 1000 * n, "message": line, "ingestionTime": T0_MS}
        for n, line in enumerate(STEPS, start=1)
    ]
    _check(_read(tmp_path, json.dumps({"events": events, "nextForwardToken": "f/1"}, indent=indent)))


def test_filter_log_events_keeps_streams_apart(tmp_path: Path) -> None:
    events = [
        {"logStreamName": f"job/algo-{node}-1700000000", "timestamp": T0_MS + 1000 * n, "message": line, "eventId": "1"}
        for n, line in enumerate(STEPS, start=1)
        for node in (1, 2)
    ]
    steps = _read(tmp_path, json.dumps({"events": events})).steps
    assert steps.groupby("node").size().to_dict() == {"algo-1": 5, "algo-2": 5}


def test_json_that_is_no_answer_of_aws_stays_a_log(tmp_path: Path) -> None:
    lines = ['{"events": "none", "note": 1}', *STEPS]
    _check(_read(tmp_path, "\n".join(lines)), timed=False)


def test_tail_and_exports_have_time_and_stream_in_front(tmp_path: Path) -> None:
    tail = [f"{_stamp(n)} job/algo-2-1700000000 {line}" for n, line in enumerate(STEPS, start=1)]
    _check(_read(tmp_path, "\n".join(tail)), node="algo-2")
    export = tmp_path / "000000.gz"
    export.write_bytes(
        gzip.compress("\n".join(f"{_stamp(n)} {line}" for n, line in enumerate(STEPS, start=1)).encode())
    )
    _check(_parsed(export))


def test_console_pairs(tmp_path: Path) -> None:
    pairs = [part for n, line in enumerate(STEPS, start=1) for part in (_stamp(n), line)]
    parsed = _read(tmp_path, "\n".join(pairs))
    _check(parsed)
    assert list(parsed.steps["line"]) == [2, 4, 6, 8, 10]


def test_compose_prefixes_name_the_host(tmp_path: Path) -> None:
    lines = [f"\x1b[36m1x4fc011ay-algo-2-nrgii |\x1b[0m {line}" for line in STEPS]
    _check(_read(tmp_path, "\n".join(lines)), node="algo-2", timed=False)


def test_the_rich_console_of_the_sdk(tmp_path: Path) -> None:
    blank = " " * 21
    lines = []
    for n, line in enumerate(STEPS, start=1):
        head = f"[03/04/26 08:12:{20 + n}]" if n % 2 else blank[:-1]
        lines += [
            f"\x1b[2;36m{head}\x1b[0m \x1b[1mINFO    \x1b[0m job/algo-1-1700000000      resources.py:28457",
            f"{blank}        : {line[:7]}".replace("step=", "step=\x1b[1;36m").rstrip() + "\x1b[0m",
            f"{blank}        {line[7:].strip()}",
        ]
    _check(_read(tmp_path, "\n".join(lines)), timed=False)


@pytest.mark.parametrize(
    "text", ["{", "[", '{"events": [{"message": 1}]}', '{"events": []}', "[08/01/25 00:23:01] INFO  x"]
)
def test_no_copy_raises(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text).steps.empty
