"""What other programs rely on: the four functions, their signatures, the fields that docs/library.md promises."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import monitor
from monitor import compare, jobs, plan, review
from monitor.archive.document import as_json
from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.errors import BadCall, NoSuchJob
from monitor.model import JobSummary
from monitor.review.library import ShownComparison, ShownPlan
from monitor.review.notebook import ShownReport
from tests.cli.commands import LOGS, SMP
from tests.review import user_code

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
PUBLIC = {"review": monitor.review.review, "compare": compare, "plan": plan, "jobs": jobs}


@pytest.fixture
def runs(read_before: DemoAccount) -> tuple[str, str]:
    """(the old run, the new run) of one base name."""
    new, old = (job.name for job in read_before.jobs if job.name.startswith("gpt2-30b-smp"))
    return old, new


def test_the_signatures_are_those_of_the_page() -> None:
    written = dict(re.findall(r"^\| `(\w+)(\(.*?\))` \|", PAGE, re.MULTILINE))
    assert set(written) == set(PUBLIC) == set(monitor.__all__) - {"__version__"}
    for name, function in PUBLIC.items():
        signature = inspect.signature(function)
        bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
        assert str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)) == written[
            name
        ].replace('""', "''")


def test_the_fields_of_the_page_are_there(runs: tuple[str, str]) -> None:
    rows = re.findall(
        r"^\| ([a-z][^|`]*(?:`\w+`)?) \| ((?:`\w+`[ ,]*)+)[^|]*\|$", PAGE.partition("## What stays")[2], re.MULTILINE
    )
    report, found = review(runs[1]), compare(*runs)
    values = {
        "a report": report,
        "its `run`": report.run,
        "its `job`": report.job,
        "its `steps`": report.steps,
        "its `cost`": report.cost,
        "a finding": report.findings[0],
        "a comparison": found,
        "one of its `against`": found.against[0],
        "a plan": plan(report),
        "a row of `jobs`": jobs()[0],
    }
    assert {name.strip() for name, _ in rows} == set(values)
    for name, fields in rows:
        for field in re.findall(r"`(\w+)`", fields):
            assert hasattr(values[name.strip()], field), f"{name} has no {field}"


def test_the_program_of_the_page_runs(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"<!-- a program -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    exec(program, {})
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_users_program_gets_its_answers(runs: tuple[str, str]) -> None:
    status, usd, found, steps = user_code.told(runs[1])
    assert status == "Completed"
    assert usd is not None
    assert "node-timing-unobservable" in found
    assert {"node", "step", "step_time_s"} <= set(steps.columns)
    assert user_code.faster(*runs) is True
    assert user_code.gain(runs[1], {"active_microbatches": 4}) is not None
    assert user_code.newest("gpt2-30b") is not None


def test_the_documents_are_those_of_the_commands(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", runs[1], "--change", "active_microbatches=4", "--format", "json"]) == 0
    assert json.loads(as_json(plan(runs[1], {"active_microbatches": 4}).document())) == json.loads(
        capsys.readouterr().out
    )
    assert main(["compare", *runs, "--no-keep", "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    told = json.loads(as_json(compare(*runs).document()))
    assert {**told, "earlier_predictions": None} == {**printed, "earlier_predictions": None}
    assert review(LOGS).document()["schema"] == 1


def test_each_value_shows_itself_in_a_few_lines(runs: tuple[str, str]) -> None:
    found = compare(*runs)
    assert isinstance(found, ShownComparison)
    assert "less time for the same samples" in repr(found)
    assert found._repr_markdown_().startswith("# Comparison")
    planned = plan(preset="gpt2-60b", change={"active_microbatches": 4})
    assert isinstance(planned, ShownPlan)
    assert repr(planned).splitlines()[0] == "active_microbatches=4"
    assert isinstance(review(LOGS), ShownReport)


def test_the_values_are_frozen() -> None:
    for kind in (ShownReport, ShownComparison, ShownPlan, JobSummary):
        assert dataclasses.fields(kind)
        assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined, union-attr]


def test_a_wrong_call_is_one_sentence(connected: DemoAccount) -> None:
    for call in (
        lambda: compare(LOGS),
        lambda: plan(),
        lambda: plan(LOGS, preset="gpt2-60b"),
        lambda: plan(preset="gpt5"),
        lambda: jobs(limit=0),
        lambda: jobs(since="yesterday"),
    ):
        with pytest.raises(BadCall) as caught:
            call()
        assert "\n" not in str(caught.value)
    with pytest.raises(NoSuchJob):
        review("no-such-job-at-all")


def test_a_name_that_is_not_there_is_said_as_python_does() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        monitor.nothing  # noqa: B018 - looking is the test


_LIGHT = """
import sys
import monitor
assert not {"pandas", "streamlit", "boto3"} & set(sys.modules)
from monitor import review
review(logs=sys.argv[1])
assert not {"boto3", "streamlit", "altair"} & set(sys.modules)
"""


def test_importing_the_package_imports_nothing_large() -> None:
    subprocess.run([sys.executable, "-c", _LIGHT, SMP], cwd=Path(SMP).parents[3], check=True)
