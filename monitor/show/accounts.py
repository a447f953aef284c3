"""Which accounts can be chosen on this machine, and which one does a choice mean?"""

from __future__ import annotations

import os
from dataclasses import dataclass

import streamlit as st

from monitor import settings
from monitor.accounts import Account as Member
from monitor.aws import profiles
from monitor.errors import TrainwatchError
from monitor.show import visitor


@dataclass(frozen=True, slots=True)
class Account:
    """Where jobs are looked for; None means what boto3 finds by itself."""

    region: str | None = None
    profile: str | None = None
    member: str | None = None
    """The name of an account of the settings file; its own role or profile is used then."""


@st.cache_data(ttl="1m", show_spinner=False)
def _members() -> tuple[Member, ...]:
    try:
        return settings.read().accounts
    except TrainwatchError:
        # What is wrong with the file is said where the account is opened.
        return ()


def members() -> tuple[Member, ...]:
    """The accounts of the settings file, where this visitor may see them: where only one profile is to be used, whoever runs
    the dashboard has to have said so."""
    allowed = os.environ.get(settings.ALL_ACCOUNTS) == "1" or not visitor.is_one_profile()
    return _members() if allowed and not os.environ.get(settings.ARCHIVE_SHOWN) else ()


@st.cache_data(ttl="1m", show_spinner=False)
def known_places(profile: str | None = None) -> profiles.LocalProfiles:
    """The profiles and regions that may be chosen, and those that hold by themselves; asks this machine alone."""
    known = profiles.local_profiles()
    if profile is None or profile not in known.profiles:
        return known
    return profiles.local_profiles(profile)


def account_of(region: str | None, profile: str | None) -> Account:
    """The account behind a choice; what holds by itself is the same account as where nothing is chosen."""
    known = known_places()
    if region == known.region and profile in (None, known.profile):
        region = None
    return Account(region, None if profile == known.profile else profile)
