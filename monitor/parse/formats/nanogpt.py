"""nanoGPT and its forks (DLRover's, lit-parrot, llama2.c).

``iter 250: loss 2.1407, time 61.83ms, mfu 17.20%``, DLRover's with ``cuda memory 0.479G`` and a total time behind it,
lit-parrot's as ``time: 61.83ms, speed: 8123 toks/s/device``; llama2.c's as ``250 | loss 2.14 | lr 5e-04 | 61.8ms | mfu
17%``. The time is of that iteration alone, its micro-batches together; at an evaluation it holds the evaluation.
``step 250: train loss 2.10, val loss 2.15`` is an evaluation. The file that build-nanogpt writes has ``250 train 2.140700``, and
``250 val 2.1500`` and ``250 hella 0.3000`` of evaluations. DLRover's memory is the peak in 10^9 bytes.
"""

from monitor.parse.family import Line, no_step

GATES = (": loss ", "ms | mfu ", ", val loss ", " train ")
_FIGURES = (r"\bcuda memory <gb>G\b", r"\bspeed: <rate> toks/s/device")
LINES = (
    Line("nanogpt", r"\biter <step>: loss <loss>, time:? <time>", _FIGURES, unit="tokens/s/device"),
    Line(
        "nanogpt",
        r"(?<!\S)<step> \| loss <loss> \| lr [\d.eE+-]{1,40} \| <time> \| mfu ",
        _FIGURES,
        unit="tokens/s/device",
    ),
    Line("nanogpt", r"^<step> train <loss>\s*$"),
    # Where it was printed behind a bar that bar is read.
    no_step(r"^(?!.*%\|).*\bstep \d{1,12}: train loss <number>, val loss "),
)
