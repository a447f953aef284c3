"""The demo's jobs as they are reviewed at one moment: read once in a worker, by all tests that only look at the reports."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import pytest

from monitor.aws.clients import Clients
from monitor.demo.account import start
from monitor.fetch.account import AwsSource
from monitor.model import Report
from monitor.review import Reviewer
from monitor.settings import config_file, read

#: The beginnings of the names of the demo's jobs.
DEMO_JOBS = (
    "gpt2-10b-smp", "llama2-13b-smp2", "gptj-6b-smp", "gpt2-30b-smp", "gpt2-20b-smp-pp4", "llama2-7b-fsdp",
    "llama2-70b-pretrain", "bert-large-mlm-spot", "vit-630m-mics-4", "vit-630m-mics-32", "whisper-small-finetune",
    "deberta-ner-finetune", "deeplab-hetero", "churn-mlp",
)  # fmt: skip
DEMO_NOW = datetime(2026, 11, 18, 12, 34, 56, tzinfo=UTC)


@cache
def reviewed() -> dict[str, Report]:
    """The reports, by the beginnings of the jobs' names. Tests that ask for them are of the group ``figures``."""
    found = {}
    with pytest.MonkeyPatch.context() as patch, start(DEMO_NOW) as account:
        for name, value in account.environment.items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        settings, source = read(config_file(account.environment)), AwsSource(Clients())
        for job in account.jobs:
            base = max((base for base in DEMO_JOBS if job.name.startswith(base)), key=len)
            found[base] = Reviewer(source, job.name, settings).review(DEMO_NOW)
    assert set(found) == set(DEMO_JOBS)
    return found
