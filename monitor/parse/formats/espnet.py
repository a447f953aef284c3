"""ESPnet2's trainer.

``2epoch:train:51-100batch: iter_time=0.01, forward_time=0.2, loss_ctc=90.1, loss=80.2, backward_time=0.3, train_time=1.05``:
train_time is the mean time of an optimizer step since the last report, in seconds, accumulated batches included; the number
counts batches of the epoch. Traps: ``valid`` lines of the same form; iter_time is the wait for data; the line ``2epoch
results:`` sums up.
"""

from monitor.parse.family import Line

GATES = ("epoch:train:",)
LINES = (
    Line(
        "espnet",
        r"\b<epoch>epoch:train:\d{1,15}-<step>batch: (?P<rest>.*)",
        more=(r"\btrain_time=<s>", r"(?<![\w.])loss=<loss>"),
        meaning="interval",
    ),
)
