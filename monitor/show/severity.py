"""How prominently is a verdict drawn? One mapping from level to word, icon and color for the whole application.

Colors are names of the theme's palette, set for light and dark in ``.streamlit/config.toml``; word and icon say the
same, so that nothing rests on color.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from monitor.diagnose.level import Level

Colour = Literal["red", "orange", "blue", "green", "gray"]


@dataclass(frozen=True, slots=True)
class Look:
    word: str
    icon: str
    colour: Colour
    rank: int
    """What asks for action first; what asks for none keeps the order of time."""


LOOKS: dict[Level, Look] = {
    "critical": Look("critical", ":material/error:", "red", 0),
    "warning": Look("warning", ":material/warning:", "orange", 1),
    "unknown": Look("not judged", ":material/help:", "gray", 2),
    "partial": Look("partial data", ":material/visibility:", "gray", 2),
    "muted": Look("muted", ":material/notifications_off:", "gray", 2),
    "waiting": Look("reviewing", ":material/hourglass_empty:", "gray", 3),
    "unreviewed": Look("", "", "gray", 3),
    "info": Look("info", ":material/info:", "blue", 3),
    "healthy": Look("healthy", ":material/check_circle:", "green", 3),
}
