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


LOOKS: dict[Level, Look] = {
    "critical": Look("critical", ":material/error:", "red"),
    "warning": Look("warning", ":material/warning:", "orange"),
    "unknown": Look("not judged", ":material/help:", "gray"),
    "partial": Look("partial data", ":material/visibility:", "gray"),
    "muted": Look("muted", ":material/notifications_off:", "gray"),
    "waiting": Look("reviewing", ":material/hourglass_empty:", "gray"),
    "unreviewed": Look("", "", "gray"),
    "info": Look("info", ":material/info:", "blue"),
    "healthy": Look("healthy", ":material/check_circle:", "green"),
}
