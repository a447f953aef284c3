"""How severe a verdict is."""

from __future__ import annotations

from typing import Literal

#: partial: nothing stands out, but a part that matters could not be seen. unknown: nothing to judge by.
#: muted: healthy but for findings that somebody muted.
#: waiting: a review is under way. unreviewed: none was asked for.
Level = Literal["critical", "warning", "info", "partial", "muted", "healthy", "unknown", "waiting", "unreviewed"]
