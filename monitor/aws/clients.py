"""The clients of AWS: one session, one client a service, every request counted.

Roles that are assumed have one set of credentials for all regions of an account, renewed before they expire; fetching and
renewal are botocore's own. A role that is assumed from another one lasts an hour at most, whatever its own maximum says, and
so an hour is what is asked for.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, cast

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.loaders import create_loader
from botocore.utils import parse_timestamp

from monitor.accounts import Account
from monitor.aws import answers
from monitor.aws.answers import MAX_ATTEMPTS
from monitor.aws.calls import Tally, pacer_of, running, shared_pacer
from monitor.aws.errors import CallContext, no_region, translating
from monitor.aws.profiles import region_of_environment
from monitor.errors import NoCredentials, TrainwatchError
from monitor.model import ApiBill
from monitor.model.job import account_of

# Services that stand in few regions, and answer for all.
_REGIONS = {"pricing": "us-east-1"}
# What nobody should wait for: one short attempt.
_HURRIED = frozenset({"pricing", "sts"})

_THROTTLED = re.compile(r"Throttl|TooManyRequests|RequestLimitExceeded|SlowDown")
_sessions: dict[tuple[str | None, Assumption | None, str | None] | None, boto3.Session] = {}
_sharing = threading.Lock()
# What botocore makes of a description of megabytes is shared, and one client at a time makes it no slower.
_making = threading.Lock()
# IAM's prefix of a service where it differs from boto3's name of it.
_IAM_PREFIXES = {"sagemaker-metrics": "sagemaker"}
_AWS_HOST = re.compile(r"\.(amazonaws\.com(\.cn)?|api\.aws)(:\d+)?/?$")


class Clients:
    """The clients of one region and one set of credentials, and the bill of all their calls.

    ``region``, ``profile`` and ``endpoint_url`` override what boto3 finds by itself: AWS_PROFILE, AWS_REGION or
    AWS_DEFAULT_REGION, AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE>, the files in ~/.aws. With ``account``, its profile
    comes before ``profile``, and its role is assumed with the credentials of that. Safe to share between threads. Raises
    CannotDo where no region is set, NoCredentials for a profile that does not exist.
    """

    def __init__(
        self,
        region: str | None = None,
        profile: str | None = None,
        endpoint_url: str | None = None,
        account: Account | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._tally = Tally()
        self._account: str | None = None
        self._endpoint_url = endpoint_url or None
        profile = (account.profile if account else None) or profile
        self._profile = profile or None
        self.profile = profile or os.environ.get("AWS_PROFILE") or ""
        self._assumption = Assumption.of(account, self._profile, self._endpoint_url) if account else None
        self._named = region
        # The regions of an account share its session: a third of the time until sixty of them have answered.
        self._shared = None if account is None else (self._profile, self._assumption, self._endpoint_url)
        with _sharing:
            self._session = _sessions.get(self._shared) or self._new_session()
        found = self._named or self._session.region_name
        if not found:
            raise no_region()
        self.region: str = found
        self._at = self._endpoint_url or os.environ.get("AWS_ENDPOINT_URL") or ""
        # Until an answer tells the number, credentials of another origin are taken for another account.
        number = account.number if account else None
        self._pacer = pacer_of(found, self._at, number or self.profile)

    def client(self, service: str) -> Any:
        """boto3's client of ``service``, made once. Calls on it raise botocore's errors: see ``call``."""
        with self._lock:
            if service not in self._clients:
                with translating(self._where(service)), _making:
                    client = self._session.client(
                        service,
                        region_name=_REGIONS.get(service, self.region),
                        endpoint_url=self._endpoint_url,
                        config=_config(service in _HURRIED),
                    )
                self._listen(client)
                self._clients[service] = client
            return self._clients[service]

    def call(self, service: str, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one call, such as ``call("sagemaker", "describe_training_job", TrainingJobName=name)``.

        Raises errors of ``monitor.errors`` only: NotAllowed, NoCredentials, Unreachable, Throttled, NoData for what
        does not exist, BadCall for values AWS rejects, CannotDo for the rest.
        """
        client = self.client(service)
        try:
            return self._called(service, client, method, parameters)
        except NoCredentials:
            if not self._renewed(service, client):
                raise
        return self._called(service, self.client(service), method, parameters)

    def bill(self) -> ApiBill:
        """Every HTTP request so far by operation, tries again included, and their price in USD (an estimate)."""
        return self._tally.bill()

    def add_cost(self, usd: float) -> None:
        """Puts on the bill what is not charged by the call, such as the bytes that a query scanned."""
        for tally in (self._tally, *running()):
            tally.add_usd(usd)

    def account_label(self) -> str | None:
        """The account's number, read from an ARN in an answer; None until one was seen."""
        return self._account

    def account_number(self) -> str | None:
        """The account's number, asked for where no answer told it yet (a call that needs no right); None where nobody says."""
        if self._account is None:
            try:
                self._account = str(self.call("sts", "get_caller_identity")["Account"])
            except TrainwatchError:
                return None
        return self._account

    def endpoint(self, service: str = "sagemaker") -> str:
        """The address that calls to ``service`` go to."""
        return str(self.client(service).meta.endpoint_url)

    def _called(self, service: str, client: Any, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        with translating(self._where(service)):
            return cast("dict[str, Any]", getattr(client, method)(**parameters))

    def _new_session(self) -> boto3.Session:
        with translating(CallContext(region=self._named or "", profile=self.profile)):
            core = core_session(self._profile)
            parsers = answers.Parsers(core.get_component("response_parser_factory"))
            # Timestamps become aware UTC, and a hundred thousand of them cost a tenth of botocore's own parsing.
            parsers.set_parser_defaults(timestamp_parser=_utc)
            core.register_component("response_parser_factory", parsers)
            region = self._named or region_of_environment()
            if self._assumption is not None:
                core.register_component("credential_provider", Assumed(self._assumption, region))
            with _making:
                session = boto3.Session(botocore_session=core, profile_name=self._profile, region_name=region)
                # Each session adds boto3's own folder to where descriptions are looked for, which all sessions share.
                paths = core.get_component("data_loader").search_paths
                paths[:] = dict.fromkeys(paths)
            if self._shared is not None:
                _sessions[self._shared] = session
            return session

    def _renewed(self, service: str, refused: Any) -> bool:
        """Whether there are other credentials now than those of the client that AWS refused: people log in again."""
        with self._renewing:
            if self._clients.get(service) is not refused:
                return True
            if self._assumption is not None:
                forget(self._assumption, self._session.get_credentials())
            session = self._new_session()
            if _keys(session) in (None, _keys(self._session)):
                return False
            with self._lock:
                self._session = session
                self._clients = {}
                self._account = None
            return True

    def _where(self, service: str) -> CallContext:
        client = self._clients.get(service)
        address = str(client.meta.endpoint_url) if client else self._endpoint_url or ""
        chosen = "" if _AWS_HOST.search(address) else address
        prefix = _IAM_PREFIXES.get(service, service)
        region = _REGIONS.get(service, self.region)
        return CallContext(region=region, endpoint=chosen, profile=self.profile, service=prefix)

    def _listen(self, client: Any) -> None:
        events = client.meta.events
        events.register("before-send", self._count)
        events.register("needs-retry", self._note_throttling)
        events.register("before-parameter-build.cloudwatch.GetMetricData", self._count_metrics)
        events.register("after-call.sagemaker", self._remember_account)
        answers.listen(events, client.meta.config.retries.get("total_max_attempts", MAX_ATTEMPTS))

    def _count(self, event_name: str, **_: Any) -> None:
        operation = event_name.rpartition(".")[2]
        self._pacer.wait(operation)
        for tally in (self._tally, *running()):
            tally.count(operation)

    def _note_throttling(self, operation: Any, response: Any, **_: Any) -> None:
        error = response[1].get("Error", {}) if response else {}
        if _THROTTLED.search(str(error.get("Code", ""))):
            self._pacer.throttled(operation.name)

    def _count_metrics(self, params: dict[str, Any], **_: Any) -> None:
        requested = sum("MetricStat" in query for query in params.get("MetricDataQueries", ()))
        for tally in (*running(), self._tally):
            tally.count_metrics(requested)

    def _remember_account(self, parsed: dict[str, Any], **_: Any) -> None:
        if self._account is None:
            found = [row.get("TrainingJob") or {} for row in parsed.get("Results") or ()]
            rows = parsed.get("TrainingJobSummaries") or found or [parsed]
            self._account = account_of(str(rows[0].get("TrainingJobArn", "")))
            if self._account is not None:
                # Two names of one account have one quota.
                self._pacer = shared_pacer(self.region, self._at, self._account, self._pacer)


def _keys(session: boto3.Session) -> tuple[str, ...] | None:
    """The keys that calls are signed with; None where there are none, or the login behind them has expired."""
    try:
        found = session.get_credentials()
        return None if found is None else tuple(found.get_frozen_credentials())
    except (BotoCoreError, ClientError):
        return None


def _config(hurried: bool) -> Config:
    retries: dict[str, Any] = {}
    if hurried or not os.environ.get("AWS_MAX_ATTEMPTS"):
        retries["total_max_attempts"] = 1 if hurried else MAX_ATTEMPTS
    if not os.environ.get("AWS_RETRY_MODE"):
        retries["mode"] = "standard"
    return Config(
        retries=retries,
        connect_timeout=2 if hurried else 5,
        read_timeout=3 if hurried else 30,
        max_pool_connections=32,
        user_agent_extra="trainwatch",
    )


def _utc(value: Any) -> datetime:
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, UTC)
    moment = cast("datetime", parse_timestamp(value))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


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
