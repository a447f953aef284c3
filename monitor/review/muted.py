"""The findings that a user does not want to see again, and why. Kept in one file, for command line and dashboard alike.

``$XDG_CONFIG_HOME/trainwatch/muted.toml`` (``~/.config`` otherwise). It may be edited by hand; taking a mute back writes it anew:

    [[mute]]
    finding = "slow-node"
    job = "bert-2026-09-25-12-05-00-123"
    reason = "a slow disk that we know"
    since = 2026-11-22T10:00:00Z
    all_runs = true                  # optional: job is then what the names of all runs begin with

A mute is its viewer's: it is laid over a report where that is shown (``Report.muted``), and the verdict says so. Findings,
JSON, archives and alerts know nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from monitor.alert.locks import change, read_text
from monitor.analyze.ending import IDS
from monitor.errors import BadCall
from monitor.model import Finding, Mute, Report
from monitor.review.run_names import base_and_stamp
from monitor.settings import config_file, toml, unknown_name, user_folder

LONGEST_REASON = 300
_WHAT = "The muted findings"
_TEXTS = ("finding", "job", "reason")
_KEYS = (*_TEXTS, "since", "all_runs")


def muted_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where they are kept."""
    return config_file(environ).with_name("muted.toml")


def mutes(path: Path | None = None) -> tuple[Mute, ...]:
    """All of them, in the order of saving; BadCall for a file that cannot be used."""
    if path is None and user_folder("CONFIG") is None:
        return ()
    path = path or muted_file()
    return _mutes_in(read_text(path, _WHAT), path)


def mute(made: Mute, path: Path | None = None) -> None:
    """Keeps one; of the same finding and job it takes the place of an older one. BadCall without a reason."""
    path = path or muted_file()
    reason = " ".join(made.reason.split())
    if not reason:
        raise BadCall("A finding is muted with a reason.", "Give a short reason; everyone can see it.")
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise BadCall(f"A reason has at most {LONGEST_REASON} printable characters.", "Shorten it.")
    new = replace(made, reason=reason)

    def added(text: str) -> str:
        known = _mutes_in(text, path)
        if any(_same(each, new) for each in known):
            return _as_toml([*(each for each in known if not _same(each, new)), new])
        return f"{text.rstrip()}\n\n{_as_toml([new])}".lstrip("\n")

    change(path, _WHAT, added)


def unmute(gone: Mute, path: Path | None = None) -> None:
    """Takes one back; one that is not there any more is fine."""
    path = path or muted_file()

    def without(text: str) -> str:
        known = _mutes_in(text, path)
        rest = [each for each in known if not _same(each, gone)]
        return text if len(rest) == len(known) else _as_toml(rest)

    change(path, _WHAT, without)


def with_mutes(report: Report, known: Iterable[Mute]) -> Report:
    """The report with those that concern it."""
    found = {
        finding.id: each
        for finding in report.findings
        if can_mute(finding)
        for each in known
        if each.finding == finding.id and _concerns(each, report.job.name)
    }
    return replace(report, muted=found) if found else report


def is_muted(finding: str, job: str, known: Iterable[Mute]) -> bool:
    """Whether the finding of that id is muted for the job of that name."""
    return any(each.finding == finding and _concerns(each, job) for each in known)


def can_mute(finding: Finding) -> bool:
    """Not what ended a job badly: that it failed stays true."""
    return not (finding.severity == "critical" and finding.id in IDS)


def base_of_runs(name: str) -> str | None:
    """What the names of all runs of a job begin with; None where its name has no time at its end."""
    found = base_and_stamp(name)
    return None if found is None else found[0]


def _concerns(each: Mute, name: str) -> bool:
    return each.job == (base_of_runs(name) if each.all_runs else name)


def _same(one: Mute, other: Mute) -> bool:
    return (one.finding, one.job, one.all_runs) == (other.finding, other.job, other.all_runs)


def _mutes_in(text: str, path: Path) -> tuple[Mute, ...]:
    try:
        data = toml(text)
        for name in data.keys() - {"mute"}:
            raise ValueError(f"there is no {name}, {unknown_name(name, ['mute'])}")
        return tuple(map(_mute, data.get("mute", [])))
    except (TypeError, KeyError, ValueError) as error:
        said = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise BadCall(f"{_WHAT} in {path} cannot be read: {said}.", "Correct the file or move it elsewhere.") from None


def _mute(row: Mapping[str, Any]) -> Mute:
    if not isinstance(row, Mapping) or not all(isinstance(row[name], str) for name in _TEXTS):
        raise TypeError("finding, job and reason are texts in [[mute]]")
    for name in row:
        if name not in _KEYS:
            raise ValueError(f"there is no {name} in [[mute]], {unknown_name(name, _KEYS)}")
    since, all_runs = row["since"], row.get("all_runs", False)
    if not isinstance(since, datetime) or since.tzinfo is None or not isinstance(all_runs, bool):
        raise TypeError("since is an instant such as 2026-11-22T10:00:00Z, and all_runs is true or false")
    return Mute(row["finding"], row["job"], row["reason"], since, all_runs)


def _as_toml(rows: Iterable[Mute]) -> str:
    return "\n".join(map(_block, rows))


def _block(made: Mute) -> str:
    # What JSON escapes TOML reads the same way; a reason holds only printable signs.
    lines = ["[[mute]]", *(f"{name} = {json.dumps(getattr(made, name), ensure_ascii=False)}" for name in _TEXTS)]
    lines.append(f"since = {made.since.isoformat().replace('+00:00', 'Z')}")
    return "\n".join([*lines, *(["all_runs = true"] if made.all_runs else [])]) + "\n"
