"""A muted finding is kept with its reason, concerns the jobs it was meant for, and never makes a job healthy."""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.archive.document import report_document
from monitor.diagnose.verdict import judge
from monitor.errors import BadCall
from monitor.export.layout import html, markdown
from monitor.model import Mute, Report
from monitor.review.muted import can_mute, mute, mutes, unmute, with_mutes
from tests import situations

SINCE = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
WINDOW = Mute("raise-active-microbatches", "gpt-60b-run-7", "it is planned", SINCE)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "trainwatch" / "muted.toml"


def _named(report: Report, name: str) -> Report:
    return replace(report, run=replace(report.run, job=replace(report.job, name=name)))


def test_what_is_kept_is_read_again_and_can_be_taken_back(kept: Path) -> None:
    other = replace(WINDOW, job='a "b" \\ c', reason="“quotes” and ünicode\\", all_runs=True)
    assert mutes(kept) == ()
    mute(WINDOW, kept)
    mute(other, kept)
    assert mutes(kept) == (WINDOW, other)
    mute(replace(WINDOW, reason="another  reason "), kept)
    assert [each.reason for each in mutes(kept)] == [other.reason, "another reason"]
    unmute(WINDOW, kept)
    unmute(WINDOW, kept)
    assert mutes(kept) == (other,)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 301, "a\x07b"])
def test_a_reason_is_needed(reason: str, kept: Path) -> None:
    with pytest.raises(BadCall):
        mute(replace(WINDOW, reason=reason), kept)
    assert not kept.exists()


@pytest.mark.parametrize(
    "text",
    [
        "[[mute]",
        "mute = 3",
        "mute = [3]",
        '[[mute]]\nfinding = "a"',
        '[[mute]]\nfinding = 1\njob = "a"\nreason = "b"\nsince = 2026-11-22T10:00:00Z',
        '[[mute]]\nfinding = "a"\njob = "a"\nreason = "b"\nsince = "today"',
        '[[mute]]\nfinding = "a"\njob = "a"\nreason = "b"\nsince = 2026-11-22T10:00:00',
        '[[mutes]]\nfinding = "a"\njob = "a"\nreason = "b"\nsince = 2026-11-22T10:00:00Z',
        '[[mute]]\nfinding = "a"\njob = "a"\nreason = "b"\nsince = 2026-11-22T10:00:00Z\nall_run = true',
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_alone(text: str, kept: Path) -> None:
    kept.parent.mkdir()
    kept.write_text(text, encoding="utf-8")
    with pytest.raises(BadCall, match=r"muted\.toml cannot be read"):
        mutes(kept)
    with pytest.raises(BadCall, match=r"muted\.toml cannot be read"):
        mute(WINDOW, kept)
    assert kept.read_text(encoding="utf-8") == text


def test_a_misspelled_name_is_said_with_the_nearest(kept: Path) -> None:
    kept.parent.mkdir()
    for text, words in (
        ("[[mutes]]\n", "there is no mutes, the nearest is mute."),
        ('[[mute]]\nfinding = "a"\njob = "a"\nreason = "b"\nsince = 2026-11-22T10:00:00Z\nall-runs = true',
         "there is no all-runs in [[mute]], the nearest is all_runs."),
    ):  # fmt: skip
        kept.write_text(text, encoding="utf-8")
        with pytest.raises(BadCall, match=re.escape(words)):
            mutes(kept)


def _mute_number(path: str, number: int) -> None:
    mute(replace(WINDOW, job=f"job-{number}"), Path(path))


def test_several_programs_at_once_lose_nothing(kept: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(_mute_number, [str(kept)] * 12, range(12)))
    assert len(mutes(kept)) == 12


def test_it_concerns_one_job_or_all_runs_of_a_base() -> None:
    report = situations.low_utilization()
    stamped = _named(report, "gpt-2026-09-25-12-05-00-123")
    all_runs = replace(WINDOW, job="gpt", all_runs=True)
    assert with_mutes(report, (WINDOW,)).muted
    assert not with_mutes(stamped, (WINDOW,)).muted
    assert with_mutes(stamped, (all_runs,)).muted
    assert not with_mutes(_named(report, "gpt"), (all_runs,)).muted
    assert not with_mutes(_named(report, "gpt-large-2026-09-25-12-05-00-123"), (all_runs,)).muted
    assert not with_mutes(report, (replace(WINDOW, finding="slow-node"),)).muted


def test_a_job_with_a_muted_finding_is_not_healthy_and_the_finding_is_still_told() -> None:
    plain, muted = situations.low_utilization(), with_mutes(situations.low_utilization(), (WINDOW,))
    assert judge(plain).level == "warning"
    verdict = judge(muted)
    assert (verdict.level, verdict.headline) == ("muted", "Healthy as far as can be seen, but for 1 muted finding")
    assert report_document(muted) == report_document(plain)
    for said in (markdown(muted), html(muted, SINCE)):
        assert "Healthy as far as can be seen, but for 1 muted finding." in said
        assert "Muted: it is planned, since 22 Nov 2026, 10:00 UTC." in said
        assert "Raise active_microbatches from 2 to 4." in said


def test_where_not_all_is_seen_both_are_said() -> None:
    report = situations.low_utilization()
    dark = replace(report, steps=None)
    assert judge(with_mutes(dark, (WINDOW,))).headline.endswith("step times are not known; 1 muted finding")


def test_what_ended_a_job_cannot_be_muted() -> None:
    report = situations.failed()
    first = report.findings[0]
    assert not can_mute(first)
    assert not with_mutes(report, (Mute(first.id, report.job.name, "no", SINCE),)).muted
