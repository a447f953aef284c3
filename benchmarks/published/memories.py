"""Does memory come out as measured? Peaks of pipelines, growth with the microbatch, and what fits or runs out of memory."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.published.claim import Claim, off_pct, within
from benchmarks.published.rows import Row, select, shapes
from benchmarks.published.schedules import ZERO_BUBBLE
from monitor.predict.layout import Layout, ModelShape
from monitor.predict.memory import activation_bytes, memory, state_bytes

GB = 1e9
#: Between these shares of a GPU's memory nothing is said.
BORDERLINE = (0.85, 1.10)
_DEVICES = {"V100-16GB": 16 * 2**30, "V100-32GB": 32 * 2**30, "A100-40GB": 40 * 2**30, "A100-80GB": 80 * 2**30}


def claims() -> list[Claim]:
    """Memory of pipelines, of microbatches, and verdicts."""
    return [_peaks(), _in_flight(), _sizes(), _small_model(), _verdicts(), _references()]


def _zero_bubble_peak(row: Row) -> float:
    """Bytes of states and activations of the fullest stage: where the first and last have a layer less, that is one
    between them, with one microbatch less in flight. An allocator's peak has no context in it."""
    shape = shapes()[row.model, row.params_b or 0]
    each = (shape.layers + 2) // row.pipeline
    found = []
    for stage in range(row.pipeline):
        at_an_end = stage in (0, row.pipeline - 1)
        own = replace(shape, layers=each - at_an_end)
        parameters = own.parameters - (0 if at_an_end else own.embedding + own.sequence * own.hidden)
        layout = Layout(microbatch_size=row.size, in_flight=min(row.microbatches, row.pipeline - stage))
        found.append(state_bytes(parameters, layout) + activation_bytes(own, layout))
    return max(found)


def _peaks() -> Claim:
    off = [
        off_pct(_zero_bubble_peak(row) / GB, row.value)
        for row in select("gpu_memory", ZERO_BUBBLE, fits=lambda row: row.schedule == "1F1B")
    ]
    return Claim(
        "peak memory of 1F1B at 16 bytes a parameter", "nothing", (), tuple(off), "max <= 5 %", within(off, 5.0)
    )


def _in_flight() -> Claim:
    """Anchored on the fewest microbatches in flight, the others are predicted."""
    measured = sorted(select("gpu_memory", ZERO_BUBBLE, "Table 9"), key=lambda row: row.microbatches)
    first = measured[0]
    off = [
        off_pct(first.value + (_zero_bubble_peak(row) - _zero_bubble_peak(first)) / GB, row.value)
        for row in measured[1:]
    ]
    return Claim("memory of more microbatches in flight", "nothing", (), tuple(off), "max <= 5 %", within(off, 5.0))


def _sizes() -> Claim:
    off = []
    smallest: dict[tuple[str, float | None], Row] = {}
    rows = select("gpu_memory", "bigscience", "tr11", lambda row: (row.model, row.params_b) in shapes())
    for row in sorted(rows, key=lambda row: row.size):
        anchor = smallest.setdefault((row.locator, row.params_b), row)
        if row.size > anchor.size:
            grown = _bigscience(row) - _bigscience(anchor)
            off.append(off_pct(anchor.value + grown / GB, row.value))
    return Claim("memory of larger microbatches (tr11)", "nothing", (), tuple(off), "max <= 12 %", within(off, 12.0))


def _small_model() -> Claim:
    off = [off_pct(_bigscience(row) / GB, row.value) for row in select("gpu_memory", "bigscience", "tr3m")]
    return Claim("memory of 1.3B with ZeRO-1, not anchored (tr3m)", "nothing", (), tuple(off), "none", None)


def _bigscience(row: Row) -> float:
    return memory(shapes()[row.model, row.params_b or 0], _layout(row), _DEVICES[row.gpu]).total


def _layout(row: Row) -> Layout:
    """How a published run was laid out, by what its row says and its project does by default."""
    common = Layout(
        pipeline=row.pipeline,
        tensor=row.tensor,
        microbatch_size=row.size,
        in_flight=min(row.microbatches, row.pipeline),
        checkpointed_layers=1 if row.recomputes else 0,
        offload=row.note == "offload",
    )
    if row.source.startswith("OpenBMB"):
        # The batch is one of a GPU, and the layers are recomputed: with fewer of them nothing in the table would fit.
        tensor = int(row.shard.partition("mp=")[2] or 1)
        return replace(
            common,
            tensor=tensor,
            sharding="gradients" if row.shard.startswith("ZeRO2") else "full",
            shard_degree=(row.gpus or 1) // tensor,
            microbatch_size=row.size * tensor,
            checkpointed_layers=1,
        )
    if row.shard == "opt_shard" or row.shard == "zero1":
        return replace(common, sharding="optimizer", shard_degree=row.data)
    if row.shard == "zero3":
        return replace(common, sharding="full", shard_degree=row.gpus or 1, checkpointed_layers=1)
    if row.shard.startswith(("sdp", "hsd")):
        return replace(common, sharding="full", shard_degree=int(row.shard[3:]))
    return common


def occupancies() -> list[tuple[Row, float]]:
    """Each configuration whose fitting was published, and the share of a GPU's memory that it is predicted to take."""
    return [
        (row, memory(shapes()[row.model, row.params_b or 0], _layout(row), _DEVICES[row.gpu]).total / _DEVICES[row.gpu])
        for row in select("fits")
    ]


def _verdicts() -> Claim:
    found = occupancies()
    confident = [(row, share) for row, share in found if not BORDERLINE[0] <= share <= BORDERLINE[1]]
    right = sum((share < 1) == (row.value == 1) for row, share in confident)
    return Claim(
        "fits or out of memory",
        "nothing (2.5 GB + 5 % are given)",
        (),
        (),
        ">= 95 % of confident verdicts",
        right >= 0.95 * len(confident),
        f"{right} of {len(confident)} right, {len(found) - len(confident)} borderline",
        len(found),
    )


#: GPT-2 of the guide's reference configurations on p4d (60B: two stages, two active microbatches).
_GUIDE = Layout(sharding="optimizer", checkpointed_layers=1)
REFERENCES: tuple[tuple[float, Layout], ...] = (
    (10, replace(_GUIDE, tensor=4, shard_degree=32, microbatch_size=40)),
    (30, replace(_GUIDE, tensor=8, shard_degree=16, microbatch_size=32)),
    (60, replace(_GUIDE, pipeline=2, tensor=8, shard_degree=16, microbatch_size=14, in_flight=2)),
)


def _references() -> Claim:
    device = _DEVICES["A100-40GB"]
    shares = [memory(_reference(billions), layout, device).total / device for billions, layout in REFERENCES]
    return Claim(
        "reference configurations of 10, 30, 60 billion fit",
        "nothing",
        (),
        (),
        "each below 0.92",
        max(shares) < 0.92,
        ", ".join(f"{100 * share:.0f} %" for share in shares),
        len(shares),
    )


def _reference(billions: float) -> ModelShape:
    return shapes()["GPT-2", billions]
