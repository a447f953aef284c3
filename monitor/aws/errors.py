"""What does an error of botocore mean to the user? Maps each to one of ``monitor.errors``, with cause and remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from monitor.errors import (
    BadCall,
    CannotDo,
    NoCredentials,
    NoData,
    NotAllowed,
    Throttled,
    TrainwatchError,
    Unreachable,
)

_DENIED = re.compile(
    r"AccessDenied|UnauthorizedOperation|AuthorizationError|NotAuthorized|OptInRequired|^Forbidden$|^403$"
)
_EXPIRED = re.compile(r"ExpiredToken|RequestExpired|TokenRefreshRequired")
_NOT_ACCEPTED = re.compile(
    r"InvalidClientTokenId|UnrecognizedClient|InvalidAccessKeyId|SignatureDoesNotMatch|InvalidSignature|"
    r"IncompleteSignature|AuthFailure|MissingAuthenticationToken|InvalidToken"
)
_SLOW_DOWN = re.compile(r"Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|LimitExceeded|BandwidthLimit")
_ABSENT = re.compile(r"NotFound|NoSuch|DoesNotExist")
_ABSENT_TEXT = re.compile(r"not found|does not exist|could not find|no such", re.IGNORECASE)
_MALFORMED = re.compile(
    r"Validation|InvalidParameter|InvalidAction|MissingParameter|Malformed|InvalidInstanceType|InvalidNextToken"
)
# S3's operations that have another name in a policy.
_IAM_NAMES = {"ListObjectsV2": "ListBucket", "HeadObject": "GetObject"}
_ASSUME = "AssumeRole"
_FAILED = frozenset({500, 502, 503, 504})
_LATER = frozenset({408, 425, 429})
_CLOCK = re.compile(r"RequestTimeTooSkewed|signature expired|not yet current", re.IGNORECASE)

_WHO = re.compile(r"User: (\S+) is not authorized")
_WHAT = re.compile(r"not authorized to perform:? ([a-z0-9-]+:[A-Za-z*]+)")
_WHICH = re.compile(r"on resource: (arn:\S+)")
_USER = re.compile(r"arn:(?P<partition>[a-z-]+):[a-z]+:[a-z0-9-]*:(?P<account>\d+):")
_DENY = re.compile(r"explicit deny in an? ([a-z -]*(?:policy|boundary))")


@dataclass(frozen=True, slots=True)
class Where:
    """What a call was about to talk to; an error names it."""

    region: str = ""
    endpoint: str = ""
    """Only where the user chose one: AWS_ENDPOINT_URL or an argument."""
    profile: str = ""
    service: str = ""
    """IAM's prefix, such as "logs"."""

    @property
    def place(self) -> str:
        return self.endpoint or f"region {self.region or 'unknown'}"


def is_refused(error: TrainwatchError) -> bool:
    """Whether AWS, or boto3 before it, refused this very call: the same again is refused again until somebody changes a
    policy or the resource. Not where a login or a pause would help."""
    cause = error.__cause__
    if isinstance(cause, boto.ParamValidationError):
        return True
    if not isinstance(cause, boto.ClientError) or isinstance(error, Throttled | NoCredentials | Unreachable):
        return False
    status = cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return isinstance(status, int) and 400 <= status < 500 and status not in _LATER


def is_damaged(error: TrainwatchError) -> bool:
    """Whether an answer came that is none of AWS's: other calls may well be answered."""
    return isinstance(error.__cause__, ResponseParserError)


@contextmanager
def translating(where: Where) -> Iterator[None]:
    """Inside it every error of botocore becomes one of ``monitor.errors``; any other error passes unchanged."""
    try:
        yield
    except Exception as error:
        told = explained(error, where)
        if told is None:
            raise
        raise told from error


def explained(error: Exception, where: Where) -> TrainwatchError | None:
    """The same trouble in words for the user, or None where botocore did not raise it."""
    if isinstance(error, boto.ClientError):
        return _answered(error, where)
    if isinstance(error, ResponseParserError):
        return _not_aws(where, _first_line(error))
    if isinstance(error, boto.BotoCoreError):
        return _credentials(error, where) or _connection(error, where) or _call(error, where)
    if isinstance(error, UnicodeEncodeError):
        return BadCall("A name in this call is no UTF-8 text, which AWS takes alone.", "Check how it is written.")
    if isinstance(error, ValueError) and "endpoint" in str(error).lower():
        return BadCall(f"{_first_line(error)}.", "Set AWS_ENDPOINT_URL to a full address such as https://host:port.")
    return None


def _answered(error: boto.ClientError, where: Where) -> TrainwatchError:
    """An error that AWS itself sent, by its code."""
    told: dict[str, Any] = error.response.get("Error", {})
    code, text = str(told.get("Code", "")), str(told.get("Message", ""))
    operation = _IAM_NAMES.get(error.operation_name, error.operation_name)
    if operation == _ASSUME:
        # Any call may find that its role has to be assumed again.
        where = replace(where, service="sts")
    action = f"{where.service}:{operation}" if where.service else operation
    if _CLOCK.search(f"{code} {text}"):
        return NoCredentials(
            "AWS refused the signature: this machine's clock is wrong.", "Set the clock and try again."
        )
    if _EXPIRED.search(code):
        return _expired(where)
    if _DENIED.search(code):
        return _denied(text, action, where)
    if _NOT_ACCEPTED.search(code):
        return NoCredentials(
            f"AWS does not accept these credentials in {where.place} ({code}).",
            f"Check {_who(where)}, or log in again; a region that is not enabled for the account also refuses them.",
        )
    if _SLOW_DOWN.search(code):
        return Throttled(f"AWS kept throttling requests ({action}, {code}).", "Wait a minute, then try again.")
    if _ABSENT.search(code) or (_MALFORMED.search(code) and _ABSENT_TEXT.search(text)):
        return NoData(f"AWS does not have it in {where.place} ({action}: {_first_line(text)}).")
    if _MALFORMED.search(code):
        return BadCall(f"AWS refused {action}: {_first_line(text)}.", "Check the values in the call.")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if where.endpoint and (not code or code.isdigit()) and status not in _FAILED:
        return _not_aws(where, f"HTTP {code or status}")
    if status in _FAILED:
        return CannotDo(f"AWS failed to answer {action} ({code or status}).", "Try again in a few minutes.")
    return CannotDo(f"AWS refused {action}: {_first_line(text) or code}.")


def _denied(text: str, action: str, where: Where) -> NotAllowed:
    who = _WHO.search(text)
    named = _WHAT.search(text)
    deny = _DENY.search(text)
    exact = named[1] if named else action
    blocked = f" (an explicit deny in a {deny[1].strip()})" if deny else ""
    remedy = f"Have {exact} allowed in the IAM policy of that user or role."
    if exact == f"sts:{_ASSUME}" and not deny:
        remedy = f"Have {exact} allowed to them, and by the trust policy of that role, with its external id if it asks for one."
        which = _WHICH.search(text)
        exact_of = f" ({which[1]})" if which else ""
        return NotAllowed(
            f"AWS does not allow {exact} to {who[1] if who else 'these credentials'}{exact_of}.",
            remedy,
            exact,
            arn=_arn(text, who, where),
        )
    if deny:
        remedy = f"Ask whoever maintains that {deny[1].strip()} to allow {exact}."
    message = f"AWS does not allow {exact} to {who[1] if who else 'these credentials'}{blocked}."
    return NotAllowed(message, remedy, exact, deny[1].strip() if deny else "", _arn(text, who, where))


def _arn(text: str, who: re.Match[str] | None, where: Where) -> str:
    """Of what was asked for, as AWS names it; else with what is known: who asked is of the same partition and account."""
    if which := _WHICH.search(text):
        return which[1].rstrip(".,")
    user = _USER.match(who[1]) if who else None
    partition, account = (user["partition"], user["account"]) if user else ("aws", "")
    return f"arn:{partition}:{where.service}:{where.region}:{account}:"


def _expired(where: Where) -> NoCredentials:
    return NoCredentials(f"The AWS credentials have expired ({_who(where)}).", _login(where))


def _credentials(error: boto.BotoCoreError, where: Where) -> TrainwatchError | None:
    match error:
        case boto.NoCredentialsError() | boto.NoAuthTokenError():
            return NoCredentials(
                "No AWS credentials were found.",
                "Name a profile (--profile or AWS_PROFILE), or log in with 'aws configure' or 'aws sso login'.",
            )
        case boto.PartialCredentialsError():
            missing = error.kwargs.get("cred_var", "a part")
            return NoCredentials(f"The AWS credentials are incomplete: {missing} is missing.", "Set it and try again.")
        case boto.ProfileNotFound():
            name = error.kwargs.get("profile", "")
            return NoCredentials(
                f"There is no AWS profile '{name}'.", "See 'aws configure list-profiles' and name one with --profile."
            )
        case (
            boto.TokenRetrievalError()
            | boto.SSOError()
            | boto.LoginError()
            | boto.RefreshWithMFAUnsupportedError()
            | boto.UnknownTokenProviderError()
        ):
            return NoCredentials(f"The AWS login has expired or is missing ({_who(where)}).", _login(where))
        case boto.CredentialRetrievalError() | boto.MetadataRetrievalError() | boto.UnknownCredentialError():
            return NoCredentials(f"The AWS credentials cannot be fetched: {_first_line(error)}.", _login(where))
        case boto.InvalidConfigError() | boto.ConfigParseError() | boto.ConfigNotFound():
            return NoCredentials(
                f"The AWS configuration cannot be used: {_first_line(error)}.", "Correct ~/.aws/config."
            )
        case boto.MissingDependencyException():
            return NoCredentials(
                f"The AWS login needs a package that is not installed: {_first_line(error)}.",
                "Install botocore[crt], or use other credentials.",
            )
    return None


def _connection(error: boto.BotoCoreError, where: Where) -> TrainwatchError | None:
    target = str(error.kwargs.get("endpoint_url") or where.place)
    check = (
        "Check AWS_ENDPOINT_URL and the network."
        if where.endpoint
        else f"Check the network, a proxy, and that '{where.region}' is the region you mean (--region)."
    )
    match error:
        case boto.ProxyConnectionError():
            proxy = error.kwargs.get("proxy_url", "")
            return Unreachable(f"The proxy {proxy} does not let the call through.", "Check HTTPS_PROXY and NO_PROXY.")
        case boto.SSLError():
            return Unreachable(
                f"The certificate of {target} is not trusted.",
                "Set AWS_CA_BUNDLE to your network's certificates, or check whether the address is http or https.",
            )
        case boto.ReadTimeoutError():
            return Unreachable(f"{target} was reached but did not answer in time.", "Try again; " + _lower(check))
        case boto.ConnectionClosedError():
            return Unreachable(
                f"{target} was reached but closed the connection without an answer.", "Try again; " + _lower(check)
            )
        case boto.IncompleteReadError():
            return Unreachable(f"{target} cuts its answers short.", "Try again; " + _lower(check))
        case boto.ConnectionError() | boto.HTTPClientError():
            return Unreachable(f"Nothing answers at {target}.", check)
    return None


def _call(error: boto.BotoCoreError, where: Where) -> TrainwatchError:
    match error:
        case boto.NoRegionError():
            return no_region()
        case boto.InvalidRegionError():
            return BadCall(f"'{where.region}' is not an AWS region.", "Name one with --region, such as us-east-1.")
        case boto.UnknownRegionError() | boto.BaseEndpointResolverError() | boto.EndpointProviderError():
            return BadCall(f"AWS has no such service in {where.place}.", "Name another region with --region.")
        case boto.ParamValidationError():
            report = str(error.kwargs.get("report", error))
            return BadCall(f"The call cannot be made: {_first_line(report)}.", "Check the values in the call.")
        case boto.InvalidRetryConfigurationError():
            return BadCall(f"{_first_line(error)}.", "Correct AWS_RETRY_MODE or AWS_MAX_ATTEMPTS.")
    return CannotDo(f"The call to AWS failed: {_first_line(error)}.")


def no_region() -> CannotDo:
    """No region is configured anywhere."""
    return CannotDo("No AWS region is set.", "Name one with --region, or set AWS_REGION.")


def _not_aws(where: Where, what: str) -> Unreachable:
    return Unreachable(
        f"{where.place} does not answer like AWS ({what}).",
        "Check AWS_ENDPOINT_URL, a proxy, or the login page of your network.",
    )


def _who(where: Where) -> str:
    return f"profile {where.profile}" if where.profile else "the AWS_* variables or the default profile"


def _login(where: Where) -> str:
    profile = f" --profile {where.profile}" if where.profile else ""
    return f"Log in again, for example with 'aws sso login{profile}', or set fresh AWS_* variables."


def _first_line(text: object) -> str:
    """One line without its full stop, short enough for a sentence."""
    line = next((part.strip() for part in str(text).splitlines() if part.strip()), "")
    return (line[:297] + "..." if len(line) > 300 else line).rstrip(".")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
