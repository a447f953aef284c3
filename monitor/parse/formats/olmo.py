"""OLMo and OLMo-core: a block of metrics, its head and what stands in the lines below it.

``[… rank=0] [step=150/2000,epoch=0]`` and then ``train/CrossEntropyLoss=2.9``, ``throughput/device/batches_per_second=0.17``
(the mean of a window), ``System/Peak GPU Memory (MB)=12,410`` (10^6 bytes); in OLMo-core ``train/CE loss=2.9`` and
``throughput/device/BPS=0.17`` (of that step). The head gives the step, each line below it is one that says more of the
report before it; some logs keep the block together as one record. The first releases leave the epoch out.
``[eval_step=3/10]`` is an evaluation; ``eta=…`` is an estimate; ``BPS (actual avg)`` is the mean over the run.
"""

from monitor.parse.family import Line, no_step

GATES = (
    *("[step=", "[eval_step=", "train/CrossEntropyLoss=", "train/CE loss=", "System/Peak GPU Memory (MB)="),
    *("throughput/device/batches_per_second=", "throughput/device/BPS="),
)
_FIGURES = (
    r"\btrain/(?:CrossEntropyLoss|CE loss)=<loss>",
    r"\bthroughput/device/(?:batches_per_second|BPS)=<pace>",
    r"\bSystem/Peak GPU Memory \(MB\)=<mb>",
)
LINES = (
    Line("olmo", r"\[step=<step>/<total>(?:,epoch=\d{1,9})?(?:,eta=[^\]\n]{1,60})?\]", _FIGURES, meaning="interval"),
    no_step(r"\[eval_step="),
    Line("olmo", r"^\s*(?=(?:train|throughput|System)/)", _FIGURES, meaning="of-last", needs="loss|pace|mb"),
)
