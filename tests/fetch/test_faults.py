"""What goes wrong on the way to AWS: what can be had is there once, what cannot is a gap with its reason, at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.account import Account, Faults, Running, running
from benchmarks.account import Job as Planned
from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, Unreachable
from monitor.fetch.account import AwsSource
from monitor.fetch.logs.reader import JobLogs
from monitor.model import LogPage, RawMetrics
from tests.aws.fake import never_wait

BEGAN_MS = 1_772_611_200_000
NOW_MS = BEGAN_MS + 3 * 3_600_000
NODES, LINES = 6, 12_000
JOB = Planned(name="bench", started_ms=BEGAN_MS, nodes=NODES, minutes=20.0, lines_per_minute=LINES / 20)
ALL = {f"id={node}.0.{line}" for node in range(1, NODES + 1) for line in range(LINES)}
# Plain: two Counters are compared key by key.
ONCE = dict.fromkeys(ALL, 1)
FIRST = f"bench/algo-1-{BEGAN_MS // 1000}"


@pytest.fixture(scope="module")
def stub() -> Iterator[Running]:
    with running(Account(jobs=(JOB,), now_ms=NOW_MS, latency_ms=1.0, quotas=())) as aws:
        yield aws


@pytest.fixture
def aws(stub: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """The stub without faults; waits between tries are short and calls are not paced."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in stub.environment.items():
        monkeypatch.setenv(name, value)
    never_wait(monkeypatch)
    monkeypatch.setattr("monitor.aws.calls.Pacer.wait", lambda *_: None)
    stub.set_faults(Faults())
    stub.set_clock(NOW_MS)
    stub.reset()
    return stub


def read(reader: JobLogs) -> Counter[str]:
    """How often each line was read, by its mark."""
    return Counter(mark for page in reader.read() for mark in marks(page))


def marks(page: LogPage) -> list[str]:
    return [line.rpartition(" ")[2] for line in page.lines]


def logs() -> JobLogs:
    source = AwsSource(Clients())
    return source.logs(source.job("bench"))


def metrics() -> RawMetrics:
    source = AwsSource(Clients())
    return source.metrics(source.job("bench"), datetime.fromtimestamp(NOW_MS / 1000, UTC))


PASSING = {
    "throttled": Faults(throttled=0.1),
    "error 500": Faults(error_500=0.1),
    "error 503": Faults(error_503=0.1),
    "reset": Faults(reset=0.1),
    "cut in half": Faults(truncated=0.1),
    "slow": Faults(slow=0.1, slow_ms=200.0),
    "all": Faults(throttled=0.1, error_500=0.05, error_503=0.05, reset=0.05, truncated=0.05),
}


@pytest.mark.parametrize("name", PASSING)
def test_trouble_that_passes_leaves_no_trace(name: str, aws: Running) -> None:
    aws.set_faults(PASSING[name])
    reader = logs()
    assert dict(read(reader)) == ONCE
    assert reader.gaps == ()
    raw = metrics()
    assert raw.gaps == ()
    assert len(raw.frame) == NODES * 5 * 20


def test_the_first_picture_and_the_rest_through_all_trouble(aws: Running) -> None:
    aws.set_faults(PASSING["all"])
    reader = logs()
    newest = Counter(mark for page in reader.newest() for mark in marks(page))
    assert dict(newest + read(reader)) == ONCE


@pytest.mark.parametrize("denied", ["GetLogEvents", "DescribeLogStreams", "FilterLogEvents"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_one_right_of_the_logs_is_missing(denied: str, newest_first: bool, aws: Running) -> None:
    aws.set_faults(Faults(denied=(denied,)))
    reader = logs()
    found = Counter(mark for page in (reader.newest() if newest_first else ()) for mark in marks(page))
    found += read(reader)
    assert dict(found) == ONCE
    # What was read in another way is told all the same: it is slower.
    said = [gap.why for gap in reader.gaps]
    assert said == [] if denied == "FilterLogEvents" else f"logs:{denied}" in said[0] and "instead" in said[0]


def test_no_right_to_any_log(aws: Running) -> None:
    aws.set_faults(Faults(denied=("GetLogEvents", "FilterLogEvents")))
    reader = logs()
    assert not read(reader)
    (gap,) = reader.gaps
    assert "logs:GetLogEvents" in gap.why
    aws.set_faults(Faults())
    assert dict(read(reader)) == ONCE
    assert reader.gaps == ()


def test_no_right_to_the_metrics(aws: Running) -> None:
    aws.set_faults(Faults(denied=("GetMetricData",)))
    raw = metrics()
    assert raw.frame.empty
    assert ["cloudwatch:GetMetricData" in gap.why for gap in raw.gaps] == [True]


def test_a_group_that_is_not_there_yet(aws: Running) -> None:
    aws.set_faults(Faults(no_group=True))
    reader = logs()
    assert not read(reader)
    assert [gap.what for gap in reader.gaps] == ["logs"]
    aws.set_faults(Faults())
    assert dict(read(reader)) == ONCE
    assert reader.gaps == ()


def test_a_stream_is_deleted_while_it_is_read(aws: Running) -> None:
    aws.set_faults(Faults(deleted=((FIRST, 1),)))
    reader = logs()
    found = read(reader)
    others = {mark for mark in ALL if not mark.startswith("id=1.")}
    assert others < set(found) < ALL
    assert max(found.values()) == 1
    (gap,) = reader.gaps
    assert "algo-1" in gap.why
    assert "does not exist" in gap.why


def test_credentials_that_expire_and_are_not_renewed(aws: Running) -> None:
    reader = logs()
    aws.reset()
    aws.set_faults(Faults(expired_after=5))
    found: Counter[str] = Counter()
    pages = reader.read()
    with pytest.raises(NoCredentials, match="expired"):
        found.update(mark for page in pages for mark in marks(page))
    # The user logs in again: the same reader goes on where it was.
    aws.set_faults(Faults())
    assert dict(found + read(reader)) == ONCE


def test_credentials_that_were_renewed_are_found(aws: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def keys(key: str) -> None:
        # In one move: another thread may read it at this moment.
        fresh = tmp_path / f"{key}-{threading.get_ident()}"
        fresh.write_text(f"[default]\naws_access_key_id={key}\naws_secret_access_key=s\n")
        fresh.replace(tmp_path / "credentials")

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    keys("old")
    clients = Clients()
    source = AwsSource(clients)
    job = source.job("bench")
    used: list[str] = []
    clients.client("logs").meta.events.register(
        "before-send", lambda request, **_: used.append(request.headers["Authorization"])
    )
    aws.reset()
    aws.set_faults(Faults(expired_after=4))

    def log_in() -> None:
        keys("new")
        aws.set_faults(Faults())

    # The moment at which the first refusal is told is the moment at which somebody has just logged in.
    renew = clients._renewed
    monkeypatch.setattr(clients, "_renewed", lambda *told: (log_in(), renew(*told))[1])
    reader = source.logs(job)
    assert dict(read(reader)) == ONCE
    assert reader.gaps == ()


def test_nobody_listens(aws: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://no-such-host.invalid")
    with pytest.raises(Unreachable, match="Nothing answers"):
        Clients().call("sagemaker", "list_training_jobs")


def test_the_network_is_lost_on_the_way(aws: Running) -> None:
    reader = logs()
    pages = reader.read()
    found = Counter(marks(next(pages)))
    aws.set_faults(Faults(reset=1.0))
    begin_s = time.monotonic()
    for page in pages:
        found.update(marks(page))
    assert time.monotonic() - begin_s < 30
    (gap,) = reader.gaps
    assert "Try again" in gap.remedy
    assert set(found) < ALL
    aws.set_faults(Faults())
    assert dict(found + read(reader)) == ONCE


@pytest.fixture
def _heard() -> Iterator[None]:
    """Ctrl-C reaches what is started here, also where these tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard")
@pytest.mark.parametrize("slow", ["DescribeTrainingJob", "GetLogEvents", "GetMetricData"])
def test_ctrl_c_works_at_once(slow: str, aws: Running) -> None:
    aws.set_faults(Faults(slow=1.0, slow_ms=25_000.0, operations=(slow,)))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "monitor", "report", "bench"]
    process = subprocess.Popen(
        command, env={**environment, **aws.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        limit_s = time.monotonic() + 30
        while not aws.counts().calls.get(slow) and time.monotonic() < limit_s:
            time.sleep(0.05)
        time.sleep(0.3)
        begin_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        seconds = time.monotonic() - begin_s
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    # Not when the answer comes, 25 s later.
    assert seconds < 10
