"""Roles are assumed with botocore's own renewal: once an account, anew before the end, and again where AWS says they expired."""

from __future__ import annotations

from datetime import timedelta

import boto3
import pytest

from monitor.accounts import Account
from monitor.aws.clients import Clients
from monitor.errors import NoCredentials, NotAllowed
from tests.accounts.conftest import NUMBERS, Cloud, role_of
from tests.aws.fake import answer_with, refusal

RESEARCH = Account(
    "research", ("us-east-1", "eu-west-1"), role=role_of("research"), external_id="trainwatch", session_name="watch"
)


def _names(clients: Clients) -> list[str]:
    return [row["TrainingJobName"] for row in clients.call("sagemaker", "list_training_jobs")["TrainingJobSummaries"]]


def test_one_role_serves_all_regions_of_its_account(cloud: Cloud) -> None:
    east, west = (Clients(region, account=RESEARCH) for region in RESEARCH.regions)
    assert (sorted(_names(east)), _names(west)) == (["llama-1", "llama-2"], ["bert-1"])
    assert east.account_label() == NUMBERS["research"]
    assert len(cloud.assumed) == 1
    told = str(cloud.assumed[0])
    for part in ("watch", "trainwatch", role_of("research")):
        assert part in told


def test_credentials_that_run_out_are_renewed_in_the_middle(cloud: Cloud) -> None:
    cloud.lives_for = timedelta(seconds=30)  # less than botocore wants left: each use renews them
    clients = Clients("us-east-1", account=RESEARCH)
    for _ in range(3):
        assert len(_names(clients)) == 2
    assert len(cloud.assumed) >= 3


def test_a_role_that_may_not_be_assumed_names_both_sides(cloud: Cloud) -> None:
    locked = Account("locked", ("us-east-1",), role=role_of("locked"))
    with pytest.raises(NotAllowed) as told:
        Clients("us-east-1", account=locked).call("sagemaker", "list_training_jobs")
    assert told.value.action == "sts:AssumeRole"
    assert "trust policy of that role" in str(told.value)


def test_a_role_whose_session_aws_ended_is_assumed_again(cloud: Cloud) -> None:
    clients = Clients("us-east-1", account=RESEARCH)
    answer_with(clients, "sagemaker", [refusal("ExpiredTokenException", "The security token is expired")])
    assert len(_names(clients)) == 2
    assert len(cloud.assumed) == 2


def test_where_the_role_is_refused_the_second_time_the_login_is_what_is_said(cloud: Cloud) -> None:
    clients = Clients("us-east-1", account=RESEARCH)
    assert len(_names(clients)) == 2
    expired = refusal("ExpiredTokenException", "The security token is expired")
    answer_with(clients, "sagemaker", [expired])
    cloud.is_locked = True
    with pytest.raises(NoCredentials, match="have expired"):
        _names(clients)


def test_calls_of_one_account_share_their_pace_and_those_of_others_have_their_own(cloud: Cloud) -> None:
    prod = Account("prod", ("us-east-1",), role=role_of("prod"))
    twin = Account("twin", ("us-east-1",), role=role_of("prod"))
    research, west, first, second = (
        Clients("us-east-1", account=RESEARCH),
        Clients("eu-west-1", account=RESEARCH),
        Clients("us-east-1", account=prod),
        Clients("us-east-1", account=twin),
    )
    assert first._pacer is second._pacer
    assert len({id(each._pacer) for each in (research, west, first)}) == 3
    # The hub's own credentials: told apart until an answer tells that it is the same account.
    keys = boto3.client("sts", region_name="us-east-1").assume_role(RoleArn=role_of("prod"), RoleSessionName="own")[
        "Credentials"
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", keys["AccessKeyId"])
        own = Clients("us-east-1")
        assert own._pacer is not first._pacer
        assert _names(own) == ["llama-1"]
    assert _names(first) == ["llama-1"]
    assert own._pacer is first._pacer
