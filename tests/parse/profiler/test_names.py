"""Objects of a profiler's output are told apart by their names, whatever else lies beside them."""

from __future__ import annotations

import pytest

from monitor.parse.profiler.names import has_hours, minute_of, near

_FOLDER = "out/job/profiler-output/system/incremental/"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (f"{_FOLDER}2026010107/1767251940.algo-2.json", (1767251940, "algo-2")),
        (f"{_FOLDER}1591748100.algo-1.json", (1591748100, "algo-1")),
        ("1591748100.algo-64.json", (1591748100, "algo-64")),
        (f"{_FOLDER}2026010107/1767251940.algo-2.json.corrupt", None),
        (f"{_FOLDER}2026010107/1767251940.algo-2.json.tmp", None),
        ("out/job/profiler-output/system/training_job_end.ts", None),
        (f"{_FOLDER}2026010107/", None),
        (f"{_FOLDER}2026010107/1767251940.worker.json", None),
        ("", None),
    ],
)
def test_the_minute_and_node_of_an_object(key: str, expected: tuple[int, str] | None) -> None:
    assert minute_of(key) == expected


def test_older_outputs_have_no_folder_of_the_hour() -> None:
    assert has_hours(f"{_FOLDER}2026010107/1767251940.algo-2.json")
    assert not has_hours(f"{_FOLDER}1591748100.algo-1.json")


def test_objects_of_about_a_time_share_a_short_beginning() -> None:
    assert near(1767251940, hours=True) == "2026010107/17672519"
    assert near(1767251940, hours=False) == "17672519"
    assert f"{_FOLDER}2026010107/1767251940.algo-2.json".startswith(_FOLDER + near(1767251940, hours=True))
