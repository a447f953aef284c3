"""What a user sees of many jobs, as files: a change that should change nothing is held against the state before it.

``python -m benchmarks.outputs archive FOLDER`` reviews the demo's jobs, one job of each planted fault and three healthy
ones, and archives them; ``python -m benchmarks.outputs render ARCHIVE FOLDER`` writes what commands and pages say of each.
Two states of the program that render one archive are compared by ``diff -r``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from streamlit.testing.v1 import AppTest

from benchmarks.planted.catalogue import FAULTS, Ticket, scenario
from benchmarks.planted.source import PlantedSource
from monitor.archive.store import FolderStore
from monitor.archive.writing import write
from monitor.aws.clients import Clients
from monitor.cli.main import main as command
from monitor.demo.account import start
from monitor.fetch.account import AwsSource
from monitor.model import Report
from monitor.review import Reviewer
from monitor.settings import ARCHIVE_SHOWN, config_file, read

NOW = datetime(2026, 11, 18, 12, 34, 56, tzinfo=UTC)
_HEALTHY = 3
_APP = Path(__file__).parents[1] / "app.py"
_LONGEST_WAIT_S = 30.0
_QUIET_RUNS = 4
_KINDS = (
    "title", "header", "subheader", "markdown", "caption", "text", "info", "warning", "error", "success", "metric", "code",
    "button", "selectbox", "multiselect", "text_input", "number_input", "checkbox", "toggle", "radio", "expander", "tab",
)  # fmt: skip
_RULES = [
    part
    for rule in ("gpu_utilization < 60 for 5m", "step_time > 1.3x for 20 steps", "finding warning")
    for part in ("--when", rule)
]
_LOADING = "hourglass_empty"
# Pictures of one process are numbered.
_NUMBERED = re.compile(r"(?<=gradient_)\d+|(?<=clip)\d+")
# Where the archive is, and what is worked out anew at each look.
_MOVING = re.compile(r"\d+(?:\.\d+)? (?:s|ms|min) ago")


def archive(folder: Path) -> int:
    """Archives all jobs; how many."""
    store = FolderStore(folder)
    count = 0
    for report in (*_demo(), *_planted()):
        write(store, report)
        count += 1
    return count


def _demo() -> Iterator[Report]:
    with start(NOW) as account:
        os.environ |= {name: value for name, value in account.environment.items() if name.startswith("AWS_")}
        settings, source = read(config_file(account.environment)), AwsSource(Clients())
        for job in account.jobs:
            yield Reviewer(source, job.name, settings).review(NOW)


def _planted() -> Iterator[Report]:
    for ticket in (*(Ticket(fault, 0) for fault in FAULTS), *(Ticket(None, number) for number in range(_HEALTHY))):
        job = scenario(ticket)
        yield Reviewer(PlantedSource(job), job.plan.name).review(job.now)


def render(root: Path, folder: Path, *only: str) -> None:
    """Writes what each command and page says of the jobs of the archive ``root``; of those alone with a name of ``only``."""
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC", ARCHIVE_SHOWN: str(root)}
        os.environ |= {f"XDG_{what}_HOME": home for what in ("CONFIG", "CACHE", "DATA", "STATE")}
        names = sorted(name for name in _names(root) if not only or any(part in name for part in only))
        for name in names:
            for form, ending in (("text", "txt"), ("json", "json"), ("markdown", "md"), ("html", "html")):
                _say(folder / name / f"report.{ending}", ["report", f"archive:{root}/{name}", "--format", form])
            job = ["--archive", str(root), name]
            _say(folder / name / "steps.csv", ["steps", *job, "--format", "csv"])
            _say(folder / name / "plan.txt", ["plan", f"archive:{root}/{name}"])
            rule = [
                "--when",
                "gpu_utilization < 60 for 5m",
                "--when",
                "step_time > 1.3x for 20 steps",
                "--when",
                "finding warning",
            ]
            _say(folder / name / "alert.txt", ["alert", f"archive:{root}/{name}", *rule])
        for a, b in zip(names[::2], names[1::2], strict=False):
            for form in ("text", "json", "csv", "markdown", "html"):
                call = ["compare", f"archive:{root}/{a}", f"archive:{root}/{b}", "--format", form]
                _say(folder / "compare" / f"{a}--{b}.{form}", call)
        for form in ("text", "json", "csv"):
            _say(folder / f"jobs.{form}", ["jobs", "--archive", str(root), "--format", form])
        for form in ("text", "json", "csv", "markdown", "html"):
            _say(
                folder / f"fleet.{form}",
                ["fleet", "--archive", str(root), "--since", "2026-11-01", "--until", "2026-11-30", "--format", form],
            )
        _pages(folder / "pages", names)


def _names(root: Path) -> list[str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        command(["jobs", "--archive", str(root), "--format", "csv", "--limit", "1000"])
    return [line.partition(",")[0] for line in said.getvalue().splitlines()[1:]]


def _say(path: Path, argv: Sequence[str]) -> None:
    said, trouble = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(trouble):
        code = command(argv)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{_NUMBERED.sub('N', said.getvalue())}\n--- {code}\n{trouble.getvalue()}", encoding="utf-8")


def _pages(folder: Path, names: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"job-{name}.txt").write_text(_page("job", job=name), encoding="utf-8")
        (folder / f"plan-{name}.txt").write_text(_page("plan", job=name), encoding="utf-8")
    for a, b in zip(names[::2], names[1::2], strict=False):
        (folder / f"compare-{a}.txt").write_text(_page("compare", job=[a, b]), encoding="utf-8")
    for page in ("jobs", "thresholds", "fleet"):
        (folder / f"{page}.txt").write_text(_page(page), encoding="utf-8")


def _page(name: str, **parameters: str | list[str]) -> str:
    """What a page says once it says no more."""
    page = AppTest.from_file(str(_APP), default_timeout=60)
    for key, value in parameters.items():
        page.query_params[key] = value
    if name != "jobs":
        page.switch_page(f"pages/{name}.py")
    page.run()
    said, same, until = "", 0, time.monotonic() + _LONGEST_WAIT_S
    while same < _QUIET_RUNS and time.monotonic() < until:
        before, said = said, _words(page)
        same = same + 1 if said == before and _LOADING not in said else 0
        time.sleep(0.1)
        page.run()
    return said


def _words(page: AppTest) -> str:
    parts = []
    for kind in _KINDS:
        for element in page.get(kind):
            texts = [str(getattr(element, what, "") or "") for what in ("label", "value", "help")]
            parts.append(f"{kind}: {getattr(getattr(element, 'proto', None), 'title', '')} {' | '.join(texts)}")
    parts += [f"exception: {failed.value}" for failed in page.exception]
    return _MOVING.sub("… ago", "\n".join(parts)) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "archive":
        print(archive(Path(sys.argv[2])))
    else:
        render(Path(sys.argv[2]).absolute(), Path(sys.argv[3]), *sys.argv[4:])
