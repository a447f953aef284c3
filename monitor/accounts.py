"""Accounts and regions that are reviewed together: the ``[[accounts]]`` of the settings file, checked, and a choice of them.

[[accounts]]
name = "research"                                        # in lists, addresses and files
role = "arn:aws:iam::111122223333:role/TrainwatchRead"   # or profile = "research-ro"
external_id = "trainwatch"                               # with role: what its trust policy asks for
session_name = "trainwatch"                              # with role: what CloudTrail shows
regions = ["us-east-1", "eu-west-1"]
team = "vision"                                          # whose jobs these are, unless a job's own tag says it
project = "search"
tags = { stage = "prod" }
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from monitor.errors import BadCall

SECTION = "accounts"
#: What CloudTrail shows of calls by a role, unless an account says something else.
SESSION_NAME = "trainwatch"
_TEXTS = ("name", "profile", "role", "external_id", "session_name", "team", "project")
_KEYS = (*_TEXTS, "regions", "tags")
_OF_ROLES = ("external_id", "session_name")
# Names stand in addresses and in --account a,b.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::(?P<number>\d{12}):role/[\w+=,.@/-]{1,576}", re.ASCII)
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+){1,3}-\d{1,2}")
_SESSION = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)
_EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)
_EXAMPLE = 'regions = ["us-east-1"]'


@dataclass(frozen=True, slots=True)
class Account:
    """One AWS account and how it is reached: by a profile, by a role, or as boto3 does by itself."""

    name: str
    regions: tuple[str, ...]
    profile: str | None = None
    role: str | None = None
    """ARN of a role that the credentials of the call assume."""
    external_id: str | None = None
    session_name: str = SESSION_NAME
    team: str | None = None
    """Whose its jobs are, unless a job's own tag says it."""
    project: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    """Further tags of all of its jobs, by key."""

    @property
    def number(self) -> str | None:
        """Its twelve digits, where the role names them."""
        match = _ROLE.fullmatch(self.role or "")
        return match["number"] if match else None

    def tag(self, key: str) -> str | None:
        """What the account says of its jobs: ``team``, ``project`` or a key of ``tags``; None where it says nothing."""
        return {**dict(self.tags), "team": self.team, "project": self.project}.get(key)


class AccountRegion(NamedTuple):
    """One account in one region: AWS counts jobs and quotas by this pair."""

    account: Account
    region: str

    def __str__(self) -> str:
        return f"{self.account.name} in {self.region}"


def parsed(tables: object, path: object) -> tuple[Account, ...]:
    """The accounts of a settings file; BadCall names what is wrong with one, and what to write."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadCall(
            f"In {path} {SECTION} is no list of tables.", f"Write [[{SECTION}]] above the keys of each account."
        )
    found = [_account(table, place, path) for place, table in enumerate(tables, 1)]
    seen: set[str] = set()
    for account in found:
        # Addresses and shells are typed by hand: names that differ in case alone are taken for each other.
        if account.name.lower() in seen:
            raise BadCall(f"In {path} two accounts are named {account.name}.", "Give each a name of its own.")
        seen.add(account.name.lower())
    return tuple(found)


def chosen(
    known: Sequence[Account],
    names: Iterable[str] = (),
    regions: Iterable[str] = (),
    teams: Iterable[str] = (),
) -> tuple[AccountRegion, ...]:
    """The pairs that are asked for, in the order of the settings; a filter without values lets all pass.

    BadCall where there are no accounts, where a name is not one of theirs, and where nothing is left.
    """
    if not known:
        raise BadCall(
            "No accounts are set up.",
            f"Write each as [[{SECTION}]] with name, profile or role, and regions into the settings file "
            "(~/.config/trainwatch/config.toml, or below $XDG_CONFIG_HOME).",
        )
    wanted, where, whose = tuple(names), tuple(regions), tuple(teams)
    _check_known("account", wanted, [account.name for account in known])
    _check_known("region", where, [region for account in known for region in account.regions])
    _check_known("team", whose, [account.team for account in known if account.team])
    found = tuple(
        AccountRegion(account, region)
        for account in known
        if (not wanted or account.name in wanted) and (not whose or account.team in whose)
        for region in account.regions
        if not where or region in where
    )
    if not found:
        raise BadCall("No account is in all of these filters.", "Leave out --account, --region or --team.")
    return found


def _check_known(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = tuple(dict.fromkeys(known))
    for each in given:
        if each not in names:
            said = f"The settings file has no account {'' if what == 'account' else f'with the {what} '}{each}"
            raise BadCall(f"{said}{_nearest(each, names)}.", f"Name another {what}, or add it to [[{SECTION}]].")


def _account(table: Mapping[str, object], place: int, path: object) -> Account:
    named = table.get("name")
    who = f"account {named}" if isinstance(named, str) and named.strip() else f"the account number {place}"
    where = f"In {path} {who}"
    for key in table:
        if key not in _KEYS:
            raise BadCall(
                f"{where} has the unknown key {key}{_nearest(key, _KEYS)}.",
                "Correct it, or take it out. Secrets do not belong here: name a profile or a role.",
            )
    texts = {key: _text(table, key, where) for key in _TEXTS}
    name, profile, role = texts["name"], texts["profile"], texts["role"]
    if name is None or not _NAME.fullmatch(name):
        said = "has no name" if name is None else "has a name that cannot stand in an address"
        raise BadCall(f"{where} {said}.", 'Write it as name = "research": letters, digits, dots, hyphens.')
    if profile is not None and role is not None:
        raise BadCall(
            f"{where} has both a profile and a role.", "Keep one: a role is assumed by the call's own credentials."
        )
    if role is not None and not _ROLE.fullmatch(role):
        example = "arn:aws:iam::111122223333:role/TrainwatchRead"
        raise BadCall(f"{where} has a role that is not the ARN of one.", f'Write it as role = "{example}".')
    for key in _OF_ROLES:
        if texts[key] is not None and role is None:
            raise BadCall(
                f"{where} has {key} without a role.", "Add role, or take it out: ~/.aws/config has a profile's."
            )
    _check_form("external_id", texts["external_id"], _EXTERNAL_ID, where)
    _check_form("session_name", texts["session_name"], _SESSION, where)
    return Account(
        name,
        _regions(table.get("regions"), where),
        profile,
        role,
        texts["external_id"],
        texts["session_name"] or SESSION_NAME,
        texts["team"],
        texts["project"],
        _tags(table.get("tags", {}), where),
    )


def _text(table: Mapping[str, object], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise BadCall(f"{where} has a {key} that is not a text.", f'Write it as {key} = "…", or take it out.')
    return value.strip()


def _check_form(key: str, text: str | None, form: re.Pattern[str], where: str) -> None:
    if text is not None and not form.fullmatch(text):
        raise BadCall(
            f"{where} has {key} in a form that AWS does not take.", "Use two or more letters, digits and any of =,.@_-."
        )


def _regions(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise BadCall(f"{where} has no list of regions.", f"Write it as {_EXAMPLE}.")
    for region in value:
        if not _REGION.fullmatch(region):
            raise BadCall(f"{where} has the region {region!r}, which is none.", f"Write it as {_EXAMPLE}.")
    twice = [region for region in value if value.count(region) > 1]
    if twice:
        raise BadCall(f"{where} has the region {twice[0]} twice.", "Take one out.")
    return tuple(value)


def _tags(value: object, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(text, str) and text for text in value.values()):
        raise BadCall(f"{where} has tags that are no texts.", 'Write them as tags = { stage = "prod" }.')
    for key in ("team", "project"):
        if key in value:
            raise BadCall(
                f"{where} has {key} among its tags.", f'Write it as a key of its own: {key} = "{value[key]}".'
            )
    return tuple(sorted(value.items()))


def _nearest(wrong: str, known: Sequence[str]) -> str:
    near = get_close_matches(wrong.lower(), known, 1, 0.6)
    if near:
        return f"; the nearest is {near[0]}"
    return f"; known are {', '.join(known)}" if known else "; none has one"
