"""Lists come to an end, or to an error."""

from __future__ import annotations

import pytest

from monitor.aws.calls import MOST_EMPTY, Pagination
from monitor.errors import Unreachable


@pytest.mark.parametrize("last", [None, ""])
def test_an_end(last: str | None) -> None:
    onward = Pagination("logs:FilterLogEvents")
    assert onward.after("a", 3) == "a"
    assert onward.after(last, 0) is None


@pytest.mark.parametrize("tokens", [["a", "a"], ["a", "b", "a"], ["a", "b", "c", "b"]])
def test_a_token_that_comes_back(tokens: list[str]) -> None:
    onward = Pagination("sagemaker:Search")
    for token in tokens[:-1]:
        onward.after(token, 100)
    with pytest.raises(Unreachable, match=r"sagemaker:Search lead nowhere"):
        onward.after(tokens[-1], 100)


def test_silence_is_followed_for_long_and_not_for_ever() -> None:
    onward = Pagination("logs:FilterLogEvents")
    for number in range(MOST_EMPTY):
        assert onward.after(f"a{number}", 0)
    assert onward.after("found", 1) == "found"
    for number in range(MOST_EMPTY):
        assert onward.after(f"b{number}", 0)
    with pytest.raises(Unreachable):
        onward.after("one more", 0)
