"""The container: linted, and what it holds is started as it would be; built only where a builder is at work."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.cli.grammar import parser
from tests.demo.test_serve import free_port
from tests.test_supply import PINS, pins_in

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = [
    shlex.split(line, comments=True)
    if not line.startswith(("CMD", "ENTRYPOINT", "HEALTHCHECK", "RUN"))
    else line.split(None, 1)
    for line in DOCKERFILE.replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]
FINAL = STEPS[max(at for at, step in enumerate(STEPS) if step[0] == "FROM") :]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def _builder() -> str | None:
    for name in ("docker", "podman", "buildah"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


def _argv(step: str) -> list[str]:
    (found,) = (json.loads(words[1]) for words in FINAL if words[0] == step)
    return [str(each) for each in found]


def test_a_linter_has_nothing_to_say() -> None:
    linter = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if linter is None:
        pytest.skip("hadolint is not installed (requirements-dev.txt)")
    done = subprocess.run([linter, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_is_built() -> None:
    builder = _builder()
    if builder is None:
        pytest.skip("no builder (docker, podman, buildah) is at work here: the Dockerfile was only linted")
    subprocess.run(["make", "image", "IMAGE=trainwatch-test"], cwd=ROOT, check=True, timeout=1200)
    if builder != "buildah":
        said = subprocess.run([builder, "run", "--rm", "trainwatch-test", "--version"], capture_output=True, text=True)
        assert said.stdout.startswith("trainwatch ")


def test_it_runs_as_nobody_in_particular_with_a_health_check_and_read_only() -> None:
    (user,) = (words[1] for words in FINAL if words[0] == "USER")
    assert int(user) >= 10_000
    (health,) = (words[1] for words in FINAL if words[0] == "HEALTHCHECK")
    assert "/_stcore/health" in health
    assert _argv("ENTRYPOINT") == ["python", "-m", "monitor"]
    served = parser().parse_args(_argv("CMD"))
    assert served.read_only
    assert f":{served.port}/" in health


def test_what_goes_to_the_builder_is_what_is_copied_and_no_secret() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule[1:].partition("/")[0] for rule in rules if rule.startswith("!")}
    copied = {source for words in STEPS if words[0] == "COPY" and "--from" not in words[1] for source in words[1:-1]}
    assert copied == let_in
    assert not re.search(r"(?i)secret|password|access_key|token", DOCKERFILE)


def test_the_packages_of_the_image_are_those_that_are_tested() -> None:
    run = pins_in("constraints-run.txt")
    assert run.items() <= PINS.items()
    assert "streamlit" in run
    assert not {"pytest", "playwright", "mcp"} & run.keys()
    assert "--require-hashes" in DOCKERFILE


def test_what_is_copied_starts_the_demo_and_is_healthy(tmp_path: Path) -> None:
    """As in the image: the files that are copied, found by PYTHONPATH, from a folder of the user's."""
    for words in FINAL:
        if words[0] == "COPY" and "--from" not in words[1]:
            source, target = words[1:]
            place = tmp_path / target.lstrip("/")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)
    home, port = tmp_path / "home", free_port()
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(tmp_path / "opt" / "trainwatch")}
    started = [sys.executable, *_argv("ENTRYPOINT")[1:], "demo", "--port", str(port), "--read-only"]
    with subprocess.Popen(started, cwd=home, env=environment, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            assert f":{port}" in demo.stdout.readline()
            (health,) = (words[1] for words in FINAL if words[0] == "HEALTHCHECK")
            check = json.loads(health.partition("CMD ")[2])
            asked = [sys.executable, *(each.replace(":8501", f":{port}") for each in check[1:])]
            assert subprocess.run(asked, timeout=20, check=False).returncode == 0
        finally:
            demo.send_signal(signal.SIGTERM)
        assert demo.wait(30) == 0


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_service_may_little_and_is_reached_from_this_machine_alone(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert all(value is None for value in service.get("environment", {}).values()), "a value stands in the file"
    served = parser().parse_args(service.get("command") or _argv("CMD"))
    assert served.read_only
    assert str(served.port) == service["ports"][0].rpartition(":")[2]


def test_the_demo_is_what_compose_starts_by_itself() -> None:
    by_itself = [name for name, service in COMPOSE["services"].items() if "profiles" not in service]
    assert by_itself == ["demo"]
    assert COMPOSE["services"]["demo"]["command"][0] == "demo"
