"""NVIDIA NeMo-RL (GRPO, DPO, SFT, reward models, distillation): a head at the start of each step, its figures at its end.

``========================= Step 3/60 =========================``, between them whatever the actors print, then
``  • Loss: 0.0412``, ``  • Total step time: 45.10s`` and ``    - E2E (Tokens/sec/gpu): 1073.59``: the time is of that step
with all its rollouts, the throughput of one GPU. The number behind the slash is the length of an epoch where that is less
than the plan, so no total is taken. A step whose figures are not yet there is none. Figures of a validation
have names of their own (``• Validation loss``), and the parts of the step (``• generation: 20.1s (44.6%)``) no gate.
"""

from monitor.parse.family import Line

GATES = ("===== Step ", "• Total step time: ", "• Loss: ", "- E2E (Tokens/sec/gpu): ")
_FIGURE = r"(?:^|[\])]|\s)\s{0,8}%ss?\s*$"
LINES = (
    Line("nemo-rl", r"={5,40} Step <step>/\d{1,12} ={5,40}\s*$"),
    Line("nemo-rl", _FIGURE % "• Loss: <loss>", meaning="of-last"),
    Line("nemo-rl", _FIGURE % "• Total step time: <s>", meaning="of-last"),
    Line("nemo-rl", _FIGURE % r"- E2E \(Tokens/sec/gpu\): <rate>", unit="tokens/s/GPU", meaning="of-last"),
)
