"""The memory model: published reference points, and what must hold of any model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.predict.layout import Layout, ModelShape
from monitor.predict.memory import activation_bytes, memory, state_bytes

A100 = 42.9e9
GPT_10B = ModelShape(48, 4096, 32, 50257, 512)
GPT_30B = ModelShape(48, 7168, 56, 50257, 512)
GPT_60B = ModelShape(48, 10240, 80, 50257, 512)


def reference(**changes: object) -> Layout:
    """Layer by layer recomputation and a sharded optimizer, as in the guide's reference configurations."""
    return replace(Layout(checkpointed_layers=1, sharding="optimizer"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "layout", "expected_gb"),
    [
        (GPT_10B, reference(tensor=4, shard_degree=32, microbatch_size=40), 25.9),
        (GPT_10B, reference(tensor=4, sharding="none", microbatch_size=40), 56.4),
        (GPT_10B, reference(tensor=4, shard_degree=32, microbatch_size=40, checkpointed_layers=0), 104.0),
        (GPT_10B, reference(tensor=4, shard_degree=2, microbatch_size=40), 40.7),
        (GPT_30B, reference(tensor=8, shard_degree=16, microbatch_size=32), 35.6),
        (GPT_60B, reference(pipeline=2, tensor=8, shard_degree=16, microbatch_size=14, in_flight=1), 26.5),
        (GPT_60B, reference(pipeline=2, tensor=8, shard_degree=16, microbatch_size=14, in_flight=2), 30.0),
        (GPT_60B, reference(pipeline=2, tensor=8, shard_degree=16, microbatch_size=14, in_flight=4), 37.4),
        (
            GPT_60B,
            reference(pipeline=2, tensor=8, shard_degree=16, microbatch_size=14, in_flight=4, offload=True),
            23.5,
        ),
    ],
)
def test_the_reference_configurations_come_out(shape: ModelShape, layout: Layout, expected_gb: float) -> None:
    assert memory(shape, layout, A100).total / 1e9 == pytest.approx(expected_gb, rel=0.02)


layouts = st.builds(
    Layout,
    pipeline=st.sampled_from([1, 2, 4]),
    tensor=st.sampled_from([1, 2, 4, 8]),
    sharding=st.sampled_from(["none", "optimizer", "gradients", "full"]),
    shard_degree=st.sampled_from([1, 2, 8, 64]),
    microbatch_size=st.integers(1, 32),
    in_flight=st.integers(1, 16),
    half_precision=st.booleans(),
    checkpointed_layers=st.integers(0, 4),
    offload=st.booleans(),
)


@given(layouts)
def test_more_of_anything_needs_no_less_and_more_splitting_no_more(layout: Layout) -> None:
    base = memory(GPT_10B, layout).total
    for more in ("microbatch_size", "in_flight"):
        assert memory(GPT_10B, replace(layout, **{more: getattr(layout, more) * 2})).total >= base - 1
    for larger in ("layers", "hidden", "sequence", "vocabulary"):
        assert memory(replace(GPT_10B, **{larger: getattr(GPT_10B, larger) * 2}), layout).total > base
    assert memory(GPT_10B, replace(layout, tensor=layout.tensor * 2)).total <= base + 1
    if layout.shard_degree > 1:
        assert memory(GPT_10B, replace(layout, shard_degree=layout.shard_degree * 2)).total <= base + 1


@given(st.floats(1e6, 1e11), st.sampled_from([2, 8, 64, 512]), st.booleans())
def test_every_stage_of_sharding_needs_no_more_than_the_one_before(n: float, degree: int, half: bool) -> None:
    sizes = [
        state_bytes(n, Layout(sharding=stage, shard_degree=degree, half_precision=half))  # type: ignore[arg-type]
        for stage in ("none", "optimizer", "gradients", "full")
    ]
    assert sizes == sorted(sizes, reverse=True)
    alone = {state_bytes(n, Layout(sharding=stage, half_precision=half)) for stage in ("none", "optimizer", "full")}  # type: ignore[arg-type]
    assert len(alone) == 1


@given(layouts)
def test_the_parts_add_up_and_nothing_is_negative(layout: Layout) -> None:
    found = memory(GPT_10B, layout)
    assert found.total == pytest.approx(sum(found.components_gib().values()) * 2**30)
    assert all(size > 0 for size in found.components_gib().values())


@given(layouts)
def test_recomputing_layer_by_layer_never_stores_more(layout: Layout) -> None:
    kept = activation_bytes(GPT_10B, replace(layout, checkpointed_layers=0))
    again = activation_bytes(GPT_10B, replace(layout, checkpointed_layers=1))
    # With one layer a stage in flight once, recomputing it keeps its input besides.
    assert again <= kept * 1.2
