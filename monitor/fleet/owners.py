"""Whose is a job? A team, a project or an account, by its tags and its account alone: never a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from monitor.fleet.facts import JobFacts
from monitor.fleet.summing import UNTAGGED

#: What a report may be by.
BY = ("team", "project", "account")
TEAM_TAG, PROJECT_TAG = "team", "project"


def owner_by(
    by: str, team_tag: str = TEAM_TAG, project_tag: str = PROJECT_TAG, teams: Mapping[str, str] | None = None
) -> Callable[[JobFacts], str]:
    """Whose a job is. ``teams`` are those of accounts, by their ids, for jobs that no tag names a team of."""

    def team(facts: JobFacts) -> str:
        return facts.tags.get(team_tag) or (teams or {}).get(facts.account or "") or UNTAGGED

    def project(facts: JobFacts) -> str:
        return facts.tags.get(project_tag) or UNTAGGED

    def account(facts: JobFacts) -> str:
        return " ".join(filter(None, (facts.account, facts.region))) or "no account"

    return {"team": team, "project": project, "account": account}[by]
