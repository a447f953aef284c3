"""NeMo Automodel.

``step 30 | epoch 0 | loss 1.2031 | grad_norm 0.81 | lr 1e-05 | mem 31.22 GiB | tps 9120.55(1140.07/gpu) | …``: tokens per
second in the last step, of all GPUs and of one (``tps 1140.07/gpu`` at first), and the peak of the memory allocated. The
recipes for retrieval end in ``time 0.53s``, that step's own. Lines of a validation have no memory.
"""

from monitor.parse.family import Line, no_step

GATES = (" GiB | tps ", " GiB | time ", "[val] ")
LINES = (
    Line(
        "nemo-automodel",
        r"\bstep <step> \| epoch <count> \| loss <loss> \|[^\n]{0,300}?\| mem <gib> GiB \| ",
        more=(r"(?<=GiB \| )time <s>s",),
        rates=(
            ("tokens/s/GPU", r"(?<=GiB \| )tps (?:[\d.]+\()?<rate>/gpu"),
            ("tokens/s", r"(?<=GiB \| )tps <rate>(?![\d./])"),
        ),
        needs="rate|s",
    ),
    no_step(r"\[val\] [^\n]{0,80}?\bstep \d{1,12} \| epoch "),
)
