"""DLRM (deep learning recommendation model) and the recommenders made from it.

``Finished training it 2048/30660 of epoch 0, 11.42 ms/it, loss 0.135201, accuracy 96.721 %``: a mean over the print interval;
the counter begins again with each epoch. ``Testing at - 2048/…`` is an evaluation.
"""

from monitor.parse.family import Line, no_step

GATES = ("Finished training it ", "Testing at - ")
LINES = (
    Line(
        "dlrm",
        r"\bFinished training it <step>/\d{1,12} of epoch <epoch>, <ms> ms/it,(?: loss <loss>)?",
        meaning="interval",
    ),
    no_step("Testing at - "),
)
