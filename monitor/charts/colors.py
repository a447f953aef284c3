"""The colors with a fixed meaning, all mid-tones that read on a light and on a dark ground.

Everything else is left to the theme of whoever draws: series colors, and the sequential scale of the heatmaps.
The four kinds of time differ in lightness as well as in hue, so they stay apart without color vision.
"""

from __future__ import annotations

#: Where nothing was measured.
NO_DATA = "#8b939e"
NO_DATA_OPACITY = 0.28

#: A report far off the rest.
OUTLIER = "#d2691e"

#: Where the pace changed for good.
CHANGE = "#8a62b5"

#: The part of a job that the viewer chose.
BRUSH = "#2f74bd"

#: Kind of time -> color, in the order of the legend.
TIME_KINDS = {
    "training": "#3b7fc4",
    "start and finish": "#7389a5",
    "lost": "#cf7323",
    "not known": "#bcc2ca",
}

#: A stretch that a finding speaks of, drawn over whatever chart shows it.
MARKED = "#c2410c"

#: Kind of mark in the timeline -> color; each has its own shape too. Spans differ in lightness, moments in shape.
EVENT_KINDS = {
    "first line": "#7389a5",
    "first step": "#3b7fc4",
    "checkpoint": "#2a8f7b",
    "evaluation": "#a98bd6",
    "no step": "#cf7323",
    "restart": "#8a62b5",
    "signal": "#8a62b5",
    "NaN loss": "#c0392b",
    "error": "#c0392b",
    "first error": "#c0392b",
    "end": "#7389a5",
}

#: Words inside a chart, which no theme colors.
WORDS = "#75808d"

#: What a stage of a pipeline does: a light and a dark blue, apart in lightness; waiting is the gray of the lane.
STAGE_WORK = {"forward": "#6ea3d8", "backward": "#2b5f9e"}
STAGE_TEXT = {"forward": "#0f1b2a", "backward": "#ffffff"}

#: What fills a GPU's memory, by component; ``NOT_SPLIT`` is what no equation divides.
NOT_SPLIT = "not divided"
MEMORY_PARTS = {
    "model states": "#2b5f9e",
    "gathered": "#6ea3d8",
    "activations": "#cf7323",
    "logits": "#e3b23c",
    "context and buffers": "#8b939e",
    NOT_SPLIT: "#7656a8",
}
#: What a device has, and the lines around it.
LIMIT = "#c0392b"

#: A threshold of the user's, across a chart.
THRESHOLD = "#cf5246"

#: Points of a curve that mean something: each has a shape of its own too, in the order of the legend.
CURVE_MARKS = {"start": ("#3b7fc4", "circle"), "change": ("#cf7323", "triangle-up"), "advised": ("#2a8f7b", "diamond")}

#: The theme's own, for pictures that no page themes: series, and from idle to busy.
SERIES = ("#2f74bd", "#d9772b", "#2a8f7b", "#8a62b5", "#6b7686", "#b8567f")
BUSY = (
    "#f7d44c", "#d9cc52", "#b6c35b", "#93b868", "#72ab77", "#579c85", "#458b8f", "#397991", "#33678f", "#2f5589",
)  # fmt: skip
#: Jobs held against each other, by their letter: each has a shape of its own too.
JOBS = {
    "A": ("#3b7fc4", "circle"),
    "B": ("#cf7323", "triangle-up"),
    "C": ("#2a8f7b", "square"),
    "D": ("#8a62b5", "diamond"),
    "E": ("#c04f86", "triangle-down"),
    "F": ("#7a838f", "cross"),
    "G": ("#b08a1e", "triangle-right"),
    "H": ("#8f5a3a", "triangle-left"),
}
#: What was predicted, and what came.
PREDICTION = {"predicted": ("#2a8f7b", "diamond"), "measured": ("#3b7fc4", "circle")}
