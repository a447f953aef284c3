"""What was learned of a log arrives in its report, on the Logs page and in the cache; a setting turns it off."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from monitor.diagnose.words.step_readings import explained, reading_words
from monitor.fetch.files.source import FilesSource
from monitor.model import LogPage, Report
from monitor.parse.strangers.collection import Strangers
from monitor.parse.table import Rows
from monitor.review import Reviewer
from monitor.review.log_lines import learned
from monitor.settings import Settings, read
from monitor.show.job.header import figures
from monitor.words import DASH
from tests.parse.made_up import dialects, lines_of, sections, spoken

NOW = datetime(2026, 11, 18, 12, 0, 0, tzinfo=UTC)
SAID = spoken(dialects()["update and seconds"], 60)
SHAPE = "upd <step> of N :: xent <loss> :: <time> s"


def reviewed(folder: Path, settings: Settings = Settings()) -> Report:
    log = folder / "algo-1.log"
    log.write_text("\n".join(["starting", *SAID.lines]) + "\n", encoding="utf-8")
    source = FilesSource([str(log)])
    return Reviewer(source, source.job().name, settings).review(NOW)


def test_a_report_names_the_format_and_shows_the_shape(tmp_path: Path) -> None:
    report = reviewed(tmp_path)
    assert report.steps is not None
    assert report.steps.formats == ("learned",)
    assert report.steps.distinct == 60
    assert report.run.logs.learned == (SHAPE,)
    assert report.run.logs.sample == ()
    assert "no-step-lines" not in {finding.id for finding in report.findings}


def test_a_setting_turns_it_off(tmp_path: Path) -> None:
    report = reviewed(tmp_path, Settings(learn_formats=False))
    assert report.steps is None
    assert report.run.logs.learned == ()
    assert "no-step-lines" in {finding.id for finding in report.findings}


def test_a_log_of_other_work_keeps_its_finding(tmp_path: Path) -> None:
    log = tmp_path / "algo-1.log"
    log.write_text("\n".join(lines_of(sections("other_work.txt")["evaluation loop"], 60)), encoding="utf-8")
    source = FilesSource([str(log)])
    report = Reviewer(source, source.job().name).review(NOW)
    assert "no-step-lines" in {finding.id for finding in report.findings}


def report_of(lines: list[str], folder: Path) -> Report:
    log = folder / "algo-1.log"
    log.write_text("\n".join(lines), encoding="utf-8")
    source = FilesSource([str(log)])
    return Reviewer(source, source.job().name).review(NOW)


def test_a_log_of_epochs_alone_is_said_to_be_one(tmp_path: Path) -> None:
    report = report_of([f"Epoch {epoch}/20 loss: 2.{epoch} acc: 0.5{epoch}" for epoch in range(1, 15)], tmp_path)
    found = next(finding for finding in report.findings if finding.id == "no-step-lines")
    assert found.title == "The log reports epochs only"
    assert "14 epochs" in found.summary
    (tile,) = [tile for tile in figures(report) if tile.label == "Step time, median"]
    assert tile.context == "14 epochs, no steps"


def test_what_an_epoch_takes_stands_where_a_steps_time_would(tmp_path: Path) -> None:
    report = report_of([f"Epoch {epoch}/20 loss: 2.{epoch} time: 30.{epoch}2s" for epoch in range(1, 10)], tmp_path)
    found = next(finding for finding in report.findings if finding.id == "no-step-lines")
    assert "One takes 30.5 s at the median, as printed." in found.summary
    (tile,) = [tile for tile in figures(report) if tile.label == "Step time, median"]
    assert (tile.value, tile.context) == (DASH, "an epoch takes 30.5 s")


def test_a_time_of_which_nothing_tells_whose_it_is_is_said_to_be_one(tmp_path: Path) -> None:
    report = report_of([f"step {20 * n} loss 2.{n} time {5 + n % 3 / 10:.1f}" for n in range(1, 30)], tmp_path)
    assert report.steps is not None
    assert report.steps.median_s is None
    said = reading_words(report.run.logs.readings)
    assert len(said) == 1
    assert "The log prints 5.10 s beside a step" in said[0]


@pytest.mark.parametrize(
    ("text", "learn"), [("", True), ("learn_formats = true", True), ("learn_formats = false", False)]
)
def test_the_settings_file_says_it(tmp_path: Path, text: str, learn: bool) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    assert read(path).learn_formats is learn


def test_what_is_kept_of_a_job_is_told_apart_by_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("monitor.review.reviewer.key_of", lambda job, endpoint, patterns: asked.append(patterns))
    source = FilesSource([str(tmp_path)])
    for settings in (Settings(), Settings(learn_formats=False)):
        reviewer = Reviewer(source, "one", settings, cache=object())  # type: ignore[arg-type]
        reviewer._key(object())  # type: ignore[arg-type]
    assert asked[0] != asked[1]


def test_the_lines_of_a_log_tell_what_was_learned() -> None:
    frame = pd.DataFrame({"known": ["", "checkpoint"], "whole": [SAID.lines[4], SAID.lines[5]]}, index=[7, 8])
    assert list(learned(frame, (SHAPE,))["known"]) == [f"step 5 · loss {SAID.losses[4]:.4g}", "checkpoint"]
    assert learned(frame, ()) is frame


def test_a_program_that_fails_after_epochs_is_said_to(tmp_path: Path) -> None:
    epochs = [
        f"2026-03-04 08:{epoch:02}:30 INFO Epoch {epoch} loss: 2.{epoch} acc: 0.5{epoch}" for epoch in range(1, 15)
    ]
    failed = [
        "Traceback (most recent call last):",
        '  File "train.py", line 7, in <module>',
        "OSError: [Errno 122] Disk quota exceeded",
    ]
    report = report_of([*epochs, *failed], tmp_path)
    error, sight = (
        next(one for one in report.findings if one.id == name) for name in ("script-error", "no-step-lines")
    )
    assert "after 14 epochs were reported" in error.summary
    assert "One takes 60.0 s at the median" in sight.summary


def _bar(unit: str, each: int) -> str:
    """All redraws in one line, as a log driver takes them in: the first stands at nothing."""
    return "\r".join(
        f"Epoch 1:  {step}%|#    | {step * each}/{100 * each} [00:{step:02d}<00:99, {each + step / 100:.2f}{unit}/s, "
        f"loss=2.{step:02d}]"
        for step in range(60)
    )


def test_a_bar_in_one_line_is_explained_by_its_first_report(tmp_path: Path) -> None:
    (reading,) = report_of([_bar("it", 1)], tmp_path).run.logs.readings
    assert [(line.step, line.step_printed) for line in reading.lines] == [(1, True)]
    assert "1/100" in reading.lines[0].text


def test_samples_that_were_counted_as_batches_are_said_to_be_counted(tmp_path: Path) -> None:
    (reading,) = report_of([_bar("img", 32)], tmp_path).run.logs.readings
    assert [(line.step, line.step_printed) for line in reading.lines] == [(1, False)]
    assert "32/3200" in reading.lines[0].text


def test_steps_that_share_the_time_of_their_training_or_epoch_are_said_to(tmp_path: Path) -> None:
    lines = [f"epoch {epoch} step {step} loss=0.5{step}" for epoch in range(2) for step in range(1, 21)]
    (reading,) = report_of([*lines, "Training took: 80.0 s"], tmp_path).run.logs.readings
    said = explained(reading)
    assert "    step time 2.00 s: what an epoch or the whole training took, by another line, over its steps" in said
    assert not any("as printed, a mean" in line for line in said)


def test_an_epochs_clock_in_its_one_report_is_said_to_be_shared_by_its_steps(tmp_path: Path) -> None:
    lines = [
        f"epoch {at // 136} | iter {at % 136}/136 | loss 0.5 | took {at % 136 / 4:.2f} s"
        for at in range(1000, 9000, 1000)
    ]
    (reading,) = report_of(lines, tmp_path).run.logs.readings
    assert "    step time 0.250 s: from the elapsed time that this line prints, over its steps" in explained(reading)


def test_samples_up_to_a_report_are_no_steps_between(tmp_path: Path) -> None:
    lines = [
        f"2026-03-04 09:{turn // 2:02}:{turn % 2 * 30:02},000 loss: 2.{turn:02} [{64 + 6400 * (turn % 9):>5}/60000]"
        for turn in range(90)
    ]
    (reading,) = report_of(lines, tmp_path).run.logs.readings
    said = explained(reading)
    assert "    step 6,464: as printed, 100 steps after the report before it" in said
    assert "over the 100 steps between" in next(line for line in said if line.startswith("    step time 0.300 s"))


def test_a_report_in_pieces_is_explained_by_the_line_that_counts(tmp_path: Path) -> None:
    lines = [line for n in range(12) for line in (f"Step {n}", "collecting", f"Loss: 2.{n}1", f"Time: 1.{n}7")]
    (reading,) = report_of(lines, tmp_path).run.logs.readings
    assert [line.text for line in reading.lines] == [f"Step {n}" for n in range(4)]
    assert [line.step_time_s for line in reading.lines] == [1.07, 1.17, 1.27, 1.37]


def test_a_table_and_lines_that_were_learned_are_explained_by_their_first_rows(tmp_path: Path) -> None:
    rows = [f"0,{50 * n},2.{n}1,0.5{n}" for n in range(1, 9)]
    (reading,) = report_of(["epoch,step,train_loss,step_time", *rows], tmp_path).run.logs.readings
    shown = [(line.line, line.text, line.step, line.step_printed, line.step_time_s) for line in reading.lines]
    assert shown == [(n + 1, rows[n - 1], 50 * n, True, 0.5 + n / 100) for n in range(1, 5)]

    lines = [f"2026-11-01 10:{n:02d}:00 upd {10 * n} of 500 | nll 2.{n:02d}" for n in range(12)]
    (reading,) = report_of(lines, tmp_path).run.logs.readings
    assert [(line.line, line.text, line.step) for line in reading.lines] == [
        (n + 1, lines[n], 10 * n) for n in range(4)
    ]


def test_of_more_learned_lines_than_are_kept_those_that_are_kept_are_shown() -> None:
    strangers = Strangers(most_numbers=400)
    lines = [f"upd {n} of 500 | nll 2.{n:03d}" for n in range(1, 301)]
    for begin in (150, 0):
        strangers.add(LogPage.of("algo-1", "algo-1", begin + 1, lines[begin : begin + 150]), Rows())
    (found,) = strangers.found()
    kept = found.line.tolist()
    assert 4 < len(kept) < 150
    assert found.texts
    assert {line for line, _, _ in found.texts} <= set(kept)


def test_how_times_were_come_by_is_told_of_the_reports_that_have_one(tmp_path: Path) -> None:
    starts = [(0, 0), (100, 20), (0, 60), (0, 90), (0, 120)]
    lines = [
        text
        for step, minute in starts
        for text in (f"[03.24.26|{10 + minute // 60}:{minute % 60:02}:00] Iter {step} Done. | loss: 1.{step}", "saved")
    ]
    (reading,) = report_of(lines, tmp_path).run.logs.readings
    assert (reading.kind, reading.reports) == ("line-clock", 5)
