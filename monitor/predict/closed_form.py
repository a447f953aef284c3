"""How long is a step, for equal stages, without simulating it? The formulas that the simulations are checked against.

``u`` is the forward and backward of one microbatch on one stage, ``c`` the hop to a neighbor, and ``R = p u + 2 (p-1) c``
the round trip of one microbatch. GPipe: arXiv 1811.06965; 1F1B and its interleaved form: arXiv 2104.04473; the window of
SMP v1: derived from its schedule as in ``monitor.predict.window``, exact without hops where b/f is a whole number.
"""

from __future__ import annotations

import math


def round_trip(stages: int, microbatch_s: float, hop_s: float = 0.0) -> float:
    """Seconds from a microbatch's first forward to its last backward, with nothing in its way."""
    return stages * microbatch_s + 2 * (stages - 1) * hop_s


def gpipe_s(stages: int, microbatches: int, microbatch_s: float, hop_s: float = 0.0) -> float:
    """(m + p - 1) u + 2 (p - 1) c, exact for any hop."""
    return (microbatches + stages - 1) * microbatch_s + 2 * (stages - 1) * hop_s


def gpipe_over_links_s(
    stages: int, microbatches: int, forward_s: float, backward_s: float, sending_s: float, delay_s: float = 0.0
) -> float:
    """GPipe where a link is busy for ``sending_s`` with each microbatch, and what it sends arrives ``delay_s`` later.

    One microbatch passes all stages and links; each other follows behind the slower of a stage and a link, both ways.
    """
    trip = round_trip(stages, forward_s + backward_s, sending_s + delay_s)
    link_s = sending_s if stages > 1 else 0.0
    return trip + (microbatches - 1) * (max(forward_s, link_s) + max(backward_s, link_s))


def one_forward_one_backward_s(stages: int, microbatches: int, microbatch_s: float, hop_s: float = 0.0) -> float:
    """R + (m - 1) max(u, R/p) for m > p, R + (m - 1) u below; exact without hops."""
    trip = round_trip(stages, microbatch_s, hop_s)
    pace = microbatch_s if microbatches <= stages else max(microbatch_s, trip / stages)
    return trip + (microbatches - 1) * pace


def interleaved_s(stages: int, microbatches: int, microbatch_s: float, chunks: int) -> float:
    """m u + (p - 1) u / v, for m a multiple of p and no hops."""
    return microbatches * microbatch_s + (stages - 1) * microbatch_s / chunks


def smp_window_s(stages: int, microbatches: int, window: int, microbatch_s: float, hop_s: float = 0.0) -> float:
    """R + (m - 1) u where the window covers the round trip; else its microbatches come in bursts of ``window``, one burst
    a round trip. With hops it is off by up to 14 %: simulate then."""
    trip = round_trip(stages, microbatch_s, hop_s)
    window = min(window, microbatches)
    if window * microbatch_s >= trip:
        return trip + (microbatches - 1) * microbatch_s
    bursts, rest = divmod(microbatches - 1, window)
    return (bursts + 1) * trip + rest * microbatch_s


def useful_window(stages: int, hop_share: float = 0.0) -> int:
    """The narrowest window that never waits for the round trip: p + ceil(2 (p - 1) c/u); ``hop_share`` is c/u."""
    return stages + math.ceil(2 * (stages - 1) * hop_share - 1e-9)
