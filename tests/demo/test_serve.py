"""The command: what it refuses, what the child process gets, how it starts and ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from monitor import settings
from monitor.cli import dashboard
from monitor.cli.demo import serve_demo
from monitor.cli.main import main
from monitor.errors import BadCall, CannotDo
from monitor.serve import who_can_see
from monitor.settings import ONE_PROFILE, READ_ONLY
from tests.demo.seen import Seen

ROOT = Path(__file__).resolve().parents[2]
PAGE = "import os\nimport streamlit as st\nst.title(os.environ['AWS_ENDPOINT_URL'])\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_busy_port_is_refused_with_its_remedy() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(CannotDo, match=r"^Port \d+ is already in use\. .*--port 8600.*PORT=8600") as caught:
            serve_demo(other.getsockname()[1])
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_an_impossible_port_is_a_wrong_call(port: int) -> None:
    with pytest.raises(BadCall, match=f"no port {port}"):
        serve_demo(port)


def test_a_missing_script_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotDo, match=r"nowhere\.py is missing"):
        serve_demo(free_port(), tmp_path / "nowhere.py")


def test_the_child_gets_the_simulated_account_and_nothing_of_the_users(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "wJalrXUtnFEMI-a-real-one"
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER", "https://api.sagemaker.eu-west-1.amazonaws.com")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/someone/.config")
    environment = seen.account.environment
    assert secret not in environment.values()
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SAGEMAKER"} & set(environment)
    assert environment["AWS_ENDPOINT_URL"] == seen.account.endpoint_url
    assert environment["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert environment["AWS_CONFIG_FILE"] == environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"
    assert environment["AWS_DEFAULT_REGION"] == "us-east-1"
    assert environment["TRAINWATCH_DEMO"] == "1"
    assert "127.0.0.1" in environment["no_proxy"].split(",")
    assert environment["PATH"] == os.environ["PATH"]
    assert environment["XDG_CONFIG_HOME"] != "/home/someone/.config"


def test_prices_for_show_are_where_the_settings_are_read(seen: Seen) -> None:
    prices = settings.read(settings.config_file(seen.account.environment)).prices
    assert {group.instance_type for job in seen.account.jobs for group in job.story.groups} <= set(prices)
    assert all(price > 0 for price in prices.values())


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_says_where_and_ends_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(PAGE)
    port = free_port()
    call = (
        "from pathlib import Path; from monitor.cli.demo import serve_demo; "
        f"raise SystemExit(serve_demo({port}, Path.cwd() / 'page.py'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", call],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline()
        assert f"http://127.0.0.1:{port}" in address
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5) as answer:
            assert answer.status == 200
        before = time.perf_counter()
        process.send_signal(number)
        _, errors = process.communicate(timeout=10)
        assert time.perf_counter() - before < 10
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors
    # The child is gone too: its port is free again.
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("203.0.113.7", "203.0.113.7 is not an address of this machine. Use --host 0.0.0.0"),
        ("no such host", "There is no host 'no such host'. Use --host 0.0.0.0"),
    ],
)
def test_a_host_that_cannot_be_listened_on_is_a_wrong_call(host: str, said: str) -> None:
    with pytest.raises(BadCall, match=re.escape(said)):
        serve_demo(free_port(), host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.5", "::1", "localhost"])
@pytest.mark.parametrize("read_only", [True, False])
def test_where_this_machine_alone_gets_in_nobody_is_warned(host: str, read_only: bool) -> None:
    assert who_can_see(host, 8501, read_only) == ""


@pytest.mark.parametrize(
    ("host", "where"), [("0.0.0.0", "this machine"), ("::", "this machine"), ("10.1.2.3", "10.1.2.3")]
)
@pytest.mark.parametrize(
    ("read_only", "can"), [(True, "can change nothing"), (False, "also change its thresholds and mutes")]
)
def test_where_others_get_in_one_sentence_says_who_sees_and_changes_what(
    host: str, where: str, read_only: bool, can: str
) -> None:
    said = who_can_see(host, 8600, read_only)
    assert said.startswith(
        f"There is no sign-in: everyone who reaches port 8600 of {where} sees all jobs, logs, parameters and costs"
    )
    assert can in said
    assert "docs/hosting.md" in said


@pytest.mark.parametrize(
    ("given", "read_only", "one_profile"),
    [
        ([], "0", False),
        (["--read-only"], "1", False),
        (["--host", "0.0.0.0"], "1", True),
        (["--host", "0.0.0.0", "--no-read-only"], "0", True),
        (["--host", "::1", "--profile", "training"], "0", True),
    ],
)
def test_what_a_visitor_may_do_follows_from_the_call(
    given: list[str], read_only: str, one_profile: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, str] = {}
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv(ONE_PROFILE, raising=False)
    monkeypatch.setattr(dashboard, "account_source", lambda arguments: None)
    monkeypatch.setattr(dashboard, "check", lambda *given, **named: None)
    monkeypatch.setattr(dashboard, "serve", lambda port, environment, *given, **named: seen.update(environment))
    assert main(["dashboard", *given]) == 0
    assert seen[READ_ONLY] == read_only
    assert (seen.get(ONE_PROFILE) == "1") is one_profile


def test_a_dashboard_ends_when_its_launcher_is_killed(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(PAGE)
    port = free_port()
    call = (
        "import time; from pathlib import Path; from monitor.serve import Dashboard; "
        f"one = Dashboard(Path.cwd() / 'page.py', {port}, __import__('os').environ); "
        "print(one.wait_until_it_answers(lambda: False), flush=True); time.sleep(60)"
    )
    launcher = subprocess.Popen(
        [sys.executable, "-c", call],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "True\n"
    finally:
        launcher.kill()
        launcher.wait()
    until = time.monotonic() + 30
    while _listens(port) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _listens(port)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
