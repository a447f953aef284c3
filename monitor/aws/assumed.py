"""The credentials of roles that are assumed: one set for all regions of an account, renewed before they expire.

The fetching and the renewal are botocore's own. A role that is assumed from another one lasts an hour at most, whatever its
own maximum says, and so an hour is what is asked for.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import NoCredentialsError
from botocore.loaders import create_loader

from monitor.accounts import Account
from monitor.aws.calls import running
from monitor.aws.profiles import region_of_environment

# Every account waits for this call: where nothing answers, that is to be said soon.
_CONFIG = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 3, "mode": "standard"})


@dataclass(frozen=True, slots=True)
class Assumption:
    """What is assumed, and with whose credentials."""

    role: str
    external_id: str | None
    session_name: str
    profile: str | None
    """Of the credentials that assume it; None is what boto3 finds by itself."""
    endpoint_url: str | None

    @classmethod
    def of(cls, account: Account, profile: str | None, endpoint_url: str | None) -> Assumption | None:
        """None where the account is reached without a role."""
        if account.role is None:
            return None
        return cls(account.role, account.external_id, account.session_name, profile, endpoint_url)


class Assumed:
    """botocore's component that loads a session's credentials, for one role."""

    def __init__(self, assumption: Assumption, region: str | None) -> None:
        self._assumption = assumption
        self._region = region

    def load_credentials(self) -> Any:
        """The credentials that all sessions of this role share. Nothing is asked of AWS before they are used."""
        with _lock:
            if self._assumption not in _known:
                _known[self._assumption] = _fresh(self._assumption, self._region)
            return _known[self._assumption]


def forget(assumption: Assumption, refused: Any) -> None:
    """The role is assumed anew at its next use, unless somebody did so since these credentials were refused."""
    with _lock:
        if _known.get(assumption) is refused:
            del _known[assumption]
            # Somebody may have logged in again: who assumes it is read anew as well.
            _hubs.pop(assumption.profile, None)


def core_session(profile: str | None = None) -> botocore.session.Session:
    """A session that shares the descriptions of services with all others: reading one takes a quarter of a second."""
    core = botocore.session.Session(profile=profile)
    core.register_component("data_loader", _loader(core.get_config_variable("data_path")))
    return core


def _fresh(assumption: Assumption, region: str | None) -> Any:
    if assumption.profile not in _hubs:
        _hubs[assumption.profile] = core_session(assumption.profile)
    core = _hubs[assumption.profile]
    source = core.get_credentials()
    extra = {"RoleSessionName": assumption.session_name}
    if assumption.external_id is not None:
        extra["ExternalId"] = assumption.external_id
    # The region of the call's own account: that of the member may not be enabled in it.
    own = region_of_environment() or core.get_config_variable("region") or region
    make = partial(_client, core, own, assumption.endpoint_url)
    fetcher = AssumeRoleCredentialFetcher(make, _Source(source), assumption.role, extra_args=extra)
    return DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")


class _Source:
    """The credentials that assume; that there are none is said when they are needed."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def get_frozen_credentials(self) -> Any:
        if self._found is None:
            raise NoCredentialsError
        return self._found.get_frozen_credentials()


def _client(
    core: botocore.session.Session, region: str | None, endpoint_url: str | None, service: str, **keys: Any
) -> Any:
    client = core.create_client(service, region_name=region, endpoint_url=endpoint_url, config=_CONFIG, **keys)
    client.meta.events.register("before-send", _count)
    return client


def _count(event_name: str, **_: Any) -> None:
    for tally in running():
        tally.count(event_name.rpartition(".")[2])


@cache
def _loader(data_path: str | None) -> Any:
    return create_loader(data_path)


_known: dict[Assumption, Any] = {}
_hubs: dict[str | None, botocore.session.Session] = {}
"""By profile: whose credentials assume the roles."""
_lock = threading.Lock()
