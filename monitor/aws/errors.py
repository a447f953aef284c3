"""The errors of botocore in words for the user: each becomes one of ``monitor.errors``, with cause and remedy."""

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
class CallContext:
    """What a call was about to talk to; an error names it."""

    region: str = ""
    endpoint: str = ""
    """Only where the user chose one: AWS_ENDPOINT_URL or an argument."""
    profile: str = ""
    service: str = ""
    """IAM's prefix, such as "logs"."""

    @property
    def where(self) -> str:
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
def translating(where: CallContext) -> Iterator[None]:
    """Inside it every error of botocore becomes one of ``monitor.errors``; any other error passes unchanged."""
    try:
        yield
    except Exception as error:
        told = explained(error, where)
        if told is None:
            raise
        raise told from error


def explained(error: Exception, where: CallContext) -> TrainwatchError | None:
    """The same trouble in words for the user, or None where botocore did not raise it."""
    if isinstance(error, boto.ClientError):
        return _answered(error, where)
    if isinstance(error, ResponseParserError):
        return _not_aws(where, _first_line(error))
    if isinstance(error, boto.BotoCoreError):
        return _unanswered(error, where)
    if isinstance(error, UnicodeEncodeError):
        return BadCall("A name in this call is no UTF-8 text, which AWS takes alone.", "Check how it is written.")
    if isinstance(error, ValueError) and "endpoint" in str(error).lower():
        return BadCall(f"{_first_line(error)}.", "Set AWS_ENDPOINT_URL to a full address such as https://host:port.")
    return None


def _answered(error: boto.ClientError, where: CallContext) -> TrainwatchError:
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
        return NoCredentials(f"The AWS credentials have expired ({_who(where)}).", _login(where))
    if _DENIED.search(code):
        return _denied(text, action, where)
    if _NOT_ACCEPTED.search(code):
        return NoCredentials(
            f"AWS does not accept these credentials in {where.where} ({code}).",
            f"Check {_who(where)}, or log in again; a region that is not enabled for the account also refuses them.",
        )
    if _SLOW_DOWN.search(code):
        return Throttled(f"AWS kept throttling requests ({action}, {code}).", "Wait a minute, then try again.")
    if _ABSENT.search(code) or (_MALFORMED.search(code) and _ABSENT_TEXT.search(text)):
        return NoData(f"AWS does not have it in {where.where} ({action}: {_first_line(text)}).")
    if _MALFORMED.search(code):
        return BadCall(f"AWS refused {action}: {_first_line(text)}.", "Check the values in the call.")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if where.endpoint and (not code or code.isdigit()) and status not in _FAILED:
        return _not_aws(where, f"HTTP {code or status}")
    if status in _FAILED:
        return CannotDo(f"AWS failed to answer {action} ({code or status}).", "Try again in a few minutes.")
    return CannotDo(f"AWS refused {action}: {_first_line(text) or code}.")


def _denied(text: str, action: str, where: CallContext) -> NotAllowed:
    who, which, deny = _WHO.search(text), _WHICH.search(text), _DENY.search(text)
    exact = named[1] if (named := _WHAT.search(text)) else action
    denied_by, more = deny[1].strip() if deny else "", ""
    remedy = f"Have {exact} allowed in the IAM policy of that user or role."
    if denied_by:
        more, remedy = (
            f" (an explicit deny in a {denied_by})",
            f"Ask whoever maintains that {denied_by} to allow {exact}.",
        )
    elif exact == f"sts:{_ASSUME}":
        more = f" ({which[1]})" if which else ""
        remedy = f"Have {exact} allowed to them, and by the trust policy of that role, with its external id if it asks for one."
    message = f"AWS does not allow {exact} to {who[1] if who else 'these credentials'}{more}."
    return NotAllowed(message, remedy, exact, denied_by, _arn(text, who, where))


def _arn(text: str, who: re.Match[str] | None, where: CallContext) -> str:
    """Of what was asked for, as AWS names it; else with what is known: who asked is of the same partition and account."""
    if which := _WHICH.search(text):
        return which[1].rstrip(".,")
    user = _USER.match(who[1]) if who else None
    partition, account = (user["partition"], user["account"]) if user else ("aws", "")
    return f"arn:{partition}:{where.service}:{where.region}:{account}:"


def _unanswered(error: boto.BotoCoreError, where: CallContext) -> TrainwatchError:
    """An error of a call that AWS did not answer, by its type."""
    told, line = error.kwargs, _first_line(error)
    target = str(told.get("endpoint_url") or where.where)
    check = f"Check the network, a proxy, and that '{where.region}' is the region you mean (--region)."
    if where.endpoint:
        check = "Check AWS_ENDPOINT_URL and the network."
    again = f"Try again; {check[:1].lower()}{check[1:]}"
    match error:
        case boto.NoCredentialsError() | boto.NoAuthTokenError():
            remedy = "Name a profile (--profile or AWS_PROFILE), or log in with 'aws configure' or 'aws sso login'."
            return NoCredentials("No AWS credentials were found.", remedy)
        case boto.PartialCredentialsError():
            missing = told.get("cred_var", "a part")
            return NoCredentials(f"The AWS credentials are incomplete: {missing} is missing.", "Set it and try again.")
        case boto.ProfileNotFound():
            remedy = "See 'aws configure list-profiles' and name one with --profile."
            return NoCredentials(f"There is no AWS profile '{told.get('profile', '')}'.", remedy)
        case boto.TokenRetrievalError() | boto.SSOError() | boto.LoginError() | boto.RefreshWithMFAUnsupportedError():
            return NoCredentials(f"The AWS login has expired or is missing ({_who(where)}).", _login(where))
        case boto.UnknownTokenProviderError():
            return NoCredentials(f"The AWS login has expired or is missing ({_who(where)}).", _login(where))
        case boto.CredentialRetrievalError() | boto.MetadataRetrievalError() | boto.UnknownCredentialError():
            return NoCredentials(f"The AWS credentials cannot be fetched: {line}.", _login(where))
        case boto.InvalidConfigError() | boto.ConfigParseError() | boto.ConfigNotFound():
            return NoCredentials(f"The AWS configuration cannot be used: {line}.", "Correct ~/.aws/config.")
        case boto.MissingDependencyException():
            remedy = "Install botocore[crt], or use other credentials."
            return NoCredentials(f"The AWS login needs a package that is not installed: {line}.", remedy)
        case boto.ProxyConnectionError():
            message = f"The proxy {told.get('proxy_url', '')} does not let the call through."
            return Unreachable(message, "Check HTTPS_PROXY and NO_PROXY.")
        case boto.SSLError():
            remedy = "Set AWS_CA_BUNDLE to your network's certificates, or check whether the address is http or https."
            return Unreachable(f"The certificate of {target} is not trusted.", remedy)
        case boto.ReadTimeoutError():
            return Unreachable(f"{target} was reached but did not answer in time.", again)
        case boto.ConnectionClosedError():
            return Unreachable(f"{target} was reached but closed the connection without an answer.", again)
        case boto.IncompleteReadError():
            return Unreachable(f"{target} cuts its answers short.", again)
        case boto.ConnectionError() | boto.HTTPClientError():
            return Unreachable(f"Nothing answers at {target}.", check)
        case boto.NoRegionError():
            return no_region()
        case boto.InvalidRegionError():
            return BadCall(f"'{where.region}' is not an AWS region.", "Name one with --region, such as us-east-1.")
        case boto.UnknownRegionError() | boto.BaseEndpointResolverError() | boto.EndpointProviderError():
            return BadCall(f"AWS has no such service in {where.where}.", "Name another region with --region.")
        case boto.ParamValidationError():
            report = _first_line(told.get("report", error))
            return BadCall(f"The call cannot be made: {report}.", "Check the values in the call.")
        case boto.InvalidRetryConfigurationError():
            return BadCall(f"{line}.", "Correct AWS_RETRY_MODE or AWS_MAX_ATTEMPTS.")
    return CannotDo(f"The call to AWS failed: {line}.")


def no_region() -> CannotDo:
    """No region is configured anywhere."""
    return CannotDo("No AWS region is set.", "Name one with --region, or set AWS_REGION.")


def _not_aws(where: CallContext, what: str) -> Unreachable:
    return Unreachable(
        f"{where.where} does not answer like AWS ({what}).",
        "Check AWS_ENDPOINT_URL, a proxy, or the login page of your network.",
    )


def _who(where: CallContext) -> str:
    return f"profile {where.profile}" if where.profile else "the AWS_* variables or the default profile"


def _login(where: CallContext) -> str:
    profile = f" --profile {where.profile}" if where.profile else ""
    return f"Log in again, for example with 'aws sso login{profile}', or set fresh AWS_* variables."


def _first_line(text: object) -> str:
    """One line without its full stop, short enough for a sentence."""
    line = next((part.strip() for part in str(text).splitlines() if part.strip()), "")
    return (line[:297] + "..." if len(line) > 300 else line).rstrip(".")
