"""Roles are assumed with botocore's own renewal: once an account, anew before the end, and again where AWS says they expired."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.accounts import Account
from monitor.aws.clients import Clients
from monitor.errors import NotAllowed
from tests.accounts.conftest import NUMBERS, Cloud, role_of

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
