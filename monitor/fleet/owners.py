"""Whose is a job? A team, a project or an account, by its tags and its account alone: never a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from monitor.fleet.facts import JobFacts

#: What a report may be by.
BY = ("team", "project", "account")
TEAM_TAG, PROJECT_TAG = "team", "project"
#: Whose jobs are that no tag and no account names an owner of.
UNTAGGED = "untagged"
#: The account of jobs that are known from log files alone.
NO_ACCOUNT = "no account"

Owner = Callable[[JobFacts], str]


class Member(NamedTuple):
    """An account as the settings file has it now."""

    name: str
    team: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Owners:
    """How owners are told: by a job's own tag, else as was noted when it was archived, else by its account as it is now."""

    team_tag: str = TEAM_TAG
    project_tag: str = PROJECT_TAG
    members: Mapping[str, Member] = field(default_factory=dict)
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

    def _member(self, facts: JobFacts) -> Member | None:
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
