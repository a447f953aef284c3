import pytest
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from monitor.aws.errors import CallContext, explained, translating
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

HERE = CallContext(region="eu-west-1", profile="team", service="logs")


def client_error(code: str, message: str = "", operation: str = "GetLogEvents", status: int = 400) -> boto.ClientError:
    answer = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return boto.ClientError(answer, operation)


DENIED_TEXT = (
    "User: arn:aws:sts::123456789012:assumed-role/Dev/kim is not authorized to perform: logs:GetLogEvents on resource: "
    "arn:aws:logs:eu-west-1:123456789012:log-group:x because no identity-based policy allows the logs:GetLogEvents action"
)
DENY_TEXT = (
    "User: arn:aws:iam::123456789012:user/kim is not authorized to perform: logs:GetLogEvents on resource: x "
    "with an explicit deny in a service control policy"
)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (client_error("AccessDeniedException", DENIED_TEXT), NotAllowed, ["logs:GetLogEvents", "assumed-role/Dev/kim"]),
        (client_error("AccessDenied", DENY_TEXT), NotAllowed, ["explicit deny in a service control policy"]),
        (client_error("AccessDenied"), NotAllowed, ["logs:GetLogEvents", "these credentials"]),
        (
            client_error("UnauthorizedOperation", operation="DescribeInstanceTypes"),
            NotAllowed,
            ["DescribeInstanceTypes"],
        ),
        (client_error("ExpiredTokenException"), NoCredentials, ["expired", "aws sso login --profile team"]),
        (client_error("ExpiredToken"), NoCredentials, ["expired", "profile team"]),
        (client_error("RequestExpired"), NoCredentials, ["expired"]),
        (client_error("InvalidSignatureException", "Signature expired: 2026"), NoCredentials, ["clock"]),
        (client_error("InvalidClientTokenId"), NoCredentials, ["does not accept", "eu-west-1"]),
        (client_error("UnrecognizedClientException"), NoCredentials, ["does not accept"]),
        (client_error("ThrottlingException", "Rate exceeded"), Throttled, ["throttling", "logs:GetLogEvents"]),
        (client_error("Throttling"), Throttled, ["Wait a minute"]),
        (client_error("RequestLimitExceeded"), Throttled, ["throttling"]),
        (
            client_error("ResourceNotFoundException", "The log group does not exist."),
            NoData,
            ["log group", "eu-west-1"],
        ),
        (client_error("ValidationException", "Requested resource not found."), NoData, ["not found"]),
        (client_error("ValidationException", "1 validation error detected: bad status"), BadCall, ["bad status"]),
        (client_error("InvalidParameterException", "token"), BadCall, ["logs:GetLogEvents"]),
        (client_error("InternalFailure", status=500), CannotDo, ["Try again"]),
        (client_error("ConflictException", "odd"), CannotDo, ["odd"]),
        (boto.NoCredentialsError(), NoCredentials, ["--profile", "AWS_PROFILE"]),
        (boto.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"), NoCredentials, ["AWS_SECRET"]),
        (boto.ProfileNotFound(profile="nope"), NoCredentials, ["'nope'", "list-profiles"]),
        (boto.TokenRetrievalError(provider="sso", error_msg="x"), NoCredentials, ["expired", "aws sso login"]),
        (boto.UnauthorizedSSOTokenError(), NoCredentials, ["expired", "aws sso login"]),
        (boto.SSOTokenLoadError(error_msg="x"), NoCredentials, ["aws sso login"]),
        (boto.CredentialRetrievalError(provider="x", error_msg="exit 1"), NoCredentials, ["exit 1"]),
        (boto.ConfigParseError(path="~/.aws/config", error="line 3"), NoCredentials, ["~/.aws/config"]),
        (boto.NoRegionError(), CannotDo, ["--region", "AWS_REGION"]),
        (boto.InvalidRegionError(region_name="a b"), BadCall, ["--region"]),
        (boto.ParamValidationError(report="Invalid length for parameter X"), BadCall, ["parameter X"]),
        (boto.EndpointConnectionError(endpoint_url="https://nowhere/"), Unreachable, ["https://nowhere/", "eu-west-1"]),
        (boto.ConnectTimeoutError(endpoint_url="https://nowhere/"), Unreachable, ["https://nowhere/"]),
        (boto.ReadTimeoutError(endpoint_url="https://slow/"), Unreachable, ["did not answer in time"]),
        (boto.ConnectionClosedError(endpoint_url="https://shut/"), Unreachable, ["https://shut/"]),
        (boto.SSLError(endpoint_url="https://x/", error="cert"), Unreachable, ["AWS_CA_BUNDLE"]),
        (boto.ProxyConnectionError(proxy_url="http://p:1", error="x"), Unreachable, ["http://p:1", "HTTPS_PROXY"]),
        (ResponseParserError("no JSON"), Unreachable, ["AWS_ENDPOINT_URL"]),
        (ValueError("Invalid endpoint: foo"), BadCall, ["AWS_ENDPOINT_URL", "foo"]),
        (boto.DataNotFoundError(data_path="x"), CannotDo, []),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_cause_and_remedy(error: Exception, kind: type[TrainwatchError], words: list[str]) -> None:
    told = explained(error, HERE)
    assert type(told) is kind
    text = str(told)
    assert all(word in text for word in words), text
    assert "\n" not in text
    assert told.message.endswith(".")


def test_own_endpoint_is_named_in_place_of_the_region() -> None:
    local = CallContext(region="eu-west-1", endpoint="http://127.0.0.1:5000", service="logs")
    assert "AWS_ENDPOINT_URL" in str(
        explained(boto.EndpointConnectionError(endpoint_url="http://127.0.0.1:5000/"), local)
    )
    told = explained(client_error("404", "Not Found", status=404), local)
    assert isinstance(told, Unreachable)
    assert "http://127.0.0.1:5000 does not answer like AWS" in str(told)


def test_long_texts_are_one_short_line() -> None:
    told = explained(client_error("ConflictException", "first\nsecond " + "x" * 5000), HERE)
    assert str(told) == "AWS refused logs:GetLogEvents: first."


def test_errors_of_this_program_pass_unchanged() -> None:
    with pytest.raises(KeyError), translating(HERE):
        raise KeyError("a bug")
    with pytest.raises(ValueError, match="a bug"), translating(HERE):
        raise ValueError("a bug")
