"""Safe to share: the dashboard's configuration, text of others as itself, secrets masked wherever they could be seen."""

from __future__ import annotations

import json
import tomllib
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from monitor.archive.document import report_document
from monitor.cli.report import print_report
from monitor.diagnose.words.report import hidden, hidden_words
from monitor.export.layout import markdown
from monitor.fetch.jobs import job_of
from monitor.model import Parameter
from monitor.review.reviewer import Masked
from tests.builders import report

ROOT = Path(__file__).parents[1]
SECRETS = ("hf_abcdefghijklmnopqrstuvwxyz", "hunter2-hunter2", "AKIAABCDEFGHIJKLMNOP", "s3cr3t-of-mine")
HYPERPARAMETERS = {
    "hf_token": json.dumps(SECRETS[0]),
    "tracking_uri": json.dumps(f"https://me:{SECRETS[1]}@tracking.example.com"),
    "extra_arguments": json.dumps(f"--bucket b --key {SECRETS[2]} --epochs 3"),
    "mp_parameters": json.dumps({"pipeline_parallel_degree": 2, "api_key": SECRETS[3]}),
    "epochs": "3",
}


def test_the_server_is_this_machines_own_and_tells_nobody() -> None:
    options = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert options["server"]["address"] == "127.0.0.1"
    assert options["server"]["enableXsrfProtection"] is True
    assert options["browser"]["gatherUsageStats"] is False
    # A page shows the kind of an error and no stack trace.
    assert options["client"]["showErrorDetails"] == "type"
    # Fonts of others tell them who looks.
    assert "http" not in json.dumps(options["theme"])


def test_secrets_of_a_job_are_masked_by_name_and_by_form() -> None:
    job = job_of({"TrainingJobName": "a", "HyperParameters": HYPERPARAMETERS})
    kept = json.dumps(
        [dict(job.hyperparameters), {name: str(known.value) for name, known in job.configuration.items()}]
    )
    for secret in SECRETS:
        assert secret not in kept
    assert job.configuration["epochs"].value == 3
    assert job.configuration["pipeline_parallel_degree"].value == 2
    assert "tracking.example.com" in kept


def test_what_a_log_prints_of_the_configuration_is_masked_as_well() -> None:
    run = report(
        "a", configuration={"wandb_api_key": Parameter("0123456789abcdef", "log line 3"), "lr": Parameter(0.1, "log")}
    ).run
    shown = Masked()(run).job.configuration
    assert (shown["wandb_api_key"].value, shown["lr"].value) == ("***", 0.1)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_report_says_that_values_are_masked_and_which(form: str) -> None:
    job = job_of({"TrainingJobName": "a", "HyperParameters": HYPERPARAMETERS})
    built = report("a", configuration=dict(job.configuration))
    said = "4 values look secret and are shown as ***: api_key, extra_arguments, hf_token, tracking_uri."
    assert hidden_words(built.job) == said
    if form == "json":
        assert said in report_document(built)["coverage"]["warnings"]
    elif form == "markdown":
        assert said.replace("***", "`***`") in markdown(built)
    else:
        out = StringIO()
        print_report(built, Console(file=out, width=200))
        assert said in out.getvalue()


def test_nothing_is_said_where_nothing_is_hidden() -> None:
    assert hidden(report("a").job) == ()
    assert hidden_words(report("a").job) == ""
