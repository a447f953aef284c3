"""What only a list of jobs and the settings say of a job: its tags, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.accounts import Account
from monitor.masking import masked
from monitor.settings import Settings


@dataclass(frozen=True, slots=True)
class Labels:
    """None where nobody could tell."""

    tags: Mapping[str, str] | None = None
    account_name: str | None = None
    """As the settings file calls its account."""
    team: str | None = None
    """By the job's tags or its account, as of when it was archived."""
    project: str | None = None

    def or_else(self, known: Labels) -> Labels:
        """What is not told here as it was known before."""
        return Labels(
            known.tags if self.tags is None else self.tags,
            self.account_name or known.account_name,
            self.team or known.team,
            self.project or known.project,
        )


def labels_of(tags: Mapping[str, str] | None, account: Account | None, settings: Settings) -> Labels:
    """``tags`` come out masked, like a job's parameters."""
    told = None if tags is None else {name: str(masked(name, value)) for name, value in tags.items()}

    team, project = (told or {}).get(settings.team_tag), (told or {}).get(settings.project_tag)
    if account is None:
        return Labels(told, None, team or None, project or None)
    return Labels(
        told,
        account.name,
        team or account.tag(settings.team_tag) or account.team,
        project or account.tag(settings.project_tag) or account.project,
    )


def kept_labels(row: Mapping[str, Any]) -> Labels:
    """Those of a job's row in the archive."""
    told = row.get("tags")
    return Labels(
        json.loads(told) if isinstance(told, str) else None,
        *(row.get(name) for name in ("account_name", "team", "project")),
    )
