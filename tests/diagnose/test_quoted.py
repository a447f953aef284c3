"""A quoted line keeps what it says and loses its secrets."""

from __future__ import annotations

import pytest

from monitor.diagnose.words.report import LONGEST, quoted


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ValueError: lr must be positive", "ValueError: lr must be positive"),
        ("api_key=abcd1234efgh5678 is wrong", "api_key=*** is wrong"),
        ("{'password': 'hunter22', 'lr': 1}", "{'password': '***', 'lr': 1}"),
        ("InvalidAccessKeyId: AKIAABCDEFGHIJKLMNOP", "InvalidAccessKeyId: ***"),
        ("GET https://me:s3cr3tword@host/x failed", "GET https://me:***@host/x failed"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"),
        ("login with hf_ABCDEFGHIJKLMNOPQRSTUVWX", "login with ***"),
        ("Token indices sequence length is longer than 512 tokens: 700", None),
        ("KeyError: 'pad_token_id'", None),
        ("  two\tblanks ", "two blanks"),
    ],
)
def test_secrets_are_masked(line: str, shown: str | None) -> None:
    assert quoted(line) == (line if shown is None else shown)


def test_a_long_line_is_cut() -> None:
    assert len(quoted("x" * 9000)) == LONGEST
