"""What a fleet's report needs of one job. Made once, from its row and its report in an archive, and small: whose it is, and
which of six uses each paid GPU-hour had.

The seconds come from the buckets of a job's review, which sum to its bill, so the uses do, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, NamedTuple

from monitor.analyze.ending import IDS
from monitor.analyze.phases import USEFUL
from monitor.fleet.window import DateWindow, by_day
from monitor.model.job import region_of

Use = Literal["trained", "waiting", "idle", "lost", "failed", "unknown"]

#: In the order in which they are told.
USES: tuple[Use, ...] = ("trained", "failed", "lost", "idle", "waiting", "unknown")
#: Those that bought nothing; what is unknown may be either, and is in neither.
WASTE: tuple[Use, ...] = ("failed", "lost", "idle", "waiting")

#: Use -> what it is.
DEFINITIONS: Mapping[Use, str] = {
    "trained": "steps that were kept, evaluation and checkpoints",
    "failed": "time of a failed job after its last checkpoint, or all of it if it never made a step",
    "lost": "steps that were done again after a restart",
    "idle": "no step although the GPUs were held: standstills, and the time after the last step",
    "waiting": "start, image, download, initialization, upload, interruptions, and what slow steps took beyond the usual",
    "unknown": "no step lines, or a failed job of which no checkpoint was seen: nobody knows what was kept",
}
#: Where the terms come from.
SOURCES: Mapping[str, str] = {
    "GPU-hours": "GPUs x billed instance time, as AWS bills it, cut at midnight UTC",
    "goodput": "share of GPU-hours in steps that were kept: scheduling x runtime goodput of Google's ML Productivity Goodput "
    "(arXiv 2502.06982); evaluation and checkpoints are badput there, and are not in it here",
    "badput": "the causes of ml-goodput-measurement, as this program's buckets; they sum to the bill",
    "MTBF": "node-hours over failures, with the exact Poisson interval (Garwood 1936); per 1,000 node-days as in Meta's "
    "study of its clusters (arXiv 2410.21680)",
    "idle": "windows, idle and unallocated shares as in OpenCost: an entry of its own, not shared out",
}

_BY_BUCKET: Mapping[str, Use] = {
    "stall": "idle",
    "idle-tail": "idle",
    "lost-work": "lost",
    "unknown": "unknown",
}
# Of a failed job without a checkpoint nobody knows whether these were kept: a script may save without a word.
_STEPS = USEFUL | {"slow-excess"}


def use_of(bucket: str) -> Use:
    """Of a job that did not fail, and of a failed one up to its last checkpoint."""
    return "trained" if bucket in USEFUL else _BY_BUCKET.get(bucket, "waiting")


def use_in_failed(bucket: str, saved: Literal["before", "after", "never"], stepped: bool) -> Use:
    """Of a failed job: ``before`` or ``after`` its last checkpoint, or of one that was never seen to save."""
    if bucket == "unknown" or saved == "before":
        return use_of(bucket)
    if saved == "never" and stepped and bucket in _STEPS:
        return "unknown"
    if saved == "never" and stepped:
        return use_of(bucket)
    return "failed"


#: Of what is made of a job here; facts of another version are made again.
VERSION = 2
Blame = Literal["infrastructure", "user", "either"]
#: First cause -> whose it is. A collective's timeout is both: a dead host and unequal batches look the same.
BLAMES: Mapping[str, Blame] = {
    "spot-interruption": "infrastructure",
    "capacity": "infrastructure",
    "internal-error": "infrastructure",
    "nccl-timeout": "either",
    "unknown": "either",
}
_WITHOUT_CAUSE = "unknown"
_QUEUED = frozenset({"pending", "starting"})
_MOST_TEXT = 400


@dataclass(frozen=True, slots=True)
class BilledTime:
    """The billed time of one bucket of a job on one day."""

    day: date
    bucket: str
    use: Use
    instance_s: float


@dataclass(frozen=True, slots=True)
class FindingFact:
    """A finding that says what could be saved, or what to set."""

    id: str
    title: str
    next_step: str
    share: float | None
    """Of the job's bill, for this finding alone; None where nobody knows."""
    parameter: str | None = None
    from_value: str | None = None
    to_value: str | None = None
    change_pct: tuple[float, float, float] | None = None
    """Predicted, of the step time."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    """One archived job. What was not observed is None."""

    key: str
    """Where it is in the archive."""
    stamp: str
    """Another one when the job was archived again."""
    name: str
    base: str
    """What its runs have in common."""
    arn: str | None
    account: str | None
    region: str | None
    status: str | None
    created: datetime | None
    started: datetime | None
    ended: datetime | None
    reviewed_at: datetime | None
    instance_type: str | None
    instances: int
    gpus: int | None
    """Of all its nodes; 0 of a job without any."""
    spot: bool
    price_usd: float | None
    """For an instance-hour."""
    usd: float | None
    training_s: float | None
    billable_s: float | None
    cause: str | None
    """The first cause of a job that ended badly; None of others."""
    queued_s: float
    """From its creation until billing began: pending, and starting until the instances were there."""
    stepped_at: datetime | None
    """When its first step began."""
    recoverable_share: float | None
    """Of its bill, overlaps counted once."""
    gpu_utilization_pct: float | None
    step_median_s: float | None
    step_p10_s: float | None
    step_p90_s: float | None
    step_reports: int
    account_name: str | None = None
    """As the settings file called its account when the job was archived."""
    team: str | None = None
    """Whose it was by its tags and its account then."""
    project: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[FindingFact, ...] = ()
    shares: tuple[BilledTime, ...] = ()
    interruptions: tuple[tuple[datetime, datetime], ...] = ()
    """Each from the interruption to the first step after it."""

    @property
    def billed_s(self) -> float:
        """Instance-seconds."""
        return sum(share.instance_s for share in self.shares)

    @property
    def usd_per_instance_s(self) -> float | None:
        billed_s = self.billed_s
        return self.usd / billed_s if self.usd is not None and billed_s else None

    @property
    def gpus_per_instance(self) -> float | None:
        return None if self.gpus is None else self.gpus / self.instances

    @property
    def blame(self) -> Blame | None:
        return None if self.cause is None else BLAMES.get(self.cause, "user")

    @property
    def spot_saved_usd(self) -> float | None:
        """Against the same time on demand; None of a job that is not on spot, or still runs."""
        if not self.spot or self.ended is None or self.training_s is None or self.billable_s is None:
            return None
        if self.price_usd is None:
            return None
        return max(0.0, self.training_s - self.billable_s) * self.instances * self.price_usd / 3600

    def inside(self, window: DateWindow) -> tuple[BilledTime, ...]:
        return tuple(share for share in self.shares if window.start <= share.day < window.end)


def facts_of(
    key: str,
    stamp: str,
    base: str,
    row: Mapping[str, Any],
    document: Mapping[str, Any],
    findings: Sequence[Mapping[str, Any]],
    saved_at: datetime | None = None,
) -> JobFacts:
    """``row`` and ``findings`` as in the archive's tables, ``document`` as in its reports. ``saved_at`` is when a failed job
    was last seen to have saved a checkpoint. KeyError, TypeError or ValueError where they are something else."""
    phases = [_Phase(each) for each in document.get("phases") or ()]
    instances = int(row.get("instance_count") or 1)
    billed_s = row.get("billed_instance_s")
    recoverable_s = row.get("recoverable_instance_s")
    return JobFacts(
        key=key,
        stamp=stamp,
        name=str(row["job_name"]),
        base=base,
        arn=row.get("arn"),
        account=row.get("account"),
        region=region_of(row.get("arn") or ""),
        status=row.get("status"),
        created=_instant(row.get("created")),
        started=_instant(row.get("started")),
        ended=_instant(row.get("ended")),
        reviewed_at=_instant(row.get("reviewed_at")),
        instance_type=row.get("instance_type"),
        instances=instances,
        gpus=row.get("gpu_count"),
        spot=bool(row.get("spot")),
        price_usd=row.get("price_usd_per_instance_hour"),
        usd=row.get("cost_usd"),
        training_s=row.get("training_seconds"),
        billable_s=row.get("billable_seconds"),
        cause=_cause(row, findings),
        queued_s=sum(each.seconds for each in phases if each.name in _QUEUED and not each.billed),
        stepped_at=next((each.start for each in phases if each.name == "productive"), None),
        recoverable_share=min(1.0, recoverable_s / billed_s) if recoverable_s is not None and billed_s else None,
        gpu_utilization_pct=row.get("gpu_utilization_pct"),
        step_median_s=row.get("step_median_s"),
        step_p10_s=row.get("step_p10_s"),
        step_p90_s=row.get("step_p90_s"),
        step_reports=int(row.get("step_reports") or 0),
        account_name=row.get("account_name"),
        team=row.get("team"),
        project=row.get("project"),
        tags=_texts(row.get("tags")),
        configuration=_texts(row.get("configuration")),
        findings=tuple(_finding(each) for each in findings if each.get("share") or each.get("parameter")),
        shares=tuple(_shares(phases, instances, row.get("status") == "Failed", saved_at)),
        interruptions=tuple(_interruptions(phases)),
    )


class _Phase:
    """A phase of a report's document."""

    __slots__ = ("billed", "end", "name", "start")

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.name, self.billed = str(document["name"]), bool(document["billed"])
        self.start, self.end = datetime.fromisoformat(document["from"]), datetime.fromisoformat(document["to"])

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


def _shares(phases: Sequence[_Phase], instances: int, failed: bool, saved_at: datetime | None) -> Iterable[BilledTime]:
    stepped = any(each.name in USEFUL for each in phases)
    sums: dict[tuple[date, str, Use], float] = {}
    for each in phases:
        if not each.billed:
            continue
        for start, end, saved in _split(each, saved_at):
            use = use_in_failed(each.name, saved, stepped) if failed else use_of(each.name)
            for day, seconds in by_day(start, end):
                key = (day, each.name, use)
                sums[key] = sums.get(key, 0.0) + seconds * instances
    return (BilledTime(*key, seconds) for key, seconds in sums.items())


def _split(
    phase: _Phase, saved_at: datetime | None
) -> Iterable[tuple[datetime, datetime, Literal["before", "after", "never"]]]:
    if saved_at is None:
        return [(phase.start, phase.end, "never")]
    border = min(max(saved_at, phase.start), phase.end)
    parts: list[tuple[datetime, datetime, Literal["before", "after", "never"]]] = [
        (phase.start, border, "before"),
        (border, phase.end, "after"),
    ]
    return [part for part in parts if part[1] > part[0]]


def _interruptions(phases: Sequence[_Phase]) -> Iterable[tuple[datetime, datetime]]:
    """From each to the first step after it; one that no step followed has not been recovered from in this job."""
    for place, each in enumerate(phases):
        if each.name != "interrupted":
            continue
        again = next((later.start for later in phases[place:] if later.name == "productive"), None)
        if again is not None:
            yield each.start, again


def _cause(row: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> str | None:
    ids = [str(each["id"]) for each in findings]
    if row.get("status") != "Failed":
        # The time limit stops a job; to whoever waits for its model it has failed.
        return "max-runtime" if "max-runtime" in ids and row.get("status") == "Stopped" else None
    if "InternalServerError" in str(row.get("failure_reason") or ""):
        return "internal-error"
    return next((id for id in ids if id in IDS), _WITHOUT_CAUSE)


def _finding(row: Mapping[str, Any]) -> FindingFact:
    change = tuple(row.get(f"change_pct_{end}") for end in ("low", "mid", "high"))
    return FindingFact(
        id=str(row["id"]),
        title=str(row.get("title") or ""),
        next_step=str(row.get("recommendation") or "").partition("\n")[0][:_MOST_TEXT],
        share=row.get("share"),
        parameter=row.get("parameter"),
        from_value=row.get("from_value"),
        to_value=row.get("to_value"),
        change_pct=None if None in change else change,  # type: ignore[arg-type]
    )


def _texts(value: Any) -> dict[str, str]:
    told = json.loads(value) if isinstance(value, str) and value else {}
    return {str(name): item if isinstance(item, str) else json.dumps(item) for name, item in told.items()}


def _instant(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


TEAM_TAG, PROJECT_TAG = "team", "project"
#: Whose jobs are that no tag and no account names an owner of.
UNTAGGED = "untagged"
#: The account of jobs that are known from log files alone.
NO_ACCOUNT = "no account"

Owner = Callable[[JobFacts], str]


class FleetAccount(NamedTuple):
    """An account as the settings file has it now."""

    name: str
    team: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Owners:
    """How owners are told: by a job's own tag, else as was noted when it was archived, else by its account as it is now."""

    team_tag: str = TEAM_TAG
    project_tag: str = PROJECT_TAG
    members: Mapping[str, FleetAccount] = field(default_factory=dict)
    """The accounts whose numbers the settings file tells, by these."""

    def by(self, by: str) -> Owner:
        """``by`` is one of ``BY``."""
        return {"team": self.team, "project": self.project, "account": self.account}[by]

    def team(self, facts: JobFacts) -> str:
        member = self._member(facts)
        return facts.tags.get(self.team_tag) or facts.team or (member and member.team) or UNTAGGED

    def project(self, facts: JobFacts) -> str:
        member = self._member(facts)
        return facts.tags.get(self.project_tag) or facts.project or (member and member.project) or UNTAGGED

    def account(self, facts: JobFacts) -> str:
        """With its region: quotas and capacity are of both."""
        return " ".join(filter(None, (self.account_name(facts), facts.region))) or NO_ACCOUNT

    def account_name(self, facts: JobFacts) -> str | None:
        """As the user calls it, else its number."""
        member = self._member(facts)
        return facts.account_name or (member and member.name) or facts.account

    def _member(self, facts: JobFacts) -> FleetAccount | None:
        return self.members.get(facts.account or "")


@dataclass(frozen=True, slots=True)
class Only:
    """Which jobs a report is about; what is empty lets all pass."""

    accounts: frozenset[str] = frozenset()
    """Names or numbers."""
    regions: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    owners: Owners = Owners()

    @property
    def words(self) -> str:
        """``account research, team vision``; "" for all jobs."""
        given = (("account", self.accounts), ("region", self.regions), ("team", self.teams))
        return ", ".join(f"{what} {' or '.join(sorted(names))}" for what, names in given if names)

    def holds(self, facts: JobFacts) -> bool:
        return (
            (not self.accounts or bool(self.accounts & {facts.account, self.owners.account_name(facts)}))
            and (not self.regions or facts.region in self.regions)
            and (not self.teams or self.owners.team(facts) in self.teams)
        )
