"""Where jobs stand in an archive: names that any file system and engine takes, each job in a place of its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from monitor.archive.layout import UNKNOWN, job_in, location_of, value_of
from monitor.model import Job
from tests.archive.test_run_files import JOB, T0

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=80)


def test_a_job_stands_by_region_month_and_name() -> None:
    place = location_of(replace(JOB, name="gpt-7"))
    assert place.folder == "region=eu-west-1/month=2026-03/job=gpt-7"
    assert place.table("steps") == f"steps/{place.folder}/part-{place.id}.parquet"
    assert place.run == f"runs/{place.folder}/run-{place.id}.json"
    assert job_in(place.run) == "gpt-7"


def test_what_log_files_do_not_tell_is_no_value() -> None:
    assert location_of(Job("a.log", source="logs")).folder == f"region={UNKNOWN}/month={UNKNOWN}/job=a.log"


def test_one_name_in_two_accounts_or_at_two_times_is_two_jobs() -> None:
    others = [
        replace(JOB, arn=JOB.arn.replace("123456789012", "210987654321")),
        replace(JOB, created=T0 + timedelta(minutes=1)),
    ]
    places = [location_of(job) for job in (JOB, *others)]
    assert len({place.folder for place in places}) == 1
    assert len({place.run for place in places}) == 3
    assert location_of(replace(JOB, status="Stopped")) == places[0]


@given(NAMES)
def test_any_name_is_one_folder_and_comes_back(name: str) -> None:
    value = value_of(name)
    assert len(f"job={value}".encode("ascii")) <= 255
    assert not set(value) & set("/\\?#*[]{}= \n\x00")
    assert Path(f"job={value}").name == f"job={value}"
    if len(value) < 180:
        assert unquote(value) == name
        assert job_in(f"runs/region=x/month=y/job={value}/run-0.json") == name


@given(NAMES.map(lambda name: name * 40), NAMES.map(lambda name: name * 40))
def test_long_names_are_cut_and_still_told_apart(one: str, other: str) -> None:
    assert len(value_of(one)) <= 200
    assert (value_of(one) == value_of(other)) == (one == other)
    unquote(value_of(one), errors="strict")
