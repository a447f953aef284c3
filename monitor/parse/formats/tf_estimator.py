"""TensorFlow's Estimator (Tensor2Tensor and other trainers on it included).

``INFO:tensorflow:loss = 2.29, step = 101 (12.933 sec)``: the seconds since the line before, which stands
``log_step_count_steps`` steps earlier: 100 by default, and the line does not say otherwise. The first line of a run has no
time. A LoggingTensorHook's ``cross_entropy = 1.2, step = 50, loss = 2.3 (5.123 sec)`` names tensors in any order; how many
steps its seconds are is its own choice, so no time is taken. ``global_step/sec: 7.73`` in front of the loss says the same as
a rate but no step, and is not read. Traps: two loggers print every line twice; ``Saving dict for global step`` is an
evaluation.
"""

from monitor.parse.family import Line

GATES = (", step = ", " sec)")
LINES = (
    Line("tf-estimator", r"\bloss = <loss>, step = <step>(?: \(<s> sec\))?", meaning="span", many=True),
    Line(
        "tf-estimator",
        r"(?:INFO:tensorflow:|basic_session_run_hooks\.py:\d{1,6}\] )(?P<rest>[^\n]{1,600}) \(<s> sec\)",
        more=(r"(?:^|, )(?:global_)?step = <step>(?=,|$)", r"(?:^|, )loss = <loss>(?=,|$)"),
        meaning="span",
        needs="step",
    ),
)
