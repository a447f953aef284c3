"""The plan that is asked for, and its inputs. One value that an address contains and restores: a start, corrections
to it, a change; a parameter each, only those that the framework has.

``/plan?from=job&of=NAME&change.active_microbatches=4`` or ``/plan?from=gpt2-60b&set.sequence_length=1024``. Typed by
hand, ``/plan?job=NAME`` works as well.

An input shows what holds: the value that was given, else the start's. What is unknown is empty and says "not known". The
plan lives in ``address``; inputs are drawn from it and move it, so that an input that nobody moved follows the start: a job, a
published configuration, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import streamlit as st

from monitor.choices import FRAMEWORK_NAMES, Framework
from monitor.predict.parameters import ALIASES_V1, CANONICAL, OTHER_NAMES, as_set, whole_number, yes_or_no
from monitor.predict.presets import PRESETS, preset
from monitor.predict.setup import Setup, SourcedValue
from monitor.show import address, data
from monitor.show.job_choice import choose_job, show_newest
from monitor.show.shell import JOB_PAGE, show_link
from monitor.show.trouble import calm, plain

Group = Literal["set", "change"]

JOB, NOTHING = "job", "nothing"
#: What is shown where nothing was asked for: a published question with its answer.
EXAMPLE = "gpt2-60b"
_FROM, _OF, _FRAMEWORK, _KNOB = "from", "of", "framework", "knob"
# Where a person types it, and the Job page's.
_TYPED = "job"
_ASKED = "plan-asked"
# An address is of anybody: longer values are no parameter's.
_LONGEST = 80
#: Whole numbers from here on are not exact in a browser.
MOST = 2**53
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan is asked for. ``stated`` corrects the start; of ``changes`` the last that was moved comes first."""

    source: str = EXAMPLE
    job: str | None = None
    """The job to start from; None where none is chosen, or the source is none."""
    framework: Framework | None = None
    knob: str | None = None
    """The parameter of the curve; None where the page chooses."""
    stated: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)

    def moved(self, group: Group, name: str, value: Any) -> PlanRequest:
        """With another value; None takes back what was given."""
        before = self.changes if group == "change" else self.stated
        after = {other: kept for other, kept in before.items() if other != name}
        if value is not None:
            after = {name: value, **after}
        return replace(self, changes=after) if group == "change" else replace(self, stated=after)

    def parameters(self) -> dict[str, str]:
        found = {_FROM: self.source, _OF: self.job, _FRAMEWORK: self.framework, _KNOB: self.knob}
        found |= {f"set.{name}": as_set(value) for name, value in self.stated.items()}
        found |= {f"change.{name}": as_set(value) for name, value in self.changes.items()}
        return {name: value for name, value in found.items() if value is not None}


def link(job: str, **changes: Any) -> dict[str, str]:
    """The address of a plan that starts from a job."""
    return PlanRequest(JOB, job, changes=changes).parameters()


def started(source: str, job: str | None = None) -> PlanRequest:
    """A new plan; a preset comes with the question that its source answers."""
    found = preset(source)
    return PlanRequest(source, job, changes=dict(found.change) if found is not None else {})


def of_parameters(parameters: Mapping[str, str]) -> PlanRequest:
    """What an address asks for."""
    source = parameters.get(_FROM, "")
    if source not in (JOB, NOTHING) and preset(source) is None:
        source = JOB if _TYPED in parameters else EXAMPLE
    framework = parameters.get(_FRAMEWORK)
    knob = parameters.get(_KNOB)
    given: dict[str, dict[str, Any]] = {"set": {}, "change": {}}
    for written, value in parameters.items():
        group, dot, name = written.partition(".")
        # What no plan knows is handed on: the library's rules say so.
        if dot and group in given and _NAME.fullmatch(name) and len(value) <= _LONGEST:
            canonical = ALIASES_V1.get(name, OTHER_NAMES.get(name, name))
            given[group][canonical] = value_of(value)
    return PlanRequest(
        source,
        (parameters.get(_OF) or parameters.get(_TYPED)) if source == JOB else None,
        cast(Framework, framework) if framework in FRAMEWORK_NAMES else None,
        knob if knob in CANONICAL else None,
        given["set"],
        given["change"],
    )


def value_of(text: str) -> Any:
    """A number, yes or no where the text is one; else the text."""
    words = {"true": True, "on": True, "false": False, "off": False}
    plain = text.strip()
    if plain.lower() in words:
        return words[plain.lower()]
    for kind in (int, float):
        try:
            number = kind(plain)
        except ValueError:
            continue
        # Not a number, infinity and what a browser cannot hold are no settings.
        return number if number == number and abs(number) < MOST else plain
    return plain


def current() -> PlanRequest:
    """What this visitor asks for: the address, where it says something new, else what was asked last."""
    everything, mine = st.query_params.to_dict(), address.mine(_is_mine)
    looked_at = address.last(_TYPED)
    if address.is_news(mine, "plan") or (_TYPED in everything and not mine):
        st.session_state[_ASKED] = of_parameters(everything)
    elif _ASKED not in st.session_state:
        # Without an address: the job that was looked at last.
        st.session_state[_ASKED] = started(JOB, str(looked_at)) if looked_at else started(EXAMPLE)
    return cast(PlanRequest, st.session_state[_ASKED])


def choose(request: PlanRequest) -> None:
    """Another plan from now on."""
    st.session_state[_ASKED] = request


def write() -> None:
    """Brings the address in line with what is asked."""
    address.write(current().parameters(), "plan", lambda name: _is_mine(name) or name == _TYPED)


def _is_mine(name: str) -> bool:
    return name in (_FROM, _OF, _FRAMEWORK, _KNOB) or name.partition(".")[0] in ("set", "change")


Kind = Literal["count", "number", "switch", "degree", "choice"]


@dataclass(frozen=True, slots=True)
class Input:
    """How a parameter is asked for."""

    label: str
    kind: Kind = "count"
    words: tuple[str, ...] = ()
    """What a choice offers."""
    help: str = ""


_MICRO = Input("Microbatch size", help="Samples per microbatch on one data-parallel rank.")
INPUTS: Mapping[str, Input] = {
    "pipeline_parallel_degree": Input("Pipeline degree", "degree", help="Number of stages the layers are split into."),
    "tensor_parallel_degree": Input("Tensor degree", "degree", help="GPUs that share each layer."),
    "microbatches": Input(
        "Microbatches", "degree", help="Parts of a batch that go through the stages one after another."
    ),
    "active_microbatches": Input("Active microbatches", help="Microbatches in flight at the same time: the window."),
    "batch_size": Input("Batch size", help="Samples that one process (prescaled: one tensor group) reads per step."),
    "micro_batch_size": _MICRO,
    "global_batch_size": Input("Global batch size", help="Samples per optimizer step, over all ranks."),
    "gradient_accumulation_steps": Input("Accumulation steps", help="Microbatches per optimizer step."),
    "sharded_data_parallel_degree": Input("Sharding degree", "degree", help="Ranks that share all model states."),
    "hybrid_shard_degree": Input(
        "Sharding degree", "degree", help="Ranks that share all model states; 0 is FSDP's default."
    ),
    "shard_optimizer_state": Input("Optimizer sharding", "switch", help="Ranks share the optimizer state."),
    "zero_stage": Input("ZeRO stage", "choice", ("0", "1", "2", "3")),
    "sharding_strategy": Input(
        "Sharding strategy", "choice", ("full_shard", "shard_grad_op", "hybrid_shard", "hybrid_shard_zero2", "no_shard")
    ),
    "activation_checkpointing": Input(
        "Checkpointing", "switch", help="Activations are recomputed in the backward pass."
    ),
    "activation_checkpointing_layers": Input("Layers grouped", help="Layers that are recomputed together."),
    "selective_recomputation": Input("Selective recompute", "switch", help="Only attention is recomputed."),
    "offload_activations": Input("Offload", "switch", help="Saved activations wait in host memory."),
    "sm_activation_offloading": Input("Offload", "switch", help="Saved activations wait in host memory."),
    "prescaled_batch": Input(
        "Prescaled batch", "switch", help="A tensor group reads one batch, instead of one per rank."
    ),
    "virtual_stages": Input("Virtual stages", help="Chunks per stage in interleaved 1F1B."),
    "sequence_parallel": Input("Sequence parallel", "switch"),
    "instance_count": Input("Instances"),
    "instance_type": Input("Instance type", "choice"),
    "layers": Input("Layers"),
    "hidden_size": Input("Hidden size"),
    "attention_heads": Input("Attention heads"),
    "vocabulary_size": Input("Vocabulary"),
    "sequence_length": Input("Sequence length"),
    "parameters_billion": Input(
        "Parameters, billion", "number", help="If the count is known; otherwise calculated from the shape."
    ),
    "precision": Input("Precision", "choice", ("bf16", "fp16", "fp32")),
    "flash_attention": Input("Flash attention", "switch"),
    "gpu_memory_gib": Input("GPU memory, GiB", "number"),
    "gpu_memory_utilization": Input("Memory measured, %", "number", help="Percent of one device, on the fullest GPU."),
    "step_time_s": Input("Step time measured, s", "number"),
}

_CHECKPOINTING = ("activation_checkpointing", "activation_checkpointing_layers")
_PLAIN = ("micro_batch_size", "gradient_accumulation_steps", *_CHECKPOINTING)
#: Framework -> the parameters that a plan moves.
KNOBS: Mapping[str | None, tuple[str, ...]] = {
    "smp1": (
        "pipeline_parallel_degree",
        "tensor_parallel_degree",
        "microbatches",
        "active_microbatches",
        "batch_size",
        "instance_count",
        "sharded_data_parallel_degree",
        "shard_optimizer_state",
        *_CHECKPOINTING,
        "offload_activations",
        "prescaled_batch",
    ),
    "smp2": ("hybrid_shard_degree", "tensor_parallel_degree", *_PLAIN, "sm_activation_offloading", "instance_count"),
    "fsdp": ("sharding_strategy", *_PLAIN, "instance_count"),
    "deepspeed": ("zero_stage", "pipeline_parallel_degree", "tensor_parallel_degree", *_PLAIN, "instance_count"),
    "megatron": (
        "pipeline_parallel_degree",
        "tensor_parallel_degree",
        "virtual_stages",
        "micro_batch_size",
        "global_batch_size",
        "instance_count",
        *_CHECKPOINTING,
        "selective_recomputation",
        "sequence_parallel",
        "shard_optimizer_state",
    ),
    "ddp": (*_PLAIN, "instance_count"),
    None: (*_PLAIN, "instance_count"),
}
MODEL = (
    "layers",
    "hidden_size",
    "attention_heads",
    "vocabulary_size",
    "sequence_length",
    "parameters_billion",
    "precision",
    "flash_attention",
)
CLUSTER = ("instance_type", "instance_count", "gpu_memory_gib", "gpu_memory_utilization", "step_time_s")


def knobs(setup: Setup) -> tuple[str, ...]:
    """The parameters that a plan of this setup moves; the size of a microbatch by the name that is known."""
    found = KNOBS[setup.framework]
    if setup.known("micro_batch_size") is None and setup.known("batch_size") is not None:
        found = tuple("batch_size" if name == "micro_batch_size" else name for name in found)
    return found


def show_inputs(group: Group, names: Sequence[str], setup: Setup, given: Mapping[str, Any]) -> None:
    """Draws inputs in a grid. ``setup`` has what holds where nothing is ``given``."""
    with st.grid(6, min_column_width=125, gap="xsmall"):
        for name in names:
            _show(group, name, setup, given)


def _show(group: Group, name: str, setup: Setup, given: Mapping[str, Any]) -> None:
    about, key = INPUTS[name], f"plan-{group}-{name}"
    known = _known(setup, name)
    now = None if known is None else known.value
    value = given.get(name, now)
    shown = _as_shown(about, value)
    if st.session_state.get(key) != shown or key not in st.session_state:
        st.session_state[key] = shown
    source = f"Now {_text(now)}, {known.read_from}." if known is not None else "Not known."
    common: dict[str, Any] = {
        "label": f":orange[**{about.label}**]" if name in given else about.label,
        "key": key,
        "help": plain(" ".join(part for part in (about.help, source) if part)) + f"  \n`{name}`",
        "placeholder": "not known",
        "on_change": calm("Changing an input of the plan", _moved),
        "args": (group, name),
    }
    if about.kind == "count":
        st.number_input(value=shown, step=1, **common)
    elif about.kind == "number":
        st.number_input(value=shown, step=1.0, format="%.4g", **common)
    else:
        options = _options(about, name, setup, shown)
        st.selectbox(
            options=options,
            index=None if shown is None else options.index(shown),
            accept_new_options=about.kind == "degree" or name == "instance_type",
            **common,
        )


def _known(setup: Setup, name: str) -> SourcedValue | None:
    """What holds; of a plan, what no equation takes at its library's default counts as unknown."""
    known = setup.known(name)
    taken_otherwise = name in ("precision", "prescaled_batch") and not setup.is_job
    return None if known is not None and known.is_default and taken_otherwise else known


def _moved(group: Group, name: str) -> None:
    """Somebody moved an input: an empty one takes back what was given."""
    choose(current().moved(group, name, _as_meant(INPUTS[name], st.session_state[f"plan-{group}-{name}"])))


def _as_shown(about: Input, value: Any) -> Any:
    """A value as its input shows it; None where it is unknown, or is none that the input could show."""
    if value is None:
        return None
    if about.kind == "count":
        number = whole_number(value)
        return number if number is not None and abs(number) < MOST else None
    if about.kind == "number":
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if about.kind == "switch":
        switch = yes_or_no(value)
        return None if switch is None else "on" if switch else "off"
    return str(value)


def _as_meant(about: Input, shown: Any) -> Any:
    if about.kind == "switch":
        return None if shown is None else shown == "on"
    return value_of(shown) if isinstance(shown, str) else shown


def _options(about: Input, name: str, setup: Setup, shown: str | None) -> list[str]:
    if about.kind == "switch":
        return ["on", "off"]
    if name == "instance_type":
        found = list(_TYPES)
    elif name == "microbatches":
        batch = setup.number("batch_size") or 0
        # What divides the batch; any other number may be typed, and is answered.
        parts = [part for part in range(1, min(batch, 1024) + 1) if not batch % part]
        found = [str(part) for part in parts or (1 << power for power in range(8))]
    elif about.kind == "degree":
        most = setup.gpus_per_node or 8 if name == "tensor_parallel_degree" else min(setup.world or 64, 1024)
        found = [str(1 << power) for power in range(most.bit_length())]
    else:
        found = list(about.words)
    return found if shown is None or shown in found else [*found, shown]


def _text(value: Any) -> str:
    return (
        ("off", "on")[value] if isinstance(value, bool) else f"{value:.4g}" if isinstance(value, float) else str(value)
    )


#: Types to choose from; any other may be typed.
_TYPES = (
    "ml.p5.48xlarge",
    "ml.p5en.48xlarge",
    "ml.p4de.24xlarge",
    "ml.p4d.24xlarge",
    "ml.p3dn.24xlarge",
    "ml.p3.16xlarge",
    "ml.g6e.48xlarge",
    "ml.g5.48xlarge",
    "ml.g5.12xlarge",
    "ml.g4dn.12xlarge",
)


_NAMES = {
    JOB: "a job",
    **{each.name: each.model for each in PRESETS},
    NOTHING: "nothing",
}


def show_source(account: data.AccountChoice, request: PlanRequest) -> str | None:
    """The choice in one row; gives the name of the job, where it is one and one is chosen."""
    st.session_state["plan-source"] = request.source
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Start from", width="content")
        st.segmented_control(
            "Start from",
            list(_NAMES),
            format_func=_NAMES.__getitem__,
            required=True,
            key="plan-source",
            label_visibility="collapsed",
            on_change=calm("Choosing the starting point", _moved_start),
        )
        if request.source != JOB:
            source = next((each.source for each in PRESETS if each.name == request.source), "")
            st.caption(source or "Enter the model's shape and the cluster; nothing is read from AWS.", width="stretch")
            return None
        # As wide as a name: on a narrow window it goes into a row of its own.
        choose_job(account, "plan-job", request.job, _take, width=480)
        if request.job is not None:
            show_link(JOB_PAGE, "Open the job", address.to(job=request.job))
    if request.job is None:
        show_newest(account, "plan-newest", _take)
    return request.job


def _take(name: str | None) -> None:
    """What was stated of one job does not hold of another."""
    choose(started(JOB, name))


def _moved_start() -> None:
    choose(started(st.session_state["plan-source"]))
