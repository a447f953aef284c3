"""Do the pages of a list come to an end? Tokens that lead nowhere end with an error, not with the user's patience."""

from __future__ import annotations

from monitor.errors import Unreachable

#: Pages in a row that hold nothing: AWS sends some where it filters, or looks through long silences.
MOST_EMPTY = 500


class Onward:
    """Follows the tokens of one list; ``action`` is what is asked, as a policy names it."""

    def __init__(self, action: str) -> None:
        self._action = action
        self._seen: set[str] = set()
        self._empty = 0

    def after(self, token: str | None, count: int) -> str | None:
        """The token to ask with next, None at the end; ``count`` is what this page held.

        Unreachable where a token comes back, or nothing comes but tokens.
        """
        if not token:
            return None
        self._empty = 0 if count else self._empty + 1
        if token in self._seen or self._empty > MOST_EMPTY:
            raise lead_nowhere(self._action)
        self._seen.add(token)
        return token


def lead_nowhere(action: str) -> Unreachable:
    """The pages of an answer go on without end."""
    return Unreachable(
        f"AWS does not answer like AWS: the pages of {action} lead nowhere.",
        "Try again in a minute; check AWS_ENDPOINT_URL and a proxy if it stays.",
    )
