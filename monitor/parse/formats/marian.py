"""Marian NMT.

``[2026-01-02 10:00:00] Ep. 1 : Up. 500 : Sen. 12,345 : Cost 7.12 * 414,436 after 414,436 : Time 34.9s : 679.5 words/s :
gNorm 0.3``: updates so far; the seconds are of the whole interval since the last report, validation included; words/s of
all devices. The cost is a mean per word or sentence, or the sum of a sentence, as the configuration has it.
``[valid] Ep. 1 : Up. 500 : perplexity : …`` is an evaluation.
"""

from monitor.parse.family import Line, no_step

GATES = (" : Up. ",)
LINES = (
    no_step(r"\[valid\]"),
    Line(
        "marian",
        r"\bEp\. <epoch>(?:\.\d{1,9})? : Up\. (?P<step>\d[\d,]{0,15}) : Sen\. [\d,]{1,30} : Cost <loss>[^:]{0,80}"
        r" : Time <s>s(?: : <rate> words/s)?",
        unit="words/s",
        meaning="span",
    ),
)
