"""The accounts of the settings file: read, refused in words where they are wrong, and chosen from."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.accounts import Account, chosen
from monitor.errors import BadCall
from monitor.settings import read

ROLE = "arn:aws:iam::111122223333:role/TrainwatchRead"
GOOD = f"""
[[accounts]]
name = "research"
profile = "research-ro"
regions = ["us-east-1", "eu-west-1"]
team = "vision"

[[accounts]]
name = "prod"
role = "{ROLE}"
external_id = "trainwatch-1"
session_name = "watch"
regions = ["us-east-1"]
team = "speech"
project = "asr"
tags = {{ stage = "prod" }}
"""


def _read(tmp_path: Path, text: str) -> tuple[Account, ...]:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return read(path).accounts


def test_accounts_are_read_in_their_order(tmp_path: Path) -> None:
    research, prod = _read(tmp_path, GOOD)
    assert research == Account("research", ("us-east-1", "eu-west-1"), profile="research-ro", team="vision")
    assert (prod.role, prod.external_id, prod.session_name) == (ROLE, "trainwatch-1", "watch")
    assert (research.number, prod.number) == (None, "111122223333")
    assert [prod.tag(key) for key in ("team", "project", "stage", "other")] == ["speech", "asr", "prod", None]
    assert research.session_name == "trainwatch"


def test_no_accounts_are_no_accounts(tmp_path: Path) -> None:
    assert _read(tmp_path, "") == ()


ONE = "[[accounts]]\nname = 'a'\nregions = ['us-east-1']\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[accounts]\nname = 'a'\n", "accounts is no list of tables. Write [[accounts]] above"),
        ("accounts = 'a'\n", "accounts is no list of tables."),
        ("[[account]]\nname = 'a'\n", "there is no setting account; the nearest is accounts."),
        (ONE + "profil = 'b'\n", "account a has the unknown key profil; the nearest is profile. Correct it"),
        (ONE + "aws_secret_access_key = 'x'\n", "Secrets do not belong here: name a profile or a role."),
        (ONE + ONE.replace("'a'", "'A'"), "two accounts are named A. Give each a name of its own."),
        (ONE + f"profile = 'p'\nrole = '{ROLE}'\n", "account a has both a profile and a role. Keep one"),
        (ONE + "role = 'TrainwatchRead'\n", f'a role that is not the ARN of one. Write it as role = "{ROLE}".'),
        (ONE + "role = 'arn:aws:iam::1:role/x'\n", "a role that is not the ARN of one."),
        (ONE + "external_id = 'x1'\n", "account a has external_id without a role. Add role"),
        (ONE + "session_name = 'x1'\nprofile = 'p'\n", "account a has session_name without a role."),
        (ONE + f"role = '{ROLE}'\nsession_name = 'no spaces'\n", "session_name in a form that AWS does not take."),
        (ONE + f"role = '{ROLE}'\nexternal_id = 'ü!'\n", "external_id in a form that AWS does not take."),
        ("[[accounts]]\nname = 'a'\n", 'account a has no list of regions. Write it as regions = ["us-east-1"].'),
        ("[[accounts]]\nname = 'a'\nregions = []\n", "account a has no list of regions."),
        ("[[accounts]]\nname = 'a'\nregions = 'us-east-1'\n", "account a has no list of regions."),
        ("[[accounts]]\nname = 'a'\nregions = ['Ireland']\n", "account a has the region 'Ireland', which is none."),
        ("[[accounts]]\nname = 'a'\nregions = ['us-east-1', 'us-east-1']\n", "the region us-east-1 twice. Take one out."),
        ("[[accounts]]\nregions = ['us-east-1']\n", "the account number 1 has no name."),
        ("[[accounts]]\nname = 'a/b'\nregions = ['us-east-1']\n", "a name that cannot stand in an address."),
        ("[[accounts]]\nname = 7\nregions = ['us-east-1']\n", "the account number 1 has a name that is not a text."),
        (ONE + "team = ''\n", "account a has a team that is not a text."),
        (ONE + "tags = 'x'\n", "account a has tags that are no texts."),
        (ONE + "tags = { team = 'x' }\n", 'account a has team among its tags. Write it as a key of its own: team = "x".'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_with_its_remedy(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadCall) as told:
        _read(tmp_path, text)
    assert words in str(told.value)
    assert str(told.value).startswith(f"In {tmp_path}/config.toml ")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("region", ["us-east-1", "us-gov-west-1", "cn-north-1", "ap-southeast-5", "us-iso-east-1"])
def test_regions_of_all_partitions_are_taken(tmp_path: Path, region: str) -> None:
    (account,) = _read(tmp_path, f"[[accounts]]\nname = 'a'\nregions = ['{region}']\n")
    assert account.regions == (region,)


@pytest.mark.parametrize(
    ("filters", "pairs"),
    [
        ({}, ["research in us-east-1", "research in eu-west-1", "prod in us-east-1"]),
        ({"names": ["prod"]}, ["prod in us-east-1"]),
        ({"regions": ["us-east-1"]}, ["research in us-east-1", "prod in us-east-1"]),
        ({"teams": ["vision"]}, ["research in us-east-1", "research in eu-west-1"]),
        ({"names": ["research", "prod"], "regions": ["eu-west-1"]}, ["research in eu-west-1"]),
    ],
)
def test_filters_choose_pairs(tmp_path: Path, filters: dict[str, list[str]], pairs: list[str]) -> None:
    assert [str(pair) for pair in chosen(_read(tmp_path, GOOD), **filters)] == pairs


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"names": ["resarch"]}, "The settings file has no account resarch; the nearest is research."),
        ({"regions": ["eu-west-2"]}, "no account with the region eu-west-2; the nearest is eu-west-1."),
        ({"teams": ["nlp"]}, "no account with the team nlp; known are vision, speech."),
        ({"names": ["prod"], "teams": ["vision"]}, "No account is in all of these filters."),
    ],
)
def test_a_filter_that_means_nothing_is_said(tmp_path: Path, filters: dict[str, list[str]], words: str) -> None:
    with pytest.raises(BadCall) as told:
        chosen(_read(tmp_path, GOOD), **filters)
    assert words in str(told.value)


def test_without_accounts_the_remedy_is_the_section() -> None:
    with pytest.raises(BadCall, match=r"No accounts are set up\. Write each as \[\[accounts\]\]"):
        chosen(())
