"""What SageMaker says of failed jobs, in its own words (names and numbers are made up), and what each is to be called."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.analyze.ending import ending_of
from monitor.analyze.failure_causes import denied
from monitor.diagnose.headline import status_word
from monitor.diagnose.rulebook import diagnose
from monitor.model import LogCoverage, Run, metrics_frame, steps_frame
from tests.diagnose.failure_cases import raised, run_of, two
from tests.diagnose.runs import END, run
from tests.diagnose.said import says

DENIED = "access-denied"
_TABLE = Path(__file__).parents[1] / "data" / "failure_reasons.tsv"


def _reasons() -> list[tuple[str, str, str]]:
    """(FailureReason, the finding's id or "" where nobody can tell, the permissions that an access-denied names)"""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row["reason"], row["id"], row["actions"]) for row in rows]


REASONS = _reasons()


def failed(reason: str) -> Run:
    """A job whose logs nobody has: what is said is FailureReason's."""
    of = run(metrics_frame(), steps_frame(), status="Failed", logs=LogCoverage())
    return replace(of, job=replace(of.job, source="aws", failure_reason=reason))


@pytest.mark.parametrize(("reason", "id", "actions"), REASONS, ids=[reason[:70] for reason, _, _ in REASONS])
def test_each_reason_has_its_name(reason: str, id: str, actions: str) -> None:
    of = failed(reason)
    ending = ending_of(of)
    assert (ending.id if ending else "") == id
    found = says(of, id) if id else None
    assert (found is not None) == bool(id)
    if id == DENIED:
        assert ending is not None
        assert found is not None
        text = found.recommendation.whole if found.recommendation else ""
        first = actions.split(", ")[0]
        assert f'"{first}"' in text
        if first in reason:
            assert first in found.title
            assert found.confidence == "high"


def test_the_role_that_lacks_the_right_is_named() -> None:
    reason = next(reason for reason, id, _ in REASONS if id == DENIED)
    of = failed(reason)
    found = diagnose(replace(of, job=replace(of.job, role="TrainingRole")), END)
    advice = next(finding.recommendation for finding in found if finding.id == DENIED)
    assert advice is not None
    assert "execution role (TrainingRole)" in advice.text


def test_there_are_enough() -> None:
    assert len({reason for reason, _, _ in REASONS}) >= 50
    assert status_word("Failed") == "failed"


@pytest.mark.parametrize(
    "text",
    [
        "PermissionError: [Errno 13] Permission denied: '/opt/ml/model'",
        "huggingface_hub.errors.GatedRepoError: 401 Client Error: Unauthorized for url: https://example.org",
        "wandb: ERROR Error while calling W&B API: permission denied (<Response [403]>)",
        "mount: permission denied",
        "AccessDenied",
        "step 403 forbidden fruit",
    ],
)
def test_refusals_that_are_not_of_aws(text: str) -> None:
    assert denied(text) is None


@pytest.mark.parametrize(
    ("text", "what_to_do"),
    [
        (
            "ModuleNotFoundError: No module named 'flash_attn'",
            "Add the package that provides flash_attn to requirements.txt",
        ),
        ("ModuleNotFoundError: No module named 'deepspeed.accelerator'", "pin deepspeed in requirements.txt"),
        ("ImportError: huggingface-hub>=0.34,<1.0 is required, but found huggingface-hub==2.4.0.", "pin them"),
        (
            "ImportError: cannot import name 'A' from 'b.c' (/opt/conda/lib/python3.11/site-packages/b/c.py).",
            "pin them",
        ),
        ("ImportError: cannot import name 'A' from 'utils' (/opt/ml/code/utils.py)", "Start at /opt/ml/code/train.py"),
        ("OSError: /opt/conda/lib/libx.so: cannot open shared object file: No such file or directory", "another image"),
        ("ImportError: /opt/a/flash.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c106", "another image"),
        ("OSError: [Errno 28] No space left on device", "VolumeSizeInGB"),
        ("OSError: [Errno 122] Disk quota exceeded: '/fsx/a'", "quota raised"),
        ("RuntimeError: CUDA error: device-side assert triggered", "labels and token IDs"),
        ("OSError: You are trying to access a gated repo.", "HF_TOKEN"),
        ("TypeError: f() got an unexpected positional argument", "Start at /opt/ml/code/train.py:40"),
        ("ZeroDivisionError: division by zero", "Start at /opt/ml/code/train.py:40"),
    ],
)
def test_what_mends_an_error_that_says_where_it_comes_from(text: str, what_to_do: str) -> None:
    found = says(run_of(two(raised(14, 8.0, text), until_s=0.0)), "script-error")
    assert found is not None
    assert found.recommendation is not None
    assert what_to_do in found.recommendation.text
