"""What in a setup does SMP v1 accept only in combination with something else, or accept and not use?"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.predict.problem import SMP1_GUIDE, SMP1_SCHEMA, Problem, problem
from monitor.predict.problems_degrees import divisor
from monitor.predict.setup_types import Setup


def of_sharding(setup: Setup) -> Iterator[Problem]:
    """What does not go with sharded data parallelism, or only with it."""
    degree = setup.number("sharded_data_parallel_degree") or 1
    if setup.flag("bf16") and degree == 1:
        words = "bf16=true is only for sharded data parallelism, and sharded_data_parallel_degree is 1."
        yield problem(setup, "bf16", words, "Use fp16, or shard with sharded_data_parallel_degree above 1.", SMP1_GUIDE)
    if degree <= 1:
        return
    p, tensor = setup.pipeline_degree or 1, setup.tensor_degree or 1
    name = f"sharded_data_parallel_degree={degree}"
    if p > 1:
        words = f"{name} cannot be combined with a pipeline, and pipeline_parallel_degree is {p}."
        yield problem(
            setup,
            "sharded_data_parallel_degree",
            words,
            "Set pipeline_parallel_degree to 1, or sharded_data_parallel_degree to 1.",
            SMP1_SCHEMA,
            to=1,
            change="pipeline_parallel_degree",
            rejected=True,
        )
    if setup.flag("shard_optimizer_state"):
        words = f"{name} shards the optimizer's state already and cannot be combined with shard_optimizer_state."
        yield problem(
            setup,
            "shard_optimizer_state",
            words,
            "Set shard_optimizer_state to false.",
            SMP1_SCHEMA,
            to=False,
            rejected=True,
        )
    if tensor > 1 and setup.flag("prescaled_batch") is False:
        words = f"{name} with tensor_parallel_degree={tensor} is refused before 1.15, and since then needs prescaled_batch=true."
        yield problem(
            setup,
            "sharded_data_parallel_degree",
            words,
            "Set prescaled_batch to true (1.15), or tensor_parallel_degree to 1.",
            SMP1_GUIDE,
            to=True,
            change="prescaled_batch",
            rejected=True,
        )
    ranks = setup.data_parallel
    if ranks is not None and ranks % degree:
        to = divisor(ranks, degree)
        words = f"{name} does not divide the {ranks} data-parallel ranks."
        yield problem(
            setup,
            "sharded_data_parallel_degree",
            words,
            f"Use a divisor of {ranks}, such as {to}.",
            SMP1_GUIDE,
            to=to,
            rejected=True,
            refutable=setup.world_is_assumed,
        )


def of_useless(setup: Setup) -> Iterator[Problem]:
    """What is taken and does nothing."""
    p, microbatches, active = setup.pipeline_degree, setup.microbatches, setup.window
    if setup.text("pipeline") == "simple" and _is_chosen(setup, "pipeline") and p and p > 1 and active != microbatches:
        words = f"pipeline=simple silently becomes interleaved: active_microbatches={active}, but microbatches={microbatches}."
        yield problem(
            setup,
            "pipeline",
            words,
            f"Set active_microbatches to {microbatches}, or pipeline to interleaved.",
            SMP1_SCHEMA,
            to="interleaved",
        )
    if p == 1 and _is_chosen(setup, "active_microbatches") and microbatches and active and active < microbatches:
        words = f"active_microbatches={active} does nothing: with pipeline_parallel_degree=1 there is no pipeline."
        yield problem(setup, "active_microbatches", words, "Leave active_microbatches out.", SMP1_GUIDE)
    if setup.flag("shard_optimizer_state") and setup.data_parallel == 1:
        words = "shard_optimizer_state=true does nothing: there is only 1 data-parallel rank."
        yield problem(
            setup,
            "shard_optimizer_state",
            words,
            "Set shard_optimizer_state to false, or lower the model's degrees.",
            SMP1_GUIDE,
            to=False,
        )
    yield from _offload(setup)


def _offload(setup: Setup) -> Iterator[Problem]:
    if not setup.flag("offload_activations"):
        return
    if setup.flag("activation_checkpointing") is False:
        words = (
            "offload_activations=true does nothing: it moves checkpointed activations, but checkpointing is off (0)."
        )
        yield problem(
            setup,
            "offload_activations",
            words,
            "Turn on activation checkpointing, or turn off offload_activations.",
            SMP1_GUIDE,
            to=True,
            change="activation_checkpointing",
        )
        return
    # AWS's own examples of sharded data parallelism offload with one microbatch.
    if (setup.number("sharded_data_parallel_degree") or 1) > 1:
        return
    for name, number in (("microbatches", setup.microbatches), ("active_microbatches", setup.window)):
        if number == 1:
            words = f"offload_activations=true saves nothing with {name}=1: it needs more than one in flight."
            yield problem(
                setup,
                "offload_activations",
                words,
                f"Raise {name}, or set offload_activations to false.",
                SMP1_GUIDE,
                to=False,
            )
            return


def _is_chosen(setup: Setup, name: str) -> bool:
    """Given by somebody, not only printed by the library, which prints its defaults, too."""
    return setup.is_given(name) and not setup.read_from(name).startswith("log")
