"""Which account does the dashboard of the demo look at? A simulated one with sample jobs, filled as of now."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime
from types import TracebackType

from monitor.demo.feeder import Feeder
from monitor.demo.parameters import BUCKET
from monitor.demo.profiles import objects
from monitor.demo.schedule import SampleJob, schedule
from monitor.demo.simulated_aws import REGION, SimulatedAws
from monitor.demo.stories import STORIES
from monitor.demo.story import HARDWARE
from monitor.settings import ARCHIVE_SHOWN, CACHE_OFF, config_file


class Account:
    """The embedded account, serving from its making on. One at a time in a process.

    Running jobs go on after ``feeder.start()``, or at each ``feeder.tick(now)``.
    """

    def __init__(self, jobs: tuple[SampleJob, ...], now: datetime) -> None:
        self.jobs = jobs
        self._folder = tempfile.TemporaryDirectory(prefix="trainwatch-demo-")
        self._aws = SimulatedAws()
        for job in jobs:
            self._aws.put_job(job)
            for key, data in objects(job, now):
                self._aws.put_object(BUCKET.removeprefix("s3://"), key, data)
        self.feeder = Feeder(self._aws, jobs, now)
        # moto has no price list, so sample prices come from where a user would put theirs.
        prices = config_file(self.environment)
        prices.parent.mkdir(parents=True)
        prices.write_text(_price_table(), encoding="utf-8")

    @property
    def endpoint_url(self) -> str:
        return self._aws.endpoint_url

    @property
    def environment(self) -> dict[str, str]:
        """For a child process: this account as if it were the user's, and nothing of the user's own AWS settings.

        Its caches and settings go to a folder that vanishes with the account.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", ARCHIVE_SHOWN))}
        past_proxies = ",".join(filter(None, [kept.get("NO_PROXY") or kept.get("no_proxy", ""), "127.0.0.1,localhost"]))
        return kept | {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": "demo",
            "AWS_SECRET_ACCESS_KEY": "demo",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": past_proxies,
            "no_proxy": past_proxies,
            "XDG_CACHE_HOME": self._folder.name,
            "XDG_CONFIG_HOME": self._folder.name,
            "XDG_STATE_HOME": self._folder.name,
            "XDG_DATA_HOME": self._folder.name,
            CACHE_OFF: "1",
            "TRAINWATCH_DEMO": "1",
        }

    def stop(self) -> None:
        """Ends feeder and server and forgets all jobs; safe to call twice."""
        self.feeder.stop()
        self._aws.stop()
        self._folder.cleanup()

    def __enter__(self) -> Account:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(now: datetime) -> Account:
    """The account as it stands at ``now`` (aware), its server answering on 127.0.0.1."""
    return Account(tuple(schedule(story, now) for story in STORIES), now)


def _price_table() -> str:
    lines = [f'"{name}" = {hardware.price_usd_per_hour}' for name, hardware in HARDWARE.items()]
    return "\n".join(['price_source = "sample prices"', "[prices_usd_per_instance_hour]", *lines, ""])
