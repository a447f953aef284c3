"""Which colour means what: the few that are fixed, all mid-tones that read on a light and on a dark ground.

Everything else is left to the theme of whoever draws: series colours, and the sequential scale of the heatmaps.
The four kinds of time differ in lightness as well as in hue, so they stay apart without colour vision.
"""

from __future__ import annotations

#: Where nothing was measured.
NO_DATA = "#8b939e"
NO_DATA_OPACITY = 0.28

#: A report far off the rest.
OUTLIER = "#d2691e"

#: Kind of time -> colour, in the order of the legend.
TIME_KINDS = {
    "training": "#3b7fc4",
    "start and finish": "#7389a5",
    "lost": "#cf7323",
    "not known": "#bcc2ca",
}
