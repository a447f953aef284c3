"""How loud a verdict is."""

from __future__ import annotations

from typing import Literal

#: partial: nothing stands out, but a part that matters could not be seen. unknown: nothing to judge by.
#: waiting: a review is under way. unreviewed: none was asked for.
Level = Literal["critical", "warning", "info", "partial", "healthy", "unknown", "waiting", "unreviewed"]
