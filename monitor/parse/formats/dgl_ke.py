"""DGL-KE, which learns embeddings of knowledge graphs: a block of lines each ``log_interval`` steps, of each process.

``[proc 0][Train](2000/24000) average pos_loss: 0.2``, then ``… average loss: 0.24`` and ``[proc 0][Train] 1000 steps take 8.8
seconds``: the sum of these steps. ``[proc 0]sample: 1.3, forward: 4.4, backward: 1.8, update: 1.2`` are its parts.
"""

from monitor.parse.family import Line

GATES = ("[Train](", " steps take ")
LINES = (
    Line("dgl-ke", r"(?:^|\[proc <rank>\])\[Train\]\(<step>/<total>\) average loss: <loss>", meaning="interval"),
    Line("dgl-ke", r"(?:^|\[proc <rank>\])\[Train\] <over> steps take <s> seconds", meaning="of-last"),
)
