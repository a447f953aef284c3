"""The profiles and regions that can be chosen, and those that apply by default. Read from this machine only."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import botocore.session
from botocore.exceptions import BotoCoreError

from monitor.accounts import Account
from monitor.errors import BadCall
from monitor.model.job import account_of

# AWS's own, those of China, and the two of the government, in this order.
_PARTITIONS = ("aws", "aws-us-gov", "aws-cn")


@dataclass(frozen=True, slots=True)
class LocalProfiles:
    """What this machine knows of AWS."""

    profiles: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    profile: str | None = None
    """The profile whose credentials are used where none is chosen; None where they come from elsewhere."""
    region: str | None = None
    """The same of the region; None where none is set."""
    accounts: Mapping[str, str] = field(default_factory=dict)
    """Profile -> the number of its account, where the configuration names it."""


def local_profiles(profile: str | None = None) -> LocalProfiles:
    """What may be chosen, and what holds by itself with this profile. Nothing is asked of AWS."""
    # Nothing is sent: of the hundreds of handlers that requests pass through none is needed.
    session = botocore.session.Session(profile=profile, include_builtin_handlers=False)
    try:
        regions = _regions()
        profiles = tuple(session.available_profiles)
    except BotoCoreError:
        # A file that cannot be read is said where the account is opened.
        return LocalProfiles(region=region_of_environment())
    by_itself = profile or os.environ.get("AWS_PROFILE") or ("default" if "default" in profiles else None)
    if profile is None and os.environ.get("AWS_ACCESS_KEY_ID"):
        # Keys in the environment come before a profile that is only named there.
        by_itself = None
    return LocalProfiles(
        profiles, regions, by_itself, region_of_environment() or _region_of(session), _accounts(session)
    )


def _accounts(session: botocore.session.Session) -> dict[str, str]:
    found = {}
    for name, settings in session.full_config.get("profiles", {}).items():
        number = settings.get("sso_account_id") or account_of(settings.get("role_arn", ""))
        if number:
            found[name] = str(number)
    return found


@cache
def _regions() -> tuple[str, ...]:
    """Those of the installed botocore: it reads large files for them."""
    session = botocore.session.Session(include_builtin_handlers=False)
    listed = (session.get_available_regions("sagemaker", part) for part in _PARTITIONS)
    return tuple(dict.fromkeys(region for part in listed for region in part))


def check(known: LocalProfiles, region: str | None, profile: str | None) -> None:
    """BadCall where a choice cannot be meant: a profile that is not set up, a region that AWS does not have."""
    if not known.regions:
        return
    if profile is not None and profile not in known.profiles:
        raise BadCall(
            f"There is no AWS profile '{profile}' on the machine that runs this dashboard.",
            f"Choose another in the sidebar{_such_as(profile, known.profiles)}, or set it up in ~/.aws/config.",
        )
    # Another service at an address of its own may call its regions as it likes.
    elsewhere = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT_URL_SAGEMAKER")
    if region is not None and region not in known.regions and region != known.region and not elsewhere:
        raise BadCall(
            f"There is no AWS region '{region}' with SageMaker.",
            f"Choose another in the sidebar{_such_as(region, known.regions)}.",
        )


def check_regions(pairs: Iterable[tuple[Account, str]]) -> None:
    """BadCall where an account of the settings file names a region that AWS does not have."""
    if os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT_URL_SAGEMAKER"):
        return
    known = _regions()
    for account, region in pairs:
        if region not in known:
            raise BadCall(
                f"The account {account.name} of the settings file names the region {region}, which AWS does not have with "
                "SageMaker.",
                f"Correct it{_such_as(region, known)}.",
            )


def _such_as(wrong: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(wrong, known, n=1, cutoff=0.0)
    return f", such as {near[0]}" if near else ""


def _region_of(session: botocore.session.Session) -> str | None:
    try:
        found: str | None = session.get_config_variable("region")
    except BotoCoreError:
        return None
    return found or None


def region_of_environment() -> str | None:
    """The region that variables name."""
    # boto3 itself reads AWS_DEFAULT_REGION alone; every other AWS tool also reads AWS_REGION.
    return os.environ.get("AWS_DEFAULT_REGION") or os.environ.get("AWS_REGION") or None
