"""The wheel: built from this checkout, installed in an environment of its own, and used from a folder of no checkout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from monitor import __version__
from monitor.installed import APP, program
from tests.demo.test_serve import free_port
from tests.test_supply import asked_in

pytest.importorskip("hatchling", reason="the wheel is built with hatchling (requirements-dev.txt)")
ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "tests" / "data" / "formats" / "smp_v1_two_nodes_mpi.log"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, in an environment that has the wheel; what it needs comes from the environment of the tests."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home)
    python = home / "bin" / "python"
    (place,) = (home / "lib").glob("python*/site-packages")
    (place / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    with_pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*with_pip, str(wheel)], check=True, capture_output=True)
    return home / "bin" / "trainwatch"


@pytest.fixture
def away(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who knows no checkout."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON", "TRAINWATCH"))},
        **{f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "CACHE", "DATA", "STATE")},
    }


def _said(command: Path, *argv: str, away: dict[str, str], folder: Path) -> str:
    done = subprocess.run([command, *argv], cwd=folder, env=away, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_all_that_the_dashboard_needs_and_nothing_of_the_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    kinds = {".py", ".csv", ".css", ".js", ".svg", ".j2", ".toml"}
    sources = {path.relative_to(ROOT) for path in (ROOT / "monitor").rglob("*") if path.suffix in kinds}
    assert {str(path) for path in sources} <= names
    assert "monitor/py.typed" in names
    beside = [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), ROOT / ".streamlit" / "config.toml"]
    assert {f"monitor/dashboard/{path.relative_to(ROOT)}" for path in beside} <= names
    assert {name.partition("/")[0] for name in names} == {"monitor", f"trainwatch-{__version__}.dist-info"}


def test_the_wheel_asks_for_what_the_lists_of_requirements_do(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        told = packed.read(f"trainwatch-{__version__}.dist-info/METADATA")
    metadata = Metadata.from_email(told, validate=False)
    asked = metadata.requires_dist or []
    assert _named(each for each in asked if each.marker is None) == _named(asked_in("requirements.txt"))
    assert metadata.provides_extra == ["mcp", "spark"]
    for extra in metadata.provides_extra:
        found = _named(each for each in asked if f'"{extra}"' in str(each.marker))
        assert found == _named(asked_in(f"requirements-{extra}.txt"))


def _named(asked: Iterable[Requirement]) -> set[tuple[str, str]]:
    return {(canonicalize_name(each.name), str(each.specifier)) for each in asked}


def test_the_command_is_the_program(command: Path, away: dict[str, str], tmp_path: Path) -> None:
    assert _said(command, "--version", away=away, folder=tmp_path) == f"trainwatch {__version__}\n"
    assert "usage: trainwatch report" in _said(command, "report", "--help", away=away, folder=tmp_path)
    assert "algo-2" in _said(command, "report", f"logs:{LOG}", away=away, folder=tmp_path)


def test_the_demo_starts_from_any_folder(command: Path, away: dict[str, str], tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [command, "demo", "--port", str(port)],
        cwd=tmp_path,
        env=away,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        try:
            assert demo.stdout is not None
            url = f"http://127.0.0.1:{port}"
            assert url in demo.stdout.readline(), demo.stderr and demo.stderr.read()
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=10) as answer:
                assert answer.status == 200
        finally:
            demo.send_signal(signal.SIGINT)
        assert demo.wait(30) == 0


def test_a_checkout_is_called_as_it_is_run() -> None:
    assert ROOT / "app.py" == APP
    assert program("/checkout/monitor/__main__.py", is_package=False) == "python -m monitor"
    assert program("/home/me/.local/bin/trainwatch", is_package=False) == "trainwatch"
    assert program("/checkout/monitor/__main__.py", is_package=True) == "trainwatch"
