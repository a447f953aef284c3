"""cuda-convnet and its forks: ``12.351... logprob:  2.301, 0.855 (1.417 sec)``.

The epoch and the batch of data within it (many minibatches), the loss and error of the batch, and its seconds. A line that
ends behind the dots is of a batch that did not end; ``Test output`` tells an evaluation.
"""

from monitor.parse.family import Line

GATES = ("... logprob:",)
LINES = (Line("cuda-convnet", r"^\s*<epoch>\.<step>\.\.\. logprob:\s+<loss>,[^()]{1,200}\(<s> sec\)"),)
