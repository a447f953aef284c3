"""The PyTorch CycleGAN and pix2pix trainer and its many kin.

``(epoch: 3, iters: 400, time: 0.123, data: 0.004) G_GAN: 0.9 D_real: 0.3``: the counter is of the epoch's images, the time
that of the newest batch over its images. How many a batch has stands among the options that are printed at the start; it is
one by default.
"""

from monitor.parse.family import Line

GATES = ("(epoch: ",)
LINES = (
    Line(
        "cyclegan",
        r"\(epoch: <epoch>, iters: <step>, time: <each>, data: <number>\)",
        unit="images/s",
        meaning="step",
        many=True,
    ),
)
