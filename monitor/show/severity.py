"""How prominently is a verdict drawn? One mapping from level to word, icon and color for the whole application.

Colors are names of the theme's palette, set for light and dark in ``.streamlit/config.toml``; word and icon say the
same, so that nothing rests on color.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from monitor.diagnose.verdict import Level

Colour = Literal["red", "orange", "blue", "green", "gray"]


@dataclass(frozen=True, slots=True)
class Appearance:
    word: str
    icon: str
    colour: Colour


LOOKS: dict[Level, Appearance] = {
    "critical": Appearance("critical", ":material/error:", "red"),
    "warning": Appearance("warning", ":material/warning:", "orange"),
    "unknown": Appearance("not judged", ":material/help:", "gray"),
    "partial": Appearance("partial data", ":material/visibility:", "gray"),
    "muted": Appearance("muted", ":material/notifications_off:", "gray"),
    "waiting": Appearance("reviewing", ":material/hourglass_empty:", "gray"),
    "unreviewed": Appearance("", "", "gray"),
    "info": Appearance("info", ":material/info:", "blue"),
    "healthy": Appearance("healthy", ":material/check_circle:", "green"),
}
