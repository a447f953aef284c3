"""Transformer-XL and PyTorch's language model examples.

``| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 18.42 | loss  7.20 | ppl  1339.43``, Transformer-XL's with
``epoch   1 step      200 |    200 batches``, NVIDIA's with ``| batches    200 / 32733 | … | tok/s 20010 |`` besides: means
over the log interval. The step is global where there is one, else the batch within the epoch. ``| end of epoch …`` and
``| Eval …`` have no ms/batch.
"""

from monitor.parse.family import Line, no_step

GATES = ("ms/batch", "| end of epoch ", "| Eval ")
_FIGURES = (r"\bms/batch\s+<ms>", r"\btok/s\s+<rate>", r"\bloss\s+<loss>")
_BATCH = r"\s+\|\s*(?:batches\s+)?%s\b(?P<rest>[^\n]{0,300})"
LINES = (
    *(
        Line("ms/batch", head + _BATCH % batch, _FIGURES, unit="tokens/s", meaning="interval", needs="ms")
        for head, batch in ((r"\|\s*epoch\s+\d{1,9}\s+step\s+<step>", "<count>"), (r"\|\s*epoch\s+<epoch>", "<step>"))
    ),
    no_step(r"\| end of epoch\s|\| Eval\s+\d{1,9} at step\s"),
)
