"""Nanotron.

``iteration: 40 / 500 | consumed_tokens: 10.2M | time_per_iteration_ms: 1.23K | tokens_per_sec: 331K |
tokens_per_sec_per_gpu: 41.4K | … | lm_loss: 6.71 | …``: of that iteration alone, with three digits and K, M, B for
thousands; earlier releases wrote ``elapsed_time_per_iteration_ms: 1.23K``, at first with exponents, and the memory
reserved, in bytes.
"""

from monitor.parse.family import NUMBER, Line

GATES = ("time_per_iteration_ms: ",)
LINES = (
    Line(
        "nanotron",
        r"\biteration: <step> / <total> \|",
        more=(
            rf"(?<=\| )(?:elapsed_)?time_per_iteration_ms: (?P<ms>{NUMBER}[KMBT]?)",
            rf"(?<=\| )tokens_per_sec_per_gpu: (?P<rate>{NUMBER}[KMBT]?)",
            rf"(?<=\| )lm_loss: (?P<loss>{NUMBER}[KMBT]?)",
            rf"(?<=\| )cuda_max_memory_reserved: (?P<bytes>{NUMBER}[KMBT]?)",
        ),
        unit="tokens/s/GPU",
    ),
)
