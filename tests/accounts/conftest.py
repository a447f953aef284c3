"""Three AWS accounts in two regions on moto, which a hub's credentials reach through roles."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.sagemaker.models import sagemaker_backends
from moto.server import ThreadedMotoServer
from moto.sts.exceptions import STSClientError
from moto.sts.models import STSBackend, sts_backends

from monitor.aws import clients

HUB = "111111111111"
NUMBERS = {"research": "222222222222", "prod": "333333333333", "locked": "444444444444"}
REGIONS = ("us-east-1", "eu-west-1")
JOBS = {
    ("research", "us-east-1"): ("llama-1", "llama-2"),
    ("research", "eu-west-1"): ("bert-1",),
    ("prod", "us-east-1"): ("llama-1",),
}


def role_of(name: str) -> str:
    return f"arn:aws:iam::{NUMBERS[name]}:role/TrainwatchRead"


def settings_text(names: tuple[str, ...] = ("research", "prod")) -> str:
    """The accounts as a settings file has them; ``research`` has both regions."""
    # moto has no price list, and says so on standard output.
    return '[prices_usd_per_instance_hour]\n"ml.p4d.24xlarge" = 25\n' + "".join(
        f'[[accounts]]\nname = "{name}"\nrole = "{role_of(name)}"\nexternal_id = "trainwatch"\n'
        f'regions = {list(REGIONS if name == "research" else REGIONS[:1])}\nteam = "{name}-team"\n'
        for name in names
    )


@dataclass
class Cloud:
    """moto's server, and what was asked of its STS."""

    url: str
    assumed: list[dict[str, Any]] = field(default_factory=list)
    lives_for: timedelta = timedelta(hours=1)
    """How long the credentials of a role are good for, from now on."""
    is_locked: bool = False
    """No role may be assumed any more."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """moto's state is one a process: all of these run in one worker."""
    for item in items:
        if "cloud" in getattr(item, "fixturenames", ()) and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("accounts"))


@pytest.fixture(scope="package")
def _server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
    sagemaker_backends.reset()
    sts_backends.reset()


@pytest.fixture
def cloud(_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cloud:
    """The accounts with their jobs; this process has the hub's credentials, and no settings of this machine."""
    found = Cloud(_server)
    assume = STSBackend.assume_role

    def watched(self: STSBackend, *given: Any, **told: Any) -> Any:
        if found.is_locked or NUMBERS["locked"] in str((given, told)):
            raise STSClientError(
                "AccessDenied", f"User: arn:aws:iam::{HUB}:user/hub is not authorized to perform: sts:AssumeRole"
            )
        role = assume(self, *given, **told)
        found.assumed.append(told or {"given": given})
        role.expiration = (datetime.now(UTC) + found.lives_for).replace(tzinfo=None)
        return role

    monkeypatch.setattr(STSBackend, "assume_role", watched)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, text in {
        "AWS_ENDPOINT_URL": _server,
        "AWS_ACCESS_KEY_ID": "hub",
        "AWS_SECRET_ACCESS_KEY": "hub",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }.items():
        monkeypatch.setenv(name, text)
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    _fill(_server)
    found.assumed.clear()
    return found


def _fill(url: str) -> None:
    for (name, region), jobs in JOBS.items():
        if sagemaker_backends[NUMBERS[name]][region].training_jobs:
            continue
        sts = boto3.client("sts", endpoint_url=url, region_name=region)
        keys = sts.assume_role(RoleArn=role_of(name), RoleSessionName="fill")["Credentials"]
        client = boto3.client(
            "sagemaker",
            endpoint_url=url,
            region_name=region,
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
        )
        for job in jobs:
            client.create_training_job(
                TrainingJobName=job,
                AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File"},
                RoleArn=f"arn:aws:iam::{NUMBERS[name]}:role/training",
                OutputDataConfig={"S3OutputPath": "s3://out/"},
                ResourceConfig={"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 10},
                StoppingCondition={"MaxRuntimeInSeconds": 60},
            )


@pytest.fixture(autouse=True)
def _nothing_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_known", {})
    monkeypatch.setattr(clients, "_hubs", {})
    monkeypatch.setattr(clients, "_sessions", {})


@pytest.fixture
def settings(cloud: Cloud) -> Path:
    """The settings file of the hub's user, with the accounts."""
    path = Path(os.environ["XDG_CONFIG_HOME"], "trainwatch", "config.toml")
    path.parent.mkdir(parents=True)
    path.write_text(settings_text(), encoding="utf-8")
    return path
