"""Which profiles and regions may be chosen, and what is wrong with a choice?"""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.aws.profiles import LocalProfiles, check, local_profiles
from monitor.errors import BadCall

pytestmark = pytest.mark.usefixtures("offline")

KNOWN = LocalProfiles(("dev", "prod"), ("eu-west-1", "us-east-1"), "dev", "us-east-1")


def _profiles(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "config").write_text(text)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


def test_profiles_come_from_the_configuration_and_regions_from_botocore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _profiles(tmp_path, monkeypatch, "[default]\nregion = eu-west-3\n[profile team]\nregion = ap-south-1\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    known = local_profiles()
    assert known.profiles == ("default", "team")
    assert {"us-east-1", "eu-west-1", "cn-north-1"} <= set(known.regions)
    assert (known.profile, known.region) == ("default", "eu-west-3")
    assert local_profiles("team").region == "ap-south-1"


def test_keys_in_the_environment_come_before_a_profile_that_nobody_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _profiles(tmp_path, monkeypatch, "[default]\nregion = eu-west-3\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    assert local_profiles().profile is None


def test_a_configuration_that_cannot_be_read_offers_no_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _profiles(tmp_path, monkeypatch, "no section\n")
    assert local_profiles().profiles == ()


@pytest.mark.parametrize(
    ("region", "profile", "why"),
    [
        ("eu-wst-1", None, r"no AWS region 'eu-wst-1'.*sidebar, such as eu-west-1"),
        (None, "prd", r"no AWS profile 'prd'.*sidebar, such as prod"),
        ("<script>", None, r"no AWS region '<script>'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_nearest(region: str | None, profile: str | None, why: str) -> None:
    with pytest.raises(BadCall, match=why):
        check(KNOWN, region, profile)


@pytest.mark.parametrize(("region", "profile"), [(None, None), ("eu-west-1", "prod"), (None, "dev")])
def test_what_is_known_is_taken(region: str | None, profile: str | None) -> None:
    check(KNOWN, region, profile)


def test_another_service_may_call_its_regions_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    check(KNOWN, "local", None)
