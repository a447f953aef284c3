"""How do GPipe, 1F1B and interleaved 1F1B run a pipeline? Each stage has its order of work, and waits for what it needs.

GPipe: arXiv 1811.06965. 1F1B and its interleaved form, as Megatron-LM and DeepSpeed run them: arXiv 2104.04473.
"""

from __future__ import annotations

from monitor.predict.pipeline import Kind, Pipeline, Schedule, Work

# One item of a stage's order: what, which microbatch, which of its chunks.
_Item = tuple[Kind, int, int]


def gpipe(pipeline: Pipeline) -> Schedule:
    """All forwards, then all backwards (SMP v1 calls it ``simple``)."""
    every = range(pipeline.microbatches)
    order: list[_Item] = [("forward", n, 0) for n in every] + [("backward", n, 0) for n in reversed(every)]
    return _run(pipeline, [order] * pipeline.stages, 1)


def one_forward_one_backward(pipeline: Pipeline) -> Schedule:
    """1F1B: as many forwards as there are later stages, then one of each in turn."""
    p, m = pipeline.stages, pipeline.microbatches
    return _run(pipeline, [_alternating(min(m, p - stage - 1), _plain(m)) for stage in range(p)], 1)


def interleaved(pipeline: Pipeline, chunks: int) -> Schedule:
    """1F1B with ``chunks`` parts of the model on each stage, every one of them 1/chunks of the stage's time.

    ValueError where the microbatches are no multiple of the stages, as the schedule demands.
    """
    p, m = pipeline.stages, pipeline.microbatches
    if chunks < 1 or (chunks > 1 and m % p):
        raise ValueError("an interleaved schedule needs a number of microbatches that is a multiple of the stages")
    if chunks == 1:
        return one_forward_one_backward(pipeline)
    # Groups of p microbatches pass chunk after chunk; the way back is the same from the other end.
    forward = [((k // (p * chunks)) * p + k % p, (k // p) % chunks) for k in range(m * chunks)]
    both = [(mine, (mine[0], chunks - 1 - mine[1])) for mine in forward]
    orders = [_alternating(min(m * chunks, 2 * (p - stage - 1) + (chunks - 1) * p), both) for stage in range(p)]
    return _run(pipeline, orders, chunks)


_Pairs = list[tuple[tuple[int, int], tuple[int, int]]]


def _plain(microbatches: int) -> _Pairs:
    return [((n, 0), (n, 0)) for n in range(microbatches)]


def _alternating(ahead: int, pairs: _Pairs) -> list[_Item]:
    """``ahead`` forwards, then forward and backward in turn, then the backwards that are left."""
    order: list[_Item] = []
    for n, (forward, _) in enumerate(pairs):
        order.append(("forward", *forward))
        if n >= ahead:
            order.append(("backward", *pairs[n - ahead][1]))
    order += [("backward", *backward) for _, backward in pairs[max(0, len(pairs) - ahead) :]]
    return order


def _run(pipeline: Pipeline, orders: list[list[_Item]], chunks: int) -> Schedule:
    """Runs each stage's order; an item begins when the stage is free and what it needs has arrived."""
    p, last = pipeline.stages, pipeline.stages * chunks - 1
    done: dict[tuple[Kind, int, int], float] = {}  # what, microbatch, virtual stage -> its end
    places, free = [0] * p, [0.0] * p
    work: list[Work] = []
    moved = True
    while moved:
        moved = False
        for stage in range(p):
            while places[stage] < len(orders[stage]):
                kind, microbatch, chunk = orders[stage][places[stage]]
                virtual = chunk * p + stage
                arrived = _arrival(done, pipeline, kind, microbatch, virtual, last)
                if arrived is None:
                    break
                start = max(free[stage], arrived)
                took = (pipeline.forward_s if kind == "forward" else pipeline.backward_s)[stage] / chunks
                free[stage] = done[kind, microbatch, virtual] = start + took
                work.append(Work(stage, kind, microbatch, start, start + took, chunk))
                places[stage] += 1
                moved = True
    return Schedule(tuple(work), p)


def _arrival(
    done: dict[tuple[Kind, int, int], float], pipeline: Pipeline, kind: Kind, microbatch: int, virtual: int, last: int
) -> float | None:
    """When the input of an item is there; None while it is not known yet."""
    if kind == "forward":
        if virtual == 0:
            return 0.0
        before, hop = done.get(("forward", microbatch, virtual - 1)), pipeline.hop_s
    elif virtual == last:
        before, hop = done.get(("forward", microbatch, virtual)), 0.0
    else:
        before, hop = done.get(("backward", microbatch, virtual + 1)), pipeline.hop_s
    return None if before is None else before + hop
