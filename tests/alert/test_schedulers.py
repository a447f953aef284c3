"""The examples for cron, GitHub Actions, Kubernetes and Nagios do what they say, run as far as that can be done here.

Each is taken from the documentation, its paths and the job's name are replaced, and its command is run by a shell.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.alert.receiver import receiving

ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests" / "data" / "formats" / "smp_v1_two_nodes_mpi.log"
ALERTS = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8").split("## From a scheduler")[1]
HOME = "/opt/trainwatch"
FIRES, HOLDS, UNKNOWN = "step_time > 1", "step_time > 100", "gpu_utilization < 40"


def _example(kind: str, start: str) -> str:
    found = [text for text in re.findall(rf"```{kind}\n(.*?)```", ALERTS, re.DOTALL) if text.startswith(start)]
    assert len(found) == 1
    return str(found[0])


def _here(text: str) -> str:
    """The same with the folder and the interpreter that there are here."""
    return text.replace(HOME, shlex.quote(str(ROOT))).replace(".venv/bin/python", shlex.quote(sys.executable))


def _rules(file: Path, when: str, severity: str = "warning") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[[rule]]\nname = "steps"\nwhen = "{when}"\nseverity = "{severity}"\n', encoding="utf-8")
    return file


def _run(
    command: str | list[str], folder: Path, at: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    places = {"HOME": str(folder), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return subprocess.run(
        ["/bin/sh", "-c", command] if isinstance(command, str) else command,
        cwd=at or folder,
        env=kept | places | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_line_for_cron_says_a_thing_once(tmp_path: Path) -> None:
    (line,) = _example("text", "*/5").splitlines()
    *when, command = line.split(maxsplit=5)
    assert all(re.fullmatch(r"\*(/\d+)?|\d+", part) for part in when)
    # cron takes a per cent sign for a new line.
    assert "%" not in command
    _rules(tmp_path / "rules.toml", FIRES)
    command = _here(command).replace("/etc/trainwatch", str(tmp_path)).replace("my-job", f"logs:{LOG}")
    with receiving() as receiver:
        (tmp_path / "slack").write_text(receiver.url, encoding="utf-8")
        first, second = _run(command, tmp_path), _run(command, tmp_path)
        assert [first.returncode, second.returncode] == [1, 1]
        # What is printed is mailed.
        assert [first.stdout, first.stderr, second.stdout, second.stderr] == ["", "", "", ""]
        assert len(receiver.got) == 1
        assert "steps on algo-2" in receiver.got[0]["text"]


@pytest.mark.parametrize(("when", "code", "state"), [(FIRES, 1, "firing"), (HOLDS, 0, "ok"), (UNKNOWN, 3, "no data")])
def test_the_steps_for_github_actions_gate_a_run(when: str, code: int, state: str, tmp_path: Path) -> None:
    gate, upload = yaml.safe_load(_example("yaml", "- name:"))
    _rules(tmp_path / "thresholds.toml", when)
    assert gate["working-directory"] == "trainwatch"
    command = _here(gate["run"]).replace("../", f"{tmp_path}/")
    # The shell that Actions runs a step with stops at the first error.
    done = _run(f"set -e\n{command}", tmp_path, ROOT, JOB=f"logs:{LOG}")
    assert done.returncode == code
    document = json.loads((tmp_path / upload["with"]["path"]).read_text(encoding="utf-8"))
    assert [rule["state"] for rule in document["rules"]] == [state]
    assert upload["if"] == "always()"


def test_the_cron_job_of_kubernetes_finds_its_files_and_keeps_its_ledger(tmp_path: Path) -> None:
    manifest: dict[str, Any] = yaml.safe_load(_example("yaml", "apiVersion"))
    assert (manifest["apiVersion"], manifest["kind"]) == ("batch/v1", "CronJob")
    job = manifest["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    # Exit code 1 is an answer: nothing may run it again.
    assert (job["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    (container,) = pod["containers"]
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert set(mounted.values()) == {volume["name"] for volume in pod["volumes"]}
    arguments = [str(argument).replace("my-job", f"logs:{LOG}") for argument in container["args"]]
    for path, name in mounted.items():
        assert any(path in argument for argument in arguments), f"nothing reads {path}"
        (tmp_path / name).mkdir()
        arguments = [argument.replace(path, str(tmp_path / name)) for argument in arguments]
    assert container["workingDir"] == HOME
    program = _here(arguments.pop(0))
    _rules(tmp_path / mounted["/etc/trainwatch"] / "rules.toml", FIRES)
    with receiving() as receiver:
        (tmp_path / "url" / "url").write_text(receiver.url, encoding="utf-8")
        for pod_home in ("first", "second"):
            (tmp_path / pod_home).mkdir()
            done = _run([program, *arguments], tmp_path, ROOT, HOME=str(tmp_path / pod_home))
            assert done.returncode == 1, done.stderr
        assert [message["rule"] for message in receiver.got] == ["steps"]


@pytest.mark.skipif(shutil.which("jq") is None, reason="no jq is installed: apt-get install jq")
@pytest.mark.parametrize(
    ("when", "severity", "code", "said"),
    [
        (HOLDS, "critical", 0, "OK: nothing crossed"),
        (FIRES, "warning", 1, "WARNING: steps algo-"),
        (FIRES, "critical", 2, "CRITICAL: steps algo-"),
        (UNKNOWN, "warning", 3, "UNKNOWN: "),
        ("gpu_utilisation < 40", "warning", 3, "UNKNOWN: "),
    ],
)
def test_the_plugin_for_nagios_answers_in_its_terms(
    when: str, severity: str, code: int, said: str, tmp_path: Path
) -> None:
    _rules(tmp_path / "rules.toml", when, severity)
    script = _here(_example("sh", "#!/bin/sh")).replace("/etc/trainwatch", str(tmp_path))
    plugin = tmp_path / "check_training"
    plugin.write_text(script, encoding="utf-8")
    plugin.chmod(0o755)
    done = _run([str(plugin), f"logs:{LOG}"], tmp_path)
    assert done.returncode == code
    assert done.stdout.startswith(said)
    assert len(done.stdout) > len(said) or code == 0
    assert done.stderr == ""
