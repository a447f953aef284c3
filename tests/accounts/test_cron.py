"""The lines for cron of the documentation, as they stand, through a shell: what they do once, and what a second time."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
from moto.sagemaker.models import sagemaker_backends

from monitor.fleet.window import monday_of, week
from monitor.review.nightly import NightlyFolder, NightlyState
from tests.accounts.conftest import NUMBERS, Cloud
from tests.alert.receiver import receiving

ROOT = Path(__file__).parents[2]
LINES = [
    line
    for page in ("archive", "fleet")
    for line in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"[\d*/]+ [\d*/]+ \* \* ", line)
]
ARCHIVE = "s3://bucket/prefix"


def _ran(line: str, tmp_path: Path, endpoint: str) -> subprocess.CompletedProcess[str]:
    """The command of a line with the folder, the interpreter and the secret that there are here, and cron's bare environment."""
    *when, command = line.split(maxsplit=5)
    assert all(re.fullmatch(r"\*|\d+", part) for part in when)
    # cron takes a per cent sign for a new line.
    assert "%" not in command
    command = command.replace("/opt/trainwatch", shlex.quote(str(ROOT))).replace("/etc/trainwatch", str(tmp_path))
    command = command.replace(".venv/bin/python", shlex.quote(sys.executable))
    kept = {
        name: text for name, text in os.environ.items() if name.startswith(("AWS_", "XDG_")) or name in {"PATH", "LANG"}
    }
    own = {"HOME": str(tmp_path), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "AWS_ENDPOINT_URL": endpoint}
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, env=kept | own, capture_output=True, text=True, timeout=110
    )


def test_the_lines_for_cron_archive_report_and_say_each_thing_once(
    cloud: Cloud, settings: Path, tmp_path: Path
) -> None:
    archived, weekly, nightly = LINES
    assert (" archive --all " in archived, " nightly " in nightly, " fleet --week last " in weekly) == (
        True,
        True,
        True,
    )
    boto3.client("s3", endpoint_url=cloud.url, region_name="us-east-1").create_bucket(Bucket="bucket")
    (job,) = sagemaker_backends[NUMBERS["prod"]]["us-east-1"].training_jobs.values()
    monday = monday_of(datetime.now(UTC).date())
    begun = datetime.combine(monday, datetime.min.time(), UTC) - timedelta(days=3)
    told = [{"Status": "Training", "StartTime": begun.isoformat(), "EndTime": (begun + timedelta(hours=2)).isoformat()}]
    kept = {
        name: getattr(job, name)
        for name in ("training_start_time", "training_end_time", "secondary_status_transitions")
    }
    job.training_start_time, job.training_end_time = told[0]["StartTime"], told[0]["EndTime"]
    job.secondary_status_transitions = told
    state = Path(os.environ["XDG_STATE_HOME"], "trainwatch")
    state.mkdir(parents=True)
    # As if the week before the last one had been reported: the last one is due on any day.
    NightlyFolder(state, ARCHIVE).keep(NightlyState(reported_until=monday - timedelta(days=7)))
    try:
        with receiving() as receiver:
            (tmp_path / "slack").write_text(receiver.url, encoding="utf-8")
            for line in (archived, nightly, weekly, nightly, weekly):
                done = _ran(line, tmp_path, cloud.url)
                # What is printed is mailed.
                assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), line
            (message,) = receiver.got
    finally:
        for name, value in kept.items():
            setattr(job, name, value)
    window = week("last", datetime.now(UTC).date())
    assert window is not None
    assert f"GPU-hours {window.name}: 32.0 GPU-hours, $100.00 in 1 job." in message["text"]
    lines = [json.loads(line) for line in (state / "nightly.log").read_text(encoding="utf-8").splitlines() if line]
    assert [line["event"] for line in lines] == ["begun", "ended"] * 2
    assert [(line["places"], line["archived"], line["unchanged"]) for line in lines[1::2]] == [(3, 4, 0), (3, 3, 1)]
    # Jobs that ended within minutes are looked at again.
    assert [line["reports"] for line in lines[1::2]] == [[window.name], []]
