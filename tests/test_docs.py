"""What the documentation says is true: its commands run, its generated pages are fresh, its links lead somewhere."""

from __future__ import annotations

import configparser
import importlib
import io
import json
import re
import shlex
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from monitor import settings
from monitor.alert.rules import rules_in
from monitor.cli.grammar import parser
from monitor.cli.main import main
from monitor.demo.account import start
from monitor.diagnose.rulebook import rules
from monitor.parse.family import families, family
from tests.parse.read import parse
from tests.write_docs import FINDINGS, findings_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLAN = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")
ALERTS = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
HOSTING = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for page in (README, PLAN, ALERTS)
    for block in re.findall(r"<!-- tested -->\n```sh\n(.*?)```", page, re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
    if line.strip()
]


def test_the_commands_of_the_documentation_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(COMMANDS) >= 7
    with start(datetime.now(UTC)) as account:
        for name, value in account.environment.items():
            if name.startswith(("AWS_", "XDG_")):
                monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        monkeypatch.chdir(ROOT)
        # The last one is the forerunner of the fourth.
        named = {"JOB": account.jobs[3].name, "OLD": account.jobs[-1].name}
        for command in COMMANDS:
            words = shlex.split(re.sub(r"(?<= )(report\.\w+)", rf"{tmp_path}/\1", command))
            assert words[:3] == ["python", "-m", "monitor"]
            argv = [re.sub(r"\b(JOB|OLD)\b", lambda found: named[found[1]], word) for word in words[3:]]
            assert main(argv) == 0, command
            printed = capsys.readouterr()
            assert printed.err == "", command
            assert printed.out or "--output" in argv, command
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# ")
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_notebook_of_the_readme_shows_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (cell,) = re.findall(r"<!-- a notebook -->\n```python\n(.*?)```", README, re.DOTALL)
    *before, last = cell.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(before), names)
    assert "iframe" in eval(last, names)._repr_html_()


def test_the_rules_file_of_the_documentation_is_one() -> None:
    (text,) = re.findall(r"<!-- a rules file -->\n```toml\n(.*?)```", ALERTS, re.DOTALL)
    assert [rule.name for rule in rules_in(text, "rules.toml")] == ["idle GPUs", "slow steps", "no progress"]


def test_every_command_is_in_the_readme() -> None:
    for command in parser()._subparsers._group_actions[0].choices:  # type: ignore[union-attr]
        assert f"`{command}" in README, f"the command {command} is missing in README.md"


def test_the_format_of_the_readme_reads_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^  ```(python|text|csv)\n(.*?)^  ```", README, re.DOTALL | re.MULTILINE)
    (_, source), (_, log), (_, table) = ((kind, textwrap.dedent(text)) for kind, text in blocks)
    (tmp_path / "acme.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    acme = family(importlib.import_module("acme"))
    assert acme.doc
    assert any(gate in log for gate in acme.gates)
    found = parse(log.splitlines(), extra=(acme.read,)).steps
    expected = pd.read_csv(io.StringIO(table))
    got = pd.read_csv(io.StringIO(found[list(expected.columns)].to_csv(index=False)))
    pd.testing.assert_frame_equal(got, expected)


def test_every_finding_that_the_advice_names_exists() -> None:
    rows = [
        line for line in (ROOT / "docs" / "advice.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    named = {id for row in rows[1:] for id in re.findall(r"`([a-z-]+)`", row.split("|")[2])}
    assert len(named) > 15
    assert named <= {rule.id for rule in rules()}


def test_the_policy_of_the_readme_is_json_and_read_only() -> None:
    policy = json.loads(re.findall(r"```json\n(.*?)```", README, re.DOTALL)[0])
    for statement in policy["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        for action in actions:
            assert action.partition(":")[2].startswith(("Describe", "List", "Get", "Filter"))


def test_the_page_of_findings_is_fresh() -> None:
    assert FINDINGS.read_text(encoding="utf-8") == findings_page(), "run python -m tests.write_docs"


def test_every_format_is_documented() -> None:
    page = (ROOT / "docs" / "log-formats.md").read_text(encoding="utf-8")
    for name in (name for known in families() for name in known.formats):
        assert f"`{name}`" in page, f"the format {name} is missing in docs/log-formats.md"


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_links_lead_somewhere(page: Path) -> None:
    # What stands in backquotes is no link, whatever its brackets look like.
    text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to {target}, which is not there"


def test_every_promise_names_the_files_of_its_tests() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", page.partition("## What it promises")[2], re.MULTILINE)[2:]
    assert len(rows) >= 11
    for promise, held_by in rows:
        named = re.findall(r"`(tests/[^`]*)`", held_by)
        assert named, f"nothing holds the promise: {promise}"
        for name in named:
            assert (ROOT / name).is_file(), f"{name} is no file; it should hold: {promise}"
            text = (ROOT / name).read_text(encoding="utf-8")
            assert "def test_" in text or "pytest.fixture" in text, f"{name} tests nothing; it should hold: {promise}"


def _block(mark: str) -> str:
    (found,) = re.findall(rf"<!-- {mark} -->\n```\w+\n(.*?)```", HOSTING, re.DOTALL)
    return str(found)


def test_the_commands_of_hosting_are_commands() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(_block("a unit"))
    program, *argv = shlex.split(unit["Service"]["ExecStart"])
    assert program.startswith(unit["Service"]["WorkingDirectory"])
    assert argv[:2] == ["-m", "monitor"]
    served = parser().parse_args(argv[2:])
    commands = re.findall(r"^python -m monitor (.*)$", HOSTING, re.MULTILINE)
    assert commands
    for command in commands:
        parser().parse_args(shlex.split(command))
    assert f"proxy_pass http://{served.host}:{served.port};" in _block("nginx")
    assert served.host == "127.0.0.1"


def test_the_settings_and_rights_of_hosting_are_taken(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(_block("settings"), encoding="utf-8")
    assert settings.read(tmp_path / "config.toml").public_url == "https://trainwatch.example.com"
    (statement,) = json.loads(_block("optional rights"))["Statement"]
    for action in statement["Action"]:
        assert action.partition(":")[2].startswith(("Search", "Describe", "Get"))
