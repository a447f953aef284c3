"""Does a text say that AWS refused something to the job: which permission, on what?

FailureReason says it of the image, the input, the output and the network; the program's own exceptions say it of whatever
it calls. The texts are those of SageMaker, botocore, the AWS CLI and IAM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Words of a refusal. By themselves they may be a hub's, a proxy's or a file system's.
_REFUSED = re.compile(
    r"(?i)access ?denied|not authorized|unauthorized(?:operation|access)?|forbidden|\(403\)|permissions? (?:are|is) incorrect"
    r"|does not (?:have|grant)\b.{0,200}permission|(?:identity|resource)-based policy allows|explicit deny"
    r"|insufficient (?:iam )?permissions|(?:could|can)(?: ?not|n't) (?:be )?assumed?\b|unable to assume|lacks? .{0,60}permission"
)
# What only AWS says.
_OF_AWS = re.compile(
    r"when calling the \w+ operation|\barn:aws[\w-]*:|\bassumed-role/|is not authorized to perform"
    r"|\.amazonaws\.com|(?i:\b(?:fatal error|download failed|upload failed): .{0,200}(?:AccessDenied|\(403\)))"
)
_NAMED = re.compile(
    r"\b(?P<action>(?:ecr|s3|kms|fsx|ec2|elasticfilesystem|sts|iam|secretsmanager|sagemaker|logs|cloudwatch|ssm):"
    r"[A-Z][A-Za-z]+)\b"
)
_RESOURCE = re.compile(r"on (?:the )?resource:? (?P<arn>arn:aws[\w-]*:[^\s\"',;)]+)")
_OPERATION = re.compile(r"when calling the (?P<operation>\w+) operation")
_S3_URI = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?P<key>/[^\s\"',;)]*)?")
# What an operation asks for, where the two have different names.
_BY_OPERATION = {
    "HeadObject": ("s3:GetObject",),
    "GetObject": ("s3:GetObject",),
    "ListObjects": ("s3:ListBucket",),
    "ListObjectsV2": ("s3:ListBucket",),
    "HeadBucket": ("s3:ListBucket",),
    "PutObject": ("s3:PutObject",),
    "CreateMultipartUpload": ("s3:PutObject",),
    "UploadPart": ("s3:PutObject",),
    "CopyObject": ("s3:GetObject", "s3:PutObject"),
    "Decrypt": ("kms:Decrypt",),
    "GenerateDataKey": ("kms:GenerateDataKey",),
    "CreateGrant": ("kms:CreateGrant",),
    "AssumeRole": ("sts:AssumeRole",),
    "GetAuthorizationToken": ("ecr:GetAuthorizationToken",),
    "BatchGetImage": ("ecr:BatchGetImage",),
    "GetDownloadUrlForLayer": ("ecr:GetDownloadUrlForLayer",),
    "CreateNetworkInterface": ("ec2:CreateNetworkInterface",),
    "DescribeNetworkInterfaces": ("ec2:DescribeNetworkInterfaces",),
    "DescribeFileSystems": ("fsx:DescribeFileSystems",),
    "GetSecretValue": ("secretsmanager:GetSecretValue",),
}
_PULL = (
    "ecr:GetAuthorizationToken",
    "ecr:BatchCheckLayerAvailability",
    "ecr:GetDownloadUrlForLayer",
    "ecr:BatchGetImage",
)
_NETWORK = (
    *("ec2:CreateNetworkInterface", "ec2:CreateNetworkInterfacePermission", "ec2:DeleteNetworkInterface"),
    *("ec2:DescribeNetworkInterfaces", "ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups"),
)
# (what a refusal is of, by the words around it, and what is usually missing then); the first that fits.
_TOPICS = (
    (re.compile(r"(?i)\bkms\b|\bcmk\b|encryption key|decrypt"), "the KMS key", ("kms:Decrypt", "kms:GenerateDataKey")),
    (re.compile(r"(?i)pull .{0,40}(?:container|image)|\becr\b|image|repository|registry"), "the image", _PULL),
    (re.compile(r"(?i)network interface|\bENI\b|subnet|security group|\bVPC\b"), "the network", _NETWORK),
    (
        re.compile(r"(?i)\bfsx\b|lustre|file ?system|\befs\b|mount"),
        "the file system",
        ("fsx:DescribeFileSystems", "elasticfilesystem:ClientMount"),
    ),
    (re.compile(r"(?i)assume"), "the role", ("sts:AssumeRole",)),
    (re.compile(r"(?i)upload|output|model artifact|put ?object|checkpoint"), "the output", ("s3:PutObject",)),
    (re.compile(r"(?i)\bs3\b|download|bucket|channel|manifest|object"), "the input", ("s3:GetObject", "s3:ListBucket")),
)
_BY_SERVICE = {
    "ecr": "the image",
    "kms": "the KMS key",
    "ec2": "the network",
    "fsx": "the file system",
    "elasticfilesystem": "the file system",
    "sts": "the role",
    "s3": "S3",
}
# Said where no image is found as well.
_OR_ABSENT = re.compile(r"(?i)either the image does not exist or its permissions")


@dataclass(frozen=True, slots=True)
class Denied:
    """A refusal."""

    what: str
    """Of what: "the image"."""
    actions: tuple[str, ...]
    """As a policy names them."""
    named: bool
    """The text itself names them; else they are what is usually missing."""
    resource: str
    """An ARN; "*" where the text names none."""
    or_absent: bool = False
    """The text says as well that the thing may not exist."""


def denied(text: str, by_service: bool = False) -> Denied | None:
    """The refusal that a text tells of; None where it tells of none by AWS.

    ``by_service``: the text is SageMaker's own, in which nobody else refuses anything.
    """
    text = " ".join(text[:4000].split())
    refused = _REFUSED.search(text)
    if refused is None or not (by_service or _OF_AWS.search(text) or _NAMED.search(text)):
        return None
    actions = tuple(dict.fromkeys(found["action"] for found in _NAMED.finditer(text)))
    named = bool(actions)
    if not actions and (found := _OPERATION.search(text)):
        actions = _BY_OPERATION.get(found["operation"], ())
        named = bool(actions)
    topic = next(((what, usual) for pattern, what, usual in _TOPICS if pattern.search(text)), None)
    if not actions:
        if topic is None:
            return None
        actions = topic[1]
    what = _BY_SERVICE.get(actions[0].partition(":")[0], "an AWS service") if named or topic is None else topic[0]
    if actions[0].startswith("s3:"):
        what = "the output" if actions == ("s3:PutObject",) else "the input"
    return Denied(what, actions, named, _resource(text, actions), bool(_OR_ABSENT.search(text)))


def _resource(text: str, actions: tuple[str, ...]) -> str:
    if found := _RESOURCE.search(text):
        return found["arn"].rstrip(".")
    if all(action.startswith("s3:") for action in actions) and (found := _S3_URI.search(text)):
        return f"arn:aws:s3:::{found['bucket']}{'' if actions == ('s3:ListBucket',) else '/*'}"
    return "*"
