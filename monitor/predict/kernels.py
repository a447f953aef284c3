"""How does the time of a microbatch depend on its size? Small ones leave a GPU's units empty.

One microbatch of b samples takes alpha + beta b: launches, latencies and half-filled kernels cost alpha whatever b is. What
alpha is worth was measured on GPT-like models of 1.5 to 200 billion parameters: 0.1 to 0.2 samples' time; the constant below
was fitted to one part of published sweeps and held against the rest (``benchmarks/predictions.py``).
"""

from __future__ import annotations

#: alpha / beta: the fixed part of a microbatch's time, in samples; and how far other models differ.
FIXED_SAMPLES = 0.19
#: Of so many tokens each: the sweeps' sequences. What a launch costs hangs on the tokens, not on how they are cut.
SAMPLE_TOKENS = 2048
FIXED_SAMPLES_RANGE = (0.08, 0.30)
#: Full recomputation does the forward once more: 4 in place of 3 forwards' work.
RECOMPUTATION = 4 / 3
