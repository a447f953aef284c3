"""What a shell offers after TAB, asked of the shells that this machine has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import ran

_BASH = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_trainwatch
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
_FISH = "source {script}; complete -C '{words}'"
_CASES = [
    ("trainwatch rep", "report"),
    ("trainwatch report --form", "--format"),
    ("trainwatch report --format ht", "html"),
    ("trainwatch alarms cr", "create"),
    ("trainwatch completion fi", "fish"),
]


def _script(shell: str, capsys: pytest.CaptureFixture[str], folder: Path) -> Path:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = folder / f"completion.{shell}"
    script.write_text(ran(capsys, "completion", shell)[0])
    return script


@pytest.mark.parametrize(("words", "offered"), _CASES)
def test_bash_completes(words: str, offered: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = _BASH.format(script=_script("bash", capsys, tmp_path), words=words)
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True)
    assert offered in done.stdout.split()
    assert done.stderr == ""


@pytest.mark.parametrize(("words", "offered"), _CASES)
def test_fish_completes(words: str, offered: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = _FISH.format(script=_script("fish", capsys, tmp_path), words=words)
    done = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True, check=True)
    assert offered in done.stdout.split()


def test_zsh_takes_the_script(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = _script("zsh", capsys, tmp_path)
    subprocess.run(["zsh", "--no-rcs", "-n", str(script)], check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script, _ = ran(capsys, "completion", shell)
    for command in ("jobs", "report", "dashboard", "thresholds"):
        assert command in script
    assert "python -m" not in script.replace("`python -m", "")
