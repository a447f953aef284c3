"""The Medical Detection Toolkit: ``tr. batch 1/200 (ep. 1) fw 0.5s / bw 0.3s / total 0.8s || loss: 2.31, class: …``.

Seconds of the forward pass, of the backward pass, and of the step.
"""

from monitor.parse.family import Line

GATES = ("tr. batch ",)
LINES = (
    Line(
        "medical-detection",
        r"\btr\. batch <step>/<total> \(ep\. <epoch>\) fw [\d.]{1,12}s / bw [\d.]{1,12}s / total <s>s \|\|(?: loss: <loss>)?",
    ),
)
