"""BigGAN for PyTorch and its kin.

``120/3900 (  3.08%) (TE/ETA1k: 1:42 / 14:10) itr: 121, G_loss : -0.12, D_loss_real : +0.51, …``: the time since the epoch began,
the iteration of the run; none of the losses is the whole.
"""

from monitor.parse.family import Line

GATES = ("(TE/ETA1k: ",)
LINES = (Line("biggan", r"\(TE/ETA1k: <hms> / \d{1,9}:\d\d\) itr: <step>,"),)
