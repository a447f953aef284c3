"""No shape of a secret leaves a review: not as text, JSON, HTML, Markdown, nor in an archive; and nothing else is masked."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from rich.console import Console

from benchmarks.hostile.account import NAME, START, OneJob, answer
from benchmarks.hostile.lines import logs
from monitor.archive.cache import Cache, key_of
from monitor.archive.document import report_document
from monitor.archive.reading import fields_of
from monitor.archive.store import FolderStore
from monitor.archive.writing import write
from monitor.cli.report import print_report
from monitor.export.layout import html, markdown
from monitor.fetch.jobs import job_of
from monitor.masking import MASK, secrets_of, without_secrets
from monitor.model import LogLine, LogSpan, Report
from monitor.review.log_lines import tabled
from monitor.review.reviewer import Reviewer
from tests.attack.secret_shapes import HARMLESS, SHAPES

_NOW = START + timedelta(hours=2)
_STEPS = [f"step={step} step_time_s=1.0 loss=2.0" for step in range(30)]


def test_a_secret_is_masked_in_a_text(subtests: pytest.Subtests) -> None:
    for name, (secret, text) in SHAPES.items():
        with subtests.test(name=name):
            assert secret in text or name == "pem-escaped"
            shown = without_secrets(text)
            assert secret not in shown
            assert MASK in shown
            assert without_secrets(shown) == shown


def test_what_is_no_secret_is_shown(subtests: pytest.Subtests) -> None:
    for text in HARMLESS:
        with subtests.test(text=text):
            assert without_secrets(text) == text


def test_nothing_is_masked_in_the_logs_of_strangers() -> None:
    lines = {line.decode("utf-8", "replace") for log in logs().values() for line in log}
    # Without the collection of published logs those of the formats.
    assert len(lines) > 1000
    assert [line for line in sorted(lines) if without_secrets(line) != line] == []


def _reviewed(lines: list[str], **changed: Any) -> Report:
    given = answer(len(lines), **changed)
    return Reviewer(OneJob([line.encode() for line in lines], given), NAME).review(_NOW)


def _everything(report: Report, folder: Path) -> Mapping[str, str]:
    """All that can be made of a report."""
    out = StringIO()
    print_report(report, Console(file=out, width=4000))
    write(FolderStore(folder), report)
    kept = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            kept.append(json.dumps(parquet.ParquetFile(path).read().to_pylist(), default=str, ensure_ascii=False))
        elif path.is_file():
            kept.append(path.read_text(encoding="utf-8"))
    return {
        "text": out.getvalue(),
        "json": json.dumps(report_document(report), ensure_ascii=False, default=str),
        "html": html(report, _NOW),
        "markdown": markdown(report),
        "archive": "\n".join(kept),
    }


_GROUPS = [list(SHAPES)[at::8] for at in range(8)]


@cache
def _shapes(group: int) -> tuple[str, ...]:
    return tuple(_GROUPS[group])


@pytest.mark.parametrize("group", range(len(_GROUPS)))
def test_no_shape_leaves_a_review(group: int, tmp_path: Path) -> None:
    """As the last words of a process, as SageMaker's, as a status and as a setting."""
    texts = [SHAPES[name][1] for name in _shapes(group)]
    lines = [*_STEPS, *(f"RuntimeError: seen {text}" for text in texts for text in text.split("\n"))]
    told = {
        "FailureReason": "AlgorithmError: seen " + "\nseen ".join(texts),
        "HyperParameters": {f"setting_{place}": text for place, text in enumerate(texts)},
    }
    status = answer(len(lines))["SecondaryStatusTransitions"]
    told["SecondaryStatusTransitions"] = [
        {**status[0], "StatusMessage": f"seen {text}", "Status": f"S{place}"} for place, text in enumerate(texts)
    ]
    shown = _everything(_reviewed(lines, **told), tmp_path)
    for form, made in shown.items():
        assert "seen" in made
        leaked = [name for name in _shapes(group) for each in [SHAPES[name][0]] if name != "pem-tail" and each in made]
        assert leaked == [], form


_OWN = {
    "hf_token": json.dumps("Zq8-nothing-like-a-known-form"),
    "mp_parameters": json.dumps({"pipeline_parallel_degree": 2, "api_key": "library+secret/77"}),
    "tracking_uri": json.dumps("https://me:inTheAddress99@tracking.example.com"),
    "extra": json.dumps("--epochs 3 --password 'in an option 5'"),
    "signing_key": json.dumps(
        "-----BEGIN KEY-----\nfirst+line/of/a/key/0001\nsecond+line/of/a/key/2\n-----END KEY-----"
    ),
    "db_password": '"qu\\"ote\\\\d 1"',
    "epochs": "3",
    "pad_token": '"<pad>"',
    "label_secret": '"image"',
}
_ENVIRONMENT = {"WANDB_API_KEY": "of-the-environment-1", "MODE": "online"}
_OWN_SECRETS = (
    *(
        "Zq8-nothing-like-a-known-form",
        "library+secret/77",
        "inTheAddress99",
        "in an option 5",
        "first+line/of/a/key/0001",
    ),
    *("second+line/of/a/key/2", 'qu"ote\\d 1', "of-the-environment-1"),
)


def test_the_jobs_own_secrets_are_masked_wherever_they_appear(tmp_path: Path) -> None:
    lines = [*_STEPS, *(f"RuntimeError: seen «{secret}»{secret}" for secret in _OWN_SECRETS)]
    lines += [f"RuntimeError: seen {json.dumps({'a': json.dumps([secret])})}" for secret in _OWN_SECRETS]
    lines += [f"RuntimeError: seen {'x' * 470}{_OWN_SECRETS[0]}"]  # what is kept of it ends within the secret
    reason = "AlgorithmError: seen " + " ; ".join(f"<{secret}>" for secret in _OWN_SECRETS)
    report = _reviewed(lines, FailureReason=reason, HyperParameters=_OWN, Environment=_ENVIRONMENT)
    assert report.job.configuration["epochs"].value == 3
    assert "<pad>" in json.dumps(report.job.hyperparameters)
    for form, made in _everything(report, tmp_path).items():
        assert "seen" in made
        escaped = [json.dumps(secret)[1:-1] for secret in _OWN_SECRETS]
        assert [secret for secret in (*_OWN_SECRETS, *escaped, _OWN_SECRETS[0][:14]) if secret in made] == [], form


def test_a_word_under_a_secret_name_is_masked_there_alone() -> None:
    job = job_of(
        {"TrainingJobName": "a", "HyperParameters": _OWN, "FailureReason": "no image of <pad> was read in 3 epochs"}
    )
    assert job.configuration["label_secret"].value == MASK
    assert job.failure_reason == "no image of <pad> was read in 3 epochs"


@pytest.mark.parametrize(
    "value", ["image", "Training", "12345", "4.5e-3", "/opt/ml/input/data", "s3://bucket/secret", "True"]
)
def test_what_could_stand_anywhere_is_not_looked_for(value: str) -> None:
    assert secrets_of({"api_secret": value}) == ()


def test_the_log_page_masks_the_same_and_a_key_line_by_line() -> None:
    secrets = job_of({"HyperParameters": _OWN, "Environment": _ENVIRONMENT}).secrets
    key = SHAPES["pem"][1].split("\n")
    texts = [*_STEPS[:2], "got of-the-environment-1", *key, "step=3 step_time_s=1.0"]
    lines = tuple(LogLine(f"{NAME}/algo-1-1", 1000 * at, text) for at, text in enumerate(texts))
    frame = tabled(LogSpan(lines, 0, 99_000), secrets=secrets).frame
    shown = list(frame["whole"])
    assert shown[0] == texts[0]
    assert shown[2] == "got ***"
    assert shown[4:7] == [MASK] * 3
    assert shown[-1] == texts[-1]


def test_secrets_are_not_kept_beside_a_job(tmp_path: Path) -> None:
    job = job_of(answer(3, HyperParameters=_OWN, Environment=_ENVIRONMENT))
    assert job.secrets
    assert not any(secret in text for secret in job.secrets for text in (repr(job), json.dumps(fields_of(job))))
    report = _reviewed(_STEPS, HyperParameters=_OWN, Environment=_ENVIRONMENT)
    assert report.job.secrets == ()


def test_archives_and_caches_are_their_owners_alone(tmp_path: Path) -> None:
    report = _reviewed(_STEPS)
    write(FolderStore(tmp_path / "new" / "archive"), report)
    cache = Cache(tmp_path / "cache", 1 << 30)
    key = key_of(report.job, "https://endpoint")
    assert key is not None
    cache.store(key, report.run, _NOW)
    assert any((tmp_path / "cache").iterdir())
    for folder in (tmp_path / "new", tmp_path / "cache"):
        for path in (folder, *folder.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
