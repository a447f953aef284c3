"""Which accounts can be chosen on this machine, and which one does a choice mean?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from monitor.aws import places


@dataclass(frozen=True, slots=True)
class Account:
    """Where jobs are looked for; None means what boto3 finds by itself."""

    region: str | None = None
    profile: str | None = None


@st.cache_data(ttl="1m", show_spinner=False)
def known_places(profile: str | None = None) -> places.Places:
    """The profiles and regions that may be chosen, and those that hold by themselves; asks this machine alone."""
    known = places.places()
    if profile is None or profile not in known.profiles:
        return known
    return places.places(profile)


def account_of(region: str | None, profile: str | None) -> Account:
    """The account behind a choice; what holds by itself is the same account as where nothing is chosen."""
    known = known_places()
    if region == known.region and profile in (None, known.profile):
        region = None
    return Account(region, None if profile == known.profile else profile)
