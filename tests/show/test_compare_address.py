"""The names in an address, and what leaves the page: JSON, Markdown and the command as at a terminal."""

from __future__ import annotations

import json

import pytest

from monitor.archive.comparison import PredictionRecord, comparison_document
from monitor.diagnose.comparison.compare import compare
from monitor.show import data
from monitor.show.compare import figures as compare_export
from monitor.show.compare.choice import names_in
from tests.diagnose.test_compared import job


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["a,b"], ("a", "b")),
        (["a", "b"], ("a", "b")),
        (["a, b ,,c"], ("a", "b", "c")),
        (["a,a"], ("a", "a")),
        ([""], ()),
        ([], ()),
        (["x" * 300], ()),
    ],
)
def test_names_are_parted_by_commas_or_repeated(values: list[str], names: tuple[str, ...]) -> None:
    assert names_in(values) == names


def test_no_address_names_more_than_a_page_can_hold() -> None:
    assert len(names_in([",".join(map(str, range(1000)))])) == 50


@pytest.mark.parametrize(
    ("account", "archive", "expected"),
    [
        (data.AccountChoice(), None, "python -m monitor compare run-1 run-2"),
        (data.AccountChoice("eu-west-1", "my team"), None, "run-1 run-2 --region eu-west-1 --profile 'my team'"),
        (
            data.AccountChoice("eu-west-1"),
            "/tmp/an archive/",
            "compare 'archive:/tmp/an archive/run-1' 'archive:/tmp/an arc",
        ),
    ],
)
def test_the_command_gives_the_same_at_a_terminal(
    account: data.AccountChoice, archive: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "origin", lambda _: data.Origin(archive=archive))
    assert expected in compare_export.command(account, compare([job(), job("run-2")]))


def test_what_is_saved_is_what_the_command_gives() -> None:
    found, earlier = compare([job(), job("run-2", 1.8)]), PredictionRecord(3, 2)
    assert json.loads(compare_export.json_of(found, earlier)) == comparison_document(found, earlier)
    said = compare_export.markdown_of(found, earlier)
    assert said.startswith("# Comparison\n")
    assert "2 of 3 held." in said
    assert " \n" not in said
