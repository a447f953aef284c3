"""``plan``: what another model-parallel configuration would do. Step time, GPU memory, problems, and what to hand to the SDK; for
a person at a terminal the answer first.

Bars and schedules are drawn with letters. For a ticket or a pull request, the same is Markdown. ``--set parameter=value`` and
``--change parameter=value`` give values by name, as JSON where they are that.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from monitor.choices import FRAMEWORK_NAMES
from monitor.cli.options import reviewer_of
from monitor.cli.output import as_json, deliver, draw, paper_for, progress
from monitor.diagnose.stakes import usd_per_hour_of_steps
from monitor.document import Code, Column, Figure, Node, Note, Section, Table
from monitor.errors import BadCall
from monitor.export.layout import finding_node
from monitor.export.markdown import as_markdown
from monitor.fetch.configuration import MP_PARAMETERS, library_of, word
from monitor.predict import parameters
from monitor.predict.distribution import is_default
from monitor.predict.layout import pipeline_of
from monitor.predict.outcome import Point, bubble_fraction, schedule_of
from monitor.predict.parameters import ALIASES_V1, V1, V2, whole_number
from monitor.predict.pipeline import Schedule
from monitor.predict.presets import PRESETS, Preset, preset
from monitor.predict.setup import Setup
from monitor.review.planning import Plan, advice_of, is_known, plan, plan_document, start_from, start_of
from monitor.show.plan.words import answer, changed_words, curve_words, script_lines, snippet, to_fit_rows
from monitor.words import DASH, count, percent, sentence

_LEVELS = {"error": "critical", "warning": "warning", "success": "healthy", "info": "strong"}
_REJECTED = "The library rejects this: fix the problems named above first."


def plan_tree(name: str, plan: Plan, usd_per_hour: float | None = None) -> Section:
    """All of it, the answer first; ``usd_per_hour`` is what the job costs."""
    said = answer(plan, usd_per_hour)
    parts = (_values, _memory, _to_fit, _curve, _schedules, _problems, _snippet)
    nodes: list[Node] = [Note(changed_words(plan))] if plan.asked else []
    nodes.append(Section("", (Note(sentence(said.outcome), _LEVELS[said.level]), Note(said.body))))
    nodes += (node for part in parts for node in part(plan))
    return Section(name, (*nodes, Section("", (Note(plan.method, "quiet"),))))


def rows(plan: Plan) -> list[tuple[str, str, str, str, bool]]:
    """(parameter, start, change, where the start was read, whether it changes): changed ones, then what was given."""
    changes = plan.changes
    out = []
    for name, value in changes.items():
        known = plan.start.known(name)
        start = "not known" if known is None else written(known.value)
        out.append((name, start, "not known" if value is None else written(value), plan.start.read_from(name), True))
    for name, known in sorted(plan.start.values.items()):
        if name not in changes and known.value is not None and not is_default(plan.start, name):
            out.append((name, written(known.value), "", known.read_from, False))
    return out


def written(value: Any) -> str:
    """A value for people."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:60]


def _values(plan: Plan) -> Iterator[Section]:
    found = rows(plan)
    if not found:
        return
    change = (Column("change", wraps=True),) if plan.asked else ()
    columns = (Column("parameter"), Column("start", wraps=True), *change, Column("read from", goes=1, wraps=True))
    cells = tuple((name, start, *((change,) if plan.asked else ()), place) for name, start, change, place, _ in found)
    nodes: list[Node] = [Table(columns, cells, tuple("strong" if row[-1] else "" for row in found))]
    if defaults := sum(1 for name in plan.start.values if is_default(plan.start, name)):
        library = FRAMEWORK_NAMES.get(plan.start.framework or "", "the library")
        nodes.append(Note(f"And {count(defaults, 'default')} of {library}; --format json has them.", "quiet"))
    yield Section("Start and change" if plan.asked else "Start", tuple(nodes))


def _memory(plan: Plan) -> Iterator[Section]:
    memory = plan.outcome.memory
    whole = {"start": memory.start_gib, **({"change": memory.expected_gib} if plan.asked else {})}
    totals = [(name, gib, "") for name, gib in whole.items() if gib is not None]
    if not memory.components and not totals:
        return
    shown = [(name, gib, "quiet" if totals else "") for name, gib in memory.components.items()] + totals
    shown += [("limit", memory.limit_gib, "strong")] if memory.limit_gib else []
    most = max(gib for _, gib, _ in shown) or 1.0
    cells = tuple((name, f"{gib:.1f}", str(gib / most)) for name, gib, _ in shown)
    found = Table(
        (Column(""), Column("", right=True), Column("", bar=True)), cells, tuple(level for *_, level in shown)
    )
    is_mixed = memory.components and memory.measured
    below = (Note("Components are predicted; the start was measured.", "quiet"),) if is_mixed else ()
    yield Section("GPU memory of the fullest GPU, GiB", (found, *below))


def _to_fit(plan: Plan) -> Iterator[Section]:
    if plan.to_fit:
        columns = (Column("change", wraps=True), Column("step time", True), Column("GPU memory", True), Column("fits"))
        yield Section("To make it fit, the cheapest first", (Table(columns, tuple(to_fit_rows(plan))),))


def _curve(plan: Plan) -> Iterator[Section]:
    points, nodes = plan.curve, list[Node]()
    if not points or plan.knob is None:
        return
    if len([point for point in points if point.step_time_relative or point.gpu_memory_gib]) > 1:
        most = max((point.step_time_relative or 0.0 for point in points), default=0.0) or 1.0
        columns = (
            Column("value"),
            Column("step time", right=True),
            Column("", goes=1, bar=True),
            Column("GPU memory", right=True),
            Column(""),
        )
        cells = []
        for point in points:
            time, gib = point.step_time_relative, point.gpu_memory_gib
            drawn = (DASH, "") if time is None else (f"{time:.3f}", str(time / most))
            cells.append((written(point.value), *drawn, DASH if gib is None else f"{gib:.1f} GiB", marks(plan, point)))
        nodes.append(Table(columns, tuple(cells)))
    yield Section(f"Along {plan.knob}", (*nodes, Note(curve_words(plan))))


def marks(plan: Plan, point: Point) -> str:
    """``today, change, advised``, as they apply to a point."""
    said = {
        "today": _is(plan.start, point),
        "change": point.parameter in plan.asked and _is(plan.change, point),
        "advised": plan.advised is not None and plan.advised.value == point.value,
    }
    return ", ".join(name for name, holds in said.items() if holds)


def _is(setup: Setup, point: Point) -> bool:
    if isinstance(point.value, bool):
        return setup.flag(point.parameter) == point.value
    return bool(setup.number(point.parameter) == point.value)


def _schedules(plan: Plan) -> Iterator[Section]:
    setups = [("start", plan.start)]
    if plan.asked and pipeline_of(plan.start) != pipeline_of(plan.change):
        setups.append(("change", plan.change))
    drawn = [
        Figure(_schedule_words(name, setup), letters=partial(_staged, setup))
        for name, setup in setups
        if lanes(setup, 1)
    ]
    if drawn:
        key = "Digits: forward passes of microbatches. Letters: backward passes (a for microbatch 1). ·: waiting."
        yield Section("The pipeline of a step", (*drawn, Note(f"{key} Equal stages.", "quiet")))


def _staged(setup: Setup, width: int) -> list[str]:
    return [f"  stage {number:<3} {lane}" for number, lane in enumerate(lanes(setup, width - 12), 1)]


def _schedule_words(name: str, setup: Setup) -> str:
    waits = bubble_fraction(setup)
    return name if waits is None else f"{name}: stages wait {percent(100 * waits)} of the time"


def _problems(plan: Plan) -> Iterator[Section]:
    if plan.problems:
        yield Section("Risks and unknowns", tuple(map(finding_node, plan.problems)))


def _snippet(plan: Plan) -> Iterator[Section]:
    if plan.distribution:
        rejected = (Note(_REJECTED, "critical"),) if plan.is_rejected else ()
        code = Code("\n".join(snippet(plan)), "python")
        yield Section("For the SageMaker SDK", (*rejected, code, *map(Note, script_lines(plan))))


#: Stages beyond these are not drawn.
MOST_STAGES = 16
WAITING = "·"
_FORWARDS, _BACKWARDS = "1234567890", "abcdefghij"


def lanes(setup: Setup, width: int) -> list[str]:
    """A line a stage, in time: a digit is the forward of a microbatch (its number's last), a letter its backward (a that of
    1). What does not fit ends in an ellipsis. Empty without a pipeline, or where it is not known or too large."""
    found = schedule_of(setup)
    if found is None or not 1 < found.stages <= MOST_STAGES:
        return []
    unit_s = min(work.end_s - work.start_s for work in found.work)
    return [_cut(lane, width) for lane in _lanes(found, unit_s, width)]


def _lanes(schedule: Schedule, unit_s: float, width: int) -> list[str]:
    cells = min(round(schedule.seconds / unit_s), width + 1)
    drawn = [[WAITING] * cells for _ in range(schedule.stages)]
    for work in schedule.work:
        first, last = round(work.start_s / unit_s), round(work.end_s / unit_s)
        if last > cells:
            continue
        sign = (_FORWARDS if work.kind == "forward" else _BACKWARDS)[work.microbatch % 10]
        drawn[work.stage][first:last] = [sign] * (last - first)
    return ["".join(lane) for lane in drawn]


def _cut(lane: str, width: int) -> str:
    return lane if len(lane) <= width else f"{lane[: width - 1]}…"


_LIST = "list"


def run(arguments: argparse.Namespace) -> int:
    if arguments.preset == _LIST:
        _list_presets(arguments)
        return 0
    name, found, usd = _planned(arguments)
    if arguments.format == "json":
        deliver(arguments, as_json(plan_document(found)))
    elif arguments.format == "markdown":
        deliver(arguments, as_markdown(plan_tree(name, found, usd)))
    else:
        paper = paper_for(arguments)
        draw(plan_tree(name, found, usd), paper)
        deliver(arguments, paper)
    return 0


def _planned(arguments: argparse.Namespace) -> tuple[str, Plan, float | None]:
    """(what the start is called, the plan, what an hour of the job's steps costs)."""
    given, is_given_readable = values_of("--set", arguments.set)
    change, is_change_readable = values_of("--change", arguments.change)
    unread = () if is_given_readable and is_change_readable else (MP_PARAMETERS,)
    if arguments.job is None and not arguments.logs and arguments.archive is None:
        chosen = _preset(arguments.preset)
        if chosen is None and not (arguments.set or arguments.change):
            raise BadCall(
                "There is nothing to start a plan from.",
                "Name a job, a --preset, or parameters: plan --set pipeline_parallel_degree=4 --set microbatches=8 "
                "--set active_microbatches=2 --change active_microbatches=4.",
            )
        # What is asked for also tells which library is meant.
        library = arguments.framework or start_from({**given, **change}).framework
        start = _unread(start_from(given, chosen, library, "--set"), unread)
        return _name(chosen, start), plan(start, change), None
    if arguments.preset is not None:
        raise BadCall(f"Both a job and --preset {arguments.preset} were given.", "Start from one of them.")
    reviewer = reviewer_of(arguments)
    with progress(arguments) as say:
        report = reviewer.review(datetime.now(UTC), say)
    start = _unread(start_of(report, given, "--set", arguments.framework), unread)
    found = plan(start, change, advice_of(report), ran=len(report.run.steps) > 0)
    return report.job.name, found, usd_per_hour_of_steps(report)


def _unread(start: Setup, names: tuple[str, ...]) -> Setup:
    return replace(start, unread=names) if names else start


def _preset(name: str | None) -> Preset | None:
    if name is None:
        return None
    if (found := preset(name)) is None:
        names = ", ".join(each.name for each in PRESETS)
        raise BadCall(f"There is no preset {name}.", f"Presets are {names}.")
    return found


def _name(chosen: Preset | None, start: Setup) -> str:
    if chosen is not None:
        return f"{chosen.name}: {chosen.title}"
    return f"A configuration of {FRAMEWORK_NAMES.get(start.framework or '', 'an unknown library')}"


def _list_presets(arguments: argparse.Namespace) -> None:
    if arguments.format == "json":
        presets = [
            {"name": each.name, "title": each.title, "values": dict(each.values), "source": each.source}
            for each in PRESETS
        ]
        deliver(arguments, as_json({"schema": 1, "presets": presets}))
        return
    paper = paper_for(arguments)
    columns = (Column("preset"), Column("what", wraps=True), Column("source", goes=1, wraps=True))
    found = Table(columns, tuple((each.name, each.title, each.source) for each in PRESETS))
    draw(Section("", (found,), plain=True), paper)
    deliver(arguments, paper)


# Numbers that need not be whole: 1.0 stays what it is.
_REAL = frozenset({"parameters_billion", "gpu_memory_gib", "gpu_memory_utilization", "step_time_s", "network_gbps"})
# Names less alike than this are no slip of the pen; of longer ones a part is shown.
_ALIKE, _LONGEST = 0.6, 60


def values_of(option: str, texts: Sequence[str]) -> tuple[dict[str, Any], bool]:
    """(values by the names that were written, whether an ``mp_parameters`` among them could be read).

    BadCall for what is no ``name=value``, for a name that nothing knows and for one that is given twice.
    """
    found: dict[str, Any] = {}
    written: dict[str, str] = {}
    readable = True
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        example = f"Write parameter=value, for example {option} active_microbatches=4."
        if not equals or not name:
            raise BadCall(f"{option} {text[:_LONGEST]} is not a parameter with a value.", example)
        if not value:
            raise BadCall(f"{option} {name[:_LONGEST]}= has no value.", f"{example} null means not known.")
        if parameters.plain_name(name) == MP_PARAMETERS:
            several = library_of(value)
            readable = readable and (bool(several) or value.strip(' "{}[]').lower() in {"", "null", "none"})
            for each in several:
                _once(option, each, each, written)
            found |= several
            continue
        if not is_known(name):
            raise BadCall(f"{option} {name[:_LONGEST]}: there is no such parameter.", _nearest(name))
        plain = parameters.plain_name(name)
        canonical = ALIASES_V1.get(plain, parameters.OTHER_NAMES.get(plain, plain))
        _once(option, canonical, name, written)
        found[name] = _value(canonical, value)
    return found, readable


def _once(option: str, canonical: str, name: str, written: dict[str, str]) -> None:
    if (other := written.get(canonical)) is not None:
        also = f" and as {name}" if other != name else ""
        raise BadCall(f"{option} {other} is given twice{also}.", "Give one value for it.")
    written[canonical] = name


def _value(name: str, text: str) -> Any:
    """JSON where it is that, also True and None; 4.0 is 4 where a number is whole."""
    value = word(text)
    schema = V1.get(name) or V2.get(name)
    whole = whole_number(value) if isinstance(value, float) else None
    if whole is not None and name not in _REAL and (schema is None or schema.kind != "float"):
        return whole
    return value


def _nearest(name: str) -> str:
    known = sorted(parameters.CANONICAL | parameters.OTHER_NAMES.keys() | ALIASES_V1.keys())
    near = difflib.get_close_matches(parameters.plain_name(name), known, 1, _ALIKE)
    if near:
        return f"The nearest is {near[0]}."
    return "Names are the library's, such as microbatches, or those of model and job, such as hidden_size, batch_size."
