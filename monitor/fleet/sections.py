"""A fleet's report in words: headline, and sections of a sentence, a table and a note; every way of showing it draws these. And
as the document of ``fleet --format json``, and as rows of figures for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from monitor.document import Column
from monitor.fleet.facts import DEFINITIONS, SOURCES, WASTE
from monitor.fleet.report import COVERS, AdviceOutcome, ByFailure, FleetReport, Queue, Rate, Recovery, Sum
from monitor.model.document import scalar
from monitor.words import DASH, count, duration, percent, phase, sentence, usd

#: Of an amount that nobody knows; never 0.
NOT_KNOWN = "not known"
_BLAMES = {"infrastructure": "infrastructure", "user": "job", "either": "either"}
_CAUSES = {"unknown": "cause not found", "internal-error": "internal error of SageMaker"}
# Rows of a table that may be long; the JSON and the CSV have all.
_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class FleetSection:
    """One question of the report."""

    title: str
    said: str
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    numbered: bool = False
    """Each row begins with its number, and ends with a sentence."""
    figure: str = ""
    """The chart that goes with it, where charts are drawn: ``uses``, ``owners`` or ``weeks``."""


def headline(report: FleetReport) -> tuple[str, ...]:
    """The answer, in three sentences: how much, what of it trained, what was wasted."""
    total, before = report.total, report.before
    of = f" of {report.only}" if report.only else ""
    if not report.coverage.jobs:
        days = "" if report.days is None else f" The archive's jobs ran from {report.days[0]} to {report.days[1]}."
        return (f"No archived job{of} ran in {report.window.name}.{days}",)
    money = f", {_least(total)}{usd(total.usd)}" if total.usd else ""
    than = f" (in the time before it {_hours_words(before)})" if before.instance_hours else ""
    said = [f"{_hours_words(total)}{money} in {count(report.coverage.jobs, 'job')}{of}{than}."]
    if report.goodput is not None:
        low, high = (100 * each for each in report.goodput)
        span = percent(low) if high - low < 0.5 else f"{percent(low)}, at most {percent(high)} (the rest is unknown)"
        said.append(f"Goodput {span}{_change_words(report)}.")
    waste = report.waste
    share = percent(100 * _ratio(waste, total)) if total.instance_hours else DASH
    worst = max((each for each in report.by_use if each.use in WASTE), key=lambda each: each.sum.instance_hours)
    most = f", most of it {worst.use}" if worst.sum.instance_hours else ""
    cost = f"{_least(waste)}{usd(waste.usd)} and " if waste.usd or (total.usd and not waste.instance_hours) else ""
    said.append(f"Wasted: {cost}{_hours_words(waste)} ({share}){most}.")
    return tuple(said)


def sections(report: FleetReport) -> tuple[FleetSection, ...]:
    """All of the report behind its headline, the most useful first."""
    made = (
        _uses(report),
        _owners(report),
        _to_change(report),
        _causes(report),
        _failures(report),
        _queues(report),
        _spot(report),
        _findings(report),
        _applied_advice(report),
        _coverage(report),
        _definitions(),
    )
    return tuple(section for section in made if section is not None)


def hours(value: float) -> str:
    """``1,240``, ``12.4``, ``0.21``."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value else "0"


def cause_words(cause: str) -> str:
    """A first cause for people."""
    return _CAUSES.get(cause, cause)


def _uses(report: FleetReport) -> FleetSection:
    rows = tuple(
        (each.use, gpu_hours(each.sum), _share(each.share), _usd(each.sum, report), _share(each.mean_job_share),
         f"{each.jobs:,}")
        for each in report.by_use
    )  # fmt: skip
    columns = (
        Column("USE"), Column("GPU-H", True), Column("SHARE", True), Column("COST", True),
        Column("MEAN JOB", True, 1), Column("JOBS", True, 2),
    )  # fmt: skip
    total = report.total
    whole = ("all", gpu_hours(total), "100 %", _usd(total, report), "", f"{report.coverage.jobs:,}")
    note = "SHARE is weighted by GPU-hours; MEAN JOB is the mean of the jobs' own shares, a small job as much as a large one."
    return FleetSection("Where the GPU-hours went", "", columns, (*rows, whole), note, figure="uses")


def _owners(report: FleetReport) -> FleetSection | None:
    if not report.by_owner:
        return None
    rows = tuple(
        (each.owner, f"{each.jobs:,}", gpu_hours(each.sum), _usd(each.sum, report), _usd(each.waste, report),
         _share(_ratio(each.waste, each.sum)), _share(_ratio(each.unknown, each.sum)), _share(each.goodput))
        for each in report.by_owner[:_MOST_ROWS]
    )  # fmt: skip
    columns = (
        Column(report.by.upper()), Column("JOBS", True, 3), Column("GPU-H", True), Column("COST", True, 1),
        Column("WASTED", True), Column("OF IT", True), Column("UNKNOWN", True, 2), Column("GOODPUT", True),
    )  # fmt: skip
    untagged = report.coverage.without_owner
    note = f"{count(untagged, 'job')} without a {report.by}: {'its' if untagged == 1 else 'their'} hours are the line untagged."
    more = _more(report.by_owner)
    return FleetSection(f"By {report.by}", more, columns, rows, note if untagged else "", figure="owners")


def _to_change(report: FleetReport) -> FleetSection | None:
    if not report.to_change:
        return None
    rows = tuple(
        (f"{place}. {each.job}{_more_runs(each.runs - 1)}",
         _usd(each.saving, report), gpu_hours(each.saving), each.owner, _step(each.title, each.next_step))
        for place, each in enumerate(report.to_change, start=1)
    )  # fmt: skip
    columns = (
        Column("JOB"), Column("COULD SAVE", True), Column("GPU-H", True, 3), Column(report.by.upper(), goes=2),
        Column("WHAT TO DO", goes=1, wraps=True),
    )  # fmt: skip
    note = "COULD SAVE is what a job's findings say together, overlaps counted once, for its time in this window. A prediction."
    return FleetSection("Change these first", "", columns, rows, note, numbered=True)


def _causes(report: FleetReport) -> FleetSection | None:
    if not report.by_cause:
        return None
    rows = tuple(
        (phase(each.bucket), each.use, gpu_hours(each.sum), _usd(each.sum, report), f"{each.jobs:,}")
        for each in report.by_cause
    )
    columns = (Column("CAUSE"), Column("USE"), Column("GPU-H", True), Column("COST", True), Column("JOBS", True, 1))
    return FleetSection("By cause", "The buckets of the jobs' time; they add up to the bill.", columns, rows)


def _failures(report: FleetReport) -> FleetSection:
    said = [*_rates(report), *_recovery(report.recovery)]
    rows = tuple(
        (cause_words(each.cause), _BLAMES[each.blame], f"{each.jobs:,}", _failed(gpu_hours(each.failed), each),
         _failed(_usd(each.failed, report), each))
        for each in report.failures
    )  # fmt: skip
    columns = (
        Column("FIRST CAUSE"), Column("OF THE"), Column("JOBS", True), Column("GPU-H FAILED", True), Column("COST", True),
    )  # fmt: skip
    if not rows:
        return FleetSection("Failures", "No job failed." if not report.all_failures.events else " ".join(said))
    note = "GPU-H FAILED is the time after the last checkpoint that was seen"
    silent = any(each.unknown.instance_hours for each in report.failures)
    note += "; of a job that made steps and was never seen to save it is not known." if silent else "."
    return FleetSection("Failures", " ".join(said), columns, rows, note)


def _failed(known: str, each: ByFailure) -> str:
    """Of jobs that made steps without a word of saving, nobody knows what they kept."""
    return known if not each.unknown.instance_hours else at_least(known) if each.failed.instance_hours else NOT_KNOWN


def _rates(report: FleetReport) -> Iterator[str]:
    every, helpless = report.all_failures, report.infrastructure_failures
    what = count(every.events, "failure or interruption", "failures and interruptions")
    yield f"{what} of running jobs in {hours(every.hours)} node-hours: {_between(every)}."
    if helpless.events:
        either = f", {report.either:,} of them perhaps the job's own" if report.either else ""
        yield f"Of the infrastructure {helpless.events:,}{either}: {_between(helpless)}."


def _between(rate: Rate) -> str:
    between, interval = rate.between_h, rate.between_h_interval
    if between is None or interval is None or rate.per_1000_days is None:
        return "too little to say how often"
    high = "" if interval[1] is None else f" to {hours(interval[1])}"
    return (
        f"MTBF {hours(between)} node-hours (95 %: {hours(interval[0])}{high}), "
        f"{hours(rate.per_1000_days)} in 1,000 node-days"
    )


def _recovery(found: Recovery) -> Iterator[str]:
    if found.known:
        spread = f", median {duration(found.median_s)}, p90 {duration(found.p90_s)}" if found.known > 1 else ""
        yield f"MTTR, to the next step, {duration(found.mean_s)} (mean of {found.known:,}{spread})."
    if found.open:
        yield f"{found.open:,} had no later run of that name that trained."


def _queues(report: FleetReport) -> FleetSection | None:
    if not report.queues:
        return None
    refused = sum(each.refused for each in report.queues)
    said = f"{count(refused, 'job')} never got the instances." if refused else "Every job got its instances."
    rows = tuple(_queue(each) for each in report.queues[:_MOST_ROWS])
    columns = (
        Column("INSTANCE TYPE"), Column("JOBS", True), Column("WAIT, MEDIAN", True), Column("P90", True),
        Column("GPU-H WAITED", True, 1), Column("REFUSED", True, 2),
    )  # fmt: skip
    note = "From a job's creation until billing began; nothing of it is billed."
    return FleetSection("Queue and capacity", said, columns, rows, note)


def _queue(each: Queue) -> tuple[str, ...]:
    waits = (duration(each.median_s), duration(each.p90_s))
    return each.instance_type, f"{each.jobs:,}", *waits, hours(each.gpu_hours), f"{each.refused:,}"


def _spot(report: FleetReport) -> FleetSection | None:
    if not report.spot_jobs:
        return None
    on = count(report.spot_jobs, "spot job")
    return FleetSection("Spot", f"{on} cost {usd(report.spot_usd)} less than on demand.")


def _findings(report: FleetReport) -> FleetSection | None:
    if not report.by_finding:
        return None
    rows = tuple(
        (each.id, f"{each.jobs:,}", gpu_hours(each.saving), _usd(each.saving, report))
        for each in report.by_finding[:_MOST_ROWS]
    )
    columns = (Column("FINDING"), Column("JOBS", True), Column("GPU-H", True), Column("COULD SAVE", True))
    note = "Each finding alone: two may mean the same hours, so these do not add up."
    return FleetSection("Waste by finding", _more(report.by_finding), columns, rows, note)


def _applied_advice(report: FleetReport) -> FleetSection:
    title = "What became of earlier advice"
    if not report.followed:
        return FleetSection(title, "No run that ended in this window has followed advice of an earlier one.")
    rows = tuple(_advice(each) for each in report.followed[:_MOST_ROWS])
    columns = (
        Column("RUN"), Column("CHANGE"), Column("PREDICTED", True), Column("MEASURED", True), Column("CAME", wraps=True),
    )  # fmt: skip
    tested = [each for each in report.followed if each.came in {"held", "missed"}]
    held = sum(each.came == "held" for each in tested)
    said = (
        f"{held} of {count(len(tested), 'prediction')} that could be tested held."
        if tested
        else "None could be tested."
    )
    return FleetSection(
        title, said, columns, rows, "Change of the step time; compare BEFORE AFTER reads the steps themselves."
    )


def _advice(each: AdviceOutcome) -> tuple[str, ...]:
    measured = DASH if each.measured_pct is None else _range(each.measured_pct)
    change = f"{each.parameter} {each.from_value or DASH} → {each.to_value}"
    return each.after, change, _range(each.predicted_pct), measured, each.came or each.why


def _range(change: tuple[float, float, float]) -> str:
    low, mid, high = change
    return f"{mid:+.0f} % ({low:+.0f} to {high:+.0f})"


def _coverage(report: FleetReport) -> FleetSection:
    found = report.coverage
    told = [
        _known_share(found.judged_share),
        f"{count(found.running, 'job')} still ran when archived; later hours are not in here." if found.running else "",
        f"{count(found.from_logs, 'job')} known from {'its log' if found.from_logs == 1 else 'their logs'} alone: counted are "
        "the hours from the first line to the last on the nodes that wrote, which is less than what was billed."
        if found.from_logs
        else "",
        f"{count(found.without_price, 'job')} without a known price: what {_they(found.without_price)} cost is in no sum of "
        "money, which is then marked ≥."
        if found.without_price
        else "",
        f"{count(found.without_gpus, 'job')} with an unknown number of GPUs, in no GPU-hours."
        if found.without_gpus
        else "",
        f"{count(found.without_time, 'job')} without billed time." if found.without_time else "",
        f"{count(found.unread, 'job')} in the archive could not be read." if found.unread else "",
    ]
    return FleetSection("Coverage", " ".join(filter(None, told)))


def _definitions() -> FleetSection:
    rows = tuple((use, f"{text}.") for use, text in DEFINITIONS.items())
    sources = tuple((term, f"{text}.") for term, text in SOURCES.items())
    return FleetSection("Definitions", "", (Column("TERM"), Column("MEANS", wraps=True)), (*rows, *sources))


def _known_share(share: float | None) -> str:
    if share is None:
        return ""
    return (
        f"Of {percent(100 - 100 * share)} of the hours the use is not known."
        if share < 1
        else "The use of all hours is known."
    )


def _they(number: int) -> str:
    return "it" if number == 1 else "they"


def _ratio(part: Sum, whole: Sum) -> float:
    if whole.gpu_hours:
        return part.gpu_hours / whole.gpu_hours
    return part.instance_hours / whole.instance_hours if whole.instance_hours else 0.0


def _share(value: float | None) -> str:
    return percent(None if value is None else 100 * value)


def gpu_hours(one: Sum) -> str:
    """Those of a sum, as far as they are known."""
    return amount(hours(one.gpu_hours), one.gpu_hours, one.uncounted_instance_hours)


def amount(known: str, value: float, missing: float) -> str:
    """What is known of an amount of which something is ``missing``: at least that, or nothing."""
    return known if not missing else at_least(known) if value else NOT_KNOWN


def at_least(known: str) -> str:
    """``≥ $12``, of which more is not known."""
    return known if known.startswith("≥") else f"≥ {known}"


def _usd(one: Sum, report: FleetReport) -> str:
    return amount(usd(one.usd), one.usd, one.unpriced_instance_hours) if report.total.usd else DASH


def _least(one: Sum) -> str:
    return "at least " if one.unpriced_instance_hours else ""


def _hours_words(one: Sum) -> str:
    if not one.gpu_hours:
        return f"{hours(one.instance_hours)} instance-hours"
    return f"{'at least ' if one.uncounted_instance_hours else ''}{hours(one.gpu_hours)} GPU-hours"


def _change_words(report: FleetReport) -> str:
    change = report.goodput_change
    if change is None:
        return ""
    span = f"{change.low:+.0f} to {change.high:+.0f}"
    if change.verdict == "cannot tell":
        return f"; whether it changed cannot be told ({change.points:+.0f} points, {span})"
    return f", {change.verdict} {abs(change.points):.0f} points ({span})"


def _step(title: str, next_step: str) -> str:
    """A finding and the first sentence of what to do: the rest is on the job's own page."""
    head, dot, _ = next_step.partition(". ")
    return f"{sentence(title)} {head}{dot.strip()}".strip()


def _more_runs(number: int) -> str:
    return f" (and {count(number, 'more run')})" if number else ""


def _more(rows: Sequence[object]) -> str:
    return f"The first {_MOST_ROWS} of {len(rows):,}." if len(rows) > _MOST_ROWS else ""


SCHEMA = 1
#: The columns of the CSV: a row a figure.
COLUMNS = ("table", "row", "measure", "value")


def fleet_document(report: FleetReport) -> dict[str, Any]:
    """Plain JSON types; unknown is null, instants are ISO 8601 UTC, shares are 0 to 1."""
    whole = {name: _plain(value) for name, value in _fields(report).items()}
    whole["window"] = {"name": report.window.name, **whole["window"]}
    whole["weeks"] = [
        {"week": week, "by_use": [{"use": use, **_plain(one)} for use, one in sums]} for week, sums in report.weeks
    ]
    for row, owner in zip(whole["by_owner"], report.by_owner, strict=True):
        row["by_use"] = [{"use": use, **_plain(one)} for use, one in owner.by_use]
    for row, failure in zip(whole["failures"], report.failures, strict=True):
        if failure.unknown.instance_hours and not failure.failed.instance_hours:
            row["failed"] = None
    whole["days"] = report.days and {"first": _plain(report.days[0]), "last": _plain(report.days[1])}
    if report.goodput is not None:
        whole["goodput"] = {"least": report.goodput[0], "most": report.goodput[1]}
    return {
        "schema": SCHEMA,
        "headline": " ".join(headline(report)),
        **whole,
        "definitions": dict(DEFINITIONS) | dict(SOURCES),
    }


def csv_rows(report: FleetReport) -> Iterator[tuple[str, str, str, Any]]:
    """(table, row, measure, value) of every figure: totals, then each table by what names its rows."""
    document = fleet_document(report)
    for name in ("total", "before", "waste", "goodput", "goodput_change", "all_failures", "recovery", "coverage"):
        for measure, value in (document[name] or {}).items():
            yield name, "all", measure, value
    yield "spot", "all", "usd", report.spot_usd
    yield "spot", "all", "jobs", report.spot_jobs
    for name, key in _NAMED.items():
        for row in document[name]:
            yield from _figures(name, "/".join(str(row[each]) for each in key), row, key)
    for week in document["weeks"]:
        for row in week["by_use"]:
            yield from _figures("weeks", f"{week['week']}/{row['use']}", row, ("use",))


_NAMED: Mapping[str, tuple[str, ...]] = {
    "by_use": ("use",),
    "by_cause": ("bucket", "use"),
    "by_owner": ("owner",),
    "by_finding": ("id",),
    "failures": ("cause",),
    "queues": ("instance_type",),
    "to_change": ("job", "finding"),
    "followed": ("after", "parameter"),
}


def _figures(
    table: str, row: str, told: Mapping[str, Any], key: tuple[str, ...]
) -> Iterator[tuple[str, str, str, Any]]:
    for measure, value in told.items():
        if measure in key or (table == "by_owner" and measure == "by_use"):
            continue
        if isinstance(value, Mapping):
            yield from ((table, row, f"{measure}_{name}", inner) for name, inner in value.items())
        elif isinstance(value, list):
            yield from ((table, row, f"{measure}_{end}", one) for end, one in zip(_ENDS, value, strict=False))
        else:
            yield table, row, measure, value


_ENDS = ("low", "mid", "high")


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        interval = value.between_h_interval
        return {
            "node_hours": value.hours,
            "failures": value.events,
            "hours_between": value.between_h,
            "hours_between_low": interval[0] if interval else None,
            "hours_between_high": interval[1] if interval else None,
            "interval": COVERS,
            "per_1000_node_days": value.per_1000_days,
        }
    if isinstance(value, Sum):
        # Of what nobody knows a part is known at best: 0 is none.
        usd = None if value.unpriced_instance_hours and not value.usd else value.usd
        gpu_hours = None if value.uncounted_instance_hours and not value.gpu_hours else value.gpu_hours
        return _fields(value) | {"gpu_hours": gpu_hours, "usd": usd}
    if is_dataclass(value):
        return {name: _plain(item) for name, item in _fields(value).items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return scalar(value)


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
