"""AWS's training examples for Trainium (neuronx-distributed, the BERT and Llama tutorials).

``LOG Fri Jan  2 10:00:00 2026 - (0, 12) step_loss : 8.1234 learning_rate : 1.00e-04 throughput : 12.34 grad-norm : 1.2``:
epoch and global step; sequences of all workers per second, a moving average over the last (by default ten) steps. There
is no time in it.
"""

from monitor.parse.family import Line

GATES = (") step_loss : ",)
LINES = (
    Line(
        "neuron",
        r"\(\d{1,9}, <step>\) step_loss : <loss> (?:learning_rate : \S{1,30} throughput : <rate>)?",
        unit="sequences/s",
        meaning="smoothed",
    ),
)
