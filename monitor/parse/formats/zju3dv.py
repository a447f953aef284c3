"""Deep Snake, PVNet, Neural Body and what else is made of their trainer.

``eta: 0:09:27  epoch: 5  step: 825  mask_loss: 0.85  loss: 22.87  data: 0.0171  batch: 0.5780  lr: 0.000100  max_mem: 6107``:
``batch`` is the mean time of the newest twenty, with the wait for ``data`` in it; the step goes on over the epochs.
"""

from monitor.parse.family import Line

GATES = ("  max_mem: ",)
_OTHERS = r"(?:\w{1,40}: [\w.+-]{1,24}  ){0,40}"
_HEAD = r"\beta: (?:\d{1,4} days?, )?[\d:]{4,12}  epoch: <epoch>  step: <step>  " + _OTHERS
_TIMES = r"data: [\d.]{1,12}  batch: <s>  lr: "
_MEMORY = (r"  max_mem: <mib>",)
LINES = (
    Line("zju3dv", _HEAD + r"\bloss: <loss>  " + _OTHERS + _TIMES, _MEMORY, meaning="interval"),
    Line("zju3dv", _HEAD + _TIMES, _MEMORY, meaning="interval"),
)
