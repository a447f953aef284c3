"""NVIDIA's generative models: StyleGAN2-ADA, StyleGAN3, EDM.

``tick 12    kimg 48.1     time 5m 12s       sec/tick 28.1    sec/kimg 7.02    maintenance 0.1    cpumem 5.1    gpumem 12.1``: a
tick is a few thousand images; the rate over the tick follows from the seconds of a thousand images, of all GPUs. How many a
step takes stands in the line (``minibatch 32``, StyleGAN2) or among the options that are printed at the start; where neither
does the tick is what is counted. Some copies print ``iters/sec 2.5``, whose steps are those of the optimizer. gpumem is the
peak of the tick in GiB.
"""

from monitor.parse.family import Line

GATES = (" sec/kimg ",)
LINES = (
    Line(
        "stylegan",
        r"\btick <step>\s{1,12}kimg (?P<share>\d{1,12}(?:\.\d{1,3})?)\s[^\n]{0,120}? sec/kimg <thousand>"
        r"(?:[^\n]{0,120}? gpumem <gib>)?",
        more=(r"\bminibatch <counter>\b", r"\biters/sec <pace>\b"),
        anywhere=True,
        unit="images/s",
        meaning="interval",
    ),
)
