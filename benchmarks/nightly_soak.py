"""Does a night that is killed (SIGKILL) at random moments lose or repeat anything? Night after night, two regions of the demo.

NIGHTLY_KILLS of them (8), NIGHTLY_SEED. In every third night a second process is started beside the first: it must do nothing. At
the end all jobs must be archived, each alert and the week's report must have arrived, and no message twice but for the one that
was on its way in the moment of a kill.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.archive.layout import RUNS
from monitor.archive.store import FolderStore
from monitor.demo.account import DemoAccount, start
from monitor.review.nightly import NightlyFolder, NightlyState

Row = tuple[str, str, str]
_RULES = '[[rule]]\nname = "dear"\nwhen = "cost_usd > 0.01"\n'
# A night at rest takes about so long; kills fall anywhere in it.
_NIGHT_S = 12.0
_ACCOUNTS = '\n[[accounts]]\nname = "demo"\nregions = ["us-east-1", "eu-west-1"]\n'
_failed: list[str] = []


def rows() -> list[Row]:
    """The table."""
    kills, chance = int(os.environ.get("NIGHTLY_KILLS", "8")), random.Random(int(os.environ.get("NIGHTLY_SEED", "1")))
    with tempfile.TemporaryDirectory() as folder, start(datetime.now(UTC)) as account:
        return _lived(Path(folder), account, kills, chance)


def failures() -> list[str]:
    """What was not as it must be."""
    return list(_failed)


def _lived(folder: Path, account: DemoAccount, kills: int, chance: random.Random) -> list[Row]:
    call = _call(folder)
    environment = {**os.environ, **account.environment}
    for kind in ("STATE", "DATA", "CACHE"):
        environment[f"XDG_{kind}_HOME"] = str(folder / kind.lower())
    environment.pop("TRAINWATCH_NO_CACHE", None)
    settings = Path(environment["XDG_CONFIG_HOME"], "trainwatch", "config.toml").read_text(encoding="utf-8")
    environment["XDG_CONFIG_HOME"] = str(folder / "config")
    (folder / "config" / "trainwatch").mkdir(parents=True)
    (folder / "config" / "trainwatch" / "config.toml").write_text(settings + _ACCOUNTS, encoding="utf-8")
    monday = datetime.now(UTC).date() - timedelta(days=datetime.now(UTC).weekday())
    state = folder / "state" / "trainwatch"
    state.mkdir(parents=True)
    # As if the week before the last one had been reported: one report is due.
    NightlyFolder(state, str(folder / "archive")).keep(NightlyState(reported_until=monday - timedelta(days=7)))
    killed = refused = 0
    for number in range(kills):
        night = subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if number % 3 == 1 and not _ended_within(night, 4.0):
                beside = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
                if "is at work" in beside.stderr and beside.returncode == 3:
                    refused += 1
                elif night.poll() is None:
                    _failed.append(f"a second night ended with {beside.returncode}: {beside.stderr.strip()[:200]}")
            night.wait(chance.uniform(1.0, _NIGHT_S))
        except subprocess.TimeoutExpired:
            night.kill()
            night.wait()
            killed += 1
    begun = time.perf_counter()
    last = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    messages = [json.loads(line) for line in (folder / "inbox").read_text(encoding="utf-8").splitlines() if line]
    ids = Counter(str(message["id"]) for message in messages)
    kinds = Counter(str(message["kind"]) for message in {str(message["id"]): message for message in messages}.values())
    archived = len(FolderStore(folder / "archive").listed(RUNS))
    again = len(messages) - len(ids)
    for what, wrong in (
        (f"{archived} of {len(account.jobs)} jobs are archived", archived != len(account.jobs)),
        (f"{kinds['report']} reports arrived", kinds["report"] != 1),
        ("no alert arrived", not kinds["firing"]),
        (f"{again} messages arrived again after {killed} kills", again > killed),
        (f"the last night ended with {last.returncode}: {last.stderr.strip()}", last.returncode != 0),
    ):
        if wrong:
            _failed.append(what)
    return [
        ("what", "count", "may be"),
        ("nights, killed", f"{kills}, {killed}", ""),
        ("second nights that were told that one is at work", str(refused), ""),
        ("jobs archived, of those there are", f"{archived} of {len(account.jobs)}", "all"),
        ("reports of the week", str(kinds["report"]), "1"),
        ("alerts", str(kinds["firing"]), ""),
        ("messages that arrived again, under the same id", str(again), "one a kill"),
        ("exit code of the last night, its time", f"{last.returncode}, {took:.0f} s", "0"),
    ]


def _ended_within(night: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        night.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _call(folder: Path) -> list[str]:
    program, rules = folder / "receiver", folder / "rules.toml"
    program.write_text(f'#!/bin/sh\nread line\necho "$line" >> {folder}/inbox\n', encoding="utf-8")
    program.chmod(0o700)
    rules.write_text(_RULES, encoding="utf-8")
    (folder / "inbox").touch()
    options = ["--archive", str(folder / "archive"), "--rules", str(rules), "--notify", f"exec:{program}", "--quiet"]
    return [sys.executable, "-m", "monitor", "nightly", "--all-accounts", *options, "--first", "60d"]
