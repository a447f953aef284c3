"""MLPerf's result log.

``:::MLLOG {…, "key": "tracked_stats", "value": {"train_step_timing": 11.0}, "metadata": {…, "step": 8388608}}``: seconds
of an iteration. What "step" counts is the submitter's choice: tokens, samples or steps; it is given as printed;
"step_num" counts steps, and so does "step" beside "samples_count".
Also ``"key": "train_loss"`` with its value, and trackers that print the loss beside their
throughput. Validation timings, and the throughput of a whole block, are no steps. NVIDIA's callbacks print
``Step 19 train_step_timing 1.93 timestamp: …`` besides.
"""

from monitor.parse.family import Line, no_step

GATES = (":::MLLOG", " train_step_timing ")
_FIGURES = {
    "tracked_stats": (r'"train_step_tim(?:e|ing)(?: in s)?":\s*<s>', r'"(?:(?:reduced_)?train_)?loss":\s*<loss>'),
    "train_loss": (r'"train_step_tim(?:e|ing)(?: in s)?":\s*<s>', r'"value":\s*<loss>'),
}
_COUNTERS = (
    ("mllog-steps", r'"samples_count": \d{1,15}, "step"'),
    ("mllog", '"(?:step|samples_count)"'),
    ("mllog-steps", '"step_num"'),
)
LINES = (
    Line("mllog", r"\bStep <step> train_step_timing <s>"),
    *(
        Line(
            format,
            rf':::MLLOG.*"key":\s*"{key}"',
            (rf"{step}:\s*<step>", *figures),
            needs="step s|loss",
            anywhere=True,
        )
        for format, step in _COUNTERS
        for key, figures in _FIGURES.items()
    ),
    no_step(":::MLLOG"),
)
