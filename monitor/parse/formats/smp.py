"""The sample trainers of the SageMaker model parallel library, and the published ViT loop.

- SMP v1: ``(11s), Batch 2 Loss: 10.625, Speed: 46.85 samples/sec, TFLOPS/GPU: 4.3``. The clock in front counts whole
  seconds since the training loop began; Speed is of the last single step, global. Some trainers print no number
  after "Speed:".
- SMP v2: ``Batch 9 Loss: 4.1, Speed: 15.2 samples/sec, Model TFLOPS/GPU: 80.1, lr: …``: no clock.
- ViT loop: ``step: 7: step time is 12.5``: by its code seconds since t0, but corrected copies print the step's own
  time, so the series decides.
"""

from monitor.parse.family import NUMBER, Line

GATES = ("Loss:", "step time is")
_BATCH = r"\bBatch:?\s+<step>,?\s+Loss:\s*<loss>,\s*Speed:\s*<rate>?\s*samples/sec"
LINES = (
    Line("smp-v1", rf"(?i)\(<clock>s\),\s*{_BATCH}", unit="samples/s", many=True),
    Line("smp-v2", rf"(?i){_BATCH}", unit="samples/s", many=True),
    Line(
        "smp-vit",
        rf"\bstep:\s*<step>:\s*step time is\s*(?P<s>(?!0+(?:\.0*)?(?![\d.]))(?!-){NUMBER})",
        meaning="either",
        many=True,
    ),
)
