"""Reports as Markdown: of a job, for a ticket or a pull request, and of a fleet. What AWS, a log or a user wrote stands there as
it is, and nothing of it is markup.

Whatever is put into a document and is no ``Markup`` is made it here. Words with a sign of markup stand as code, the rest as
it reads: in code nothing is a tag, a link, an image, a mention or a formula, whoever shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from monitor.diagnose.headline import about, outlook
from monitor.diagnose.rights import of_report
from monitor.diagnose.verdict import gain_words, judge
from monitor.diagnose.words.report import NODE_TITLES, cost_words, hidden_words, muted_words, node_cells, useful_words
from monitor.diagnose.words.step_readings import reading_words
from monitor.faults import attempt
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline, sections
from monitor.inert import inert
from monitor.model import Report
from monitor.model.host_metrics import OF_WORK
from monitor.words import capitalised, duration, from_cache, instant, percent, phase, sentence, usd

# Of a word: brackets, back-ticks, bars, tildes, backslashes, numbers of issues, mentions and mail; tags, emphasis,
# entities, addresses, formulas (prices are none), icons, and what templates take for theirs.
_MARKED = re.compile(
    r"[\[\]`|~\\#@]|<[A-Za-z/!?]|\*.|.\*|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&#?\w+;|://|www\.|(?:mailto|xmpp):|\$(?!\d)|\$.*\$"
    r"|:[\w+-]*[A-Za-z+][\w+-]*:|\{[{%#]|\bgh-\d",
    re.IGNORECASE,
)
# Of a paragraph's first word: a list, a quotation, a line that underlines or parts.
_OPENING = re.compile(r"[-+*=>]+|>.*|\d{1,9}[.)]")
_STOPS = ".,;:"


class Markup(str):
    """Markdown that stands as it is."""

    __slots__ = ()


def as_text(text: str) -> Markup:
    """Text on one line."""
    out: list[str] = []
    code: list[str] = []
    for place, word in enumerate(text.split()):
        if _MARKED.search(word) or (place == 0 and _OPENING.fullmatch(word)):
            code.append(word)
            continue
        out += [_spans(code), word] if code else [word]
        code = []
    return Markup(" ".join([*out, _spans(code)] if code else out))


def as_code(text: str) -> Markup:
    """One line of text as code, between more back-ticks than stand side by side in it."""
    text = " ".join(text.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if len(fence) > 1 else ""
    return Markup(f"{fence}{space}{text}{space}{fence}" if text else "")


def joined(*parts: str) -> Markup:
    """The parts that are not empty, one behind the other."""
    return Markup(" ".join(_made(part) for part in parts if part))


def bold(text: str) -> Markup:
    return Markup(f"**{_made(text)}**")


def heading(level: int, *parts: str) -> Markup:
    return Markup(f"{'#' * level} {joined(*parts)}")


def item(*parts: str) -> Markup:
    """Of a list."""
    return Markup(f"- {joined(*parts)}")


def broken(*parts: str) -> Markup:
    """A line that the next one does not flow into."""
    return Markup(f"{joined(*parts)}  ")


def block(code: str, language: str = "") -> Markup:
    """Lines of code, between more back-ticks than stand side by side in them."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return Markup(f"{fence}{language}\n{code}\n{fence}")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Markup]:
    def line(cells: Sequence[str]) -> Markup:
        return Markup("| " + " | ".join(_made(cell).replace("|", "\\|") for cell in cells) + " |")

    return [line(titles), Markup(f"|{' --- |' * len(titles)}"), *(line(row) for row in rows)]


def document(lines: Iterable[str]) -> str:
    """The whole text, a line or a block each."""
    return inert("".join(f"{_made(line)}\n" for line in lines))


def _made(text: str) -> Markup:
    return text if isinstance(text, Markup) else as_text(text)


def _spans(words: Sequence[str]) -> str:
    """Words side by side as one piece of code; a full stop behind it is the sentence's."""
    text = " ".join(words)
    plain = text.rstrip(_STOPS)
    return f"{as_code(plain)}{text[len(plain) :]}" if plain else as_code(text)


def markdown(report: Report) -> str:
    """The whole report; a part that fails says so in its place."""
    parts: tuple[tuple[str, Callable[[Report], list[str]]], ...] = (
        ("Header", _header),
        ("Missing rights", _rights),
        ("Verdict", _verdict),
        ("Findings", _findings),
        ("Where the time went", _phases),
        ("Nodes", _nodes),
        ("What could not be read", _gaps),
        ("Coverage", _coverage),
    )
    lines = [heading(1, as_code(report.job.name)), ""]
    for part, made in parts:
        lines += attempt(report, part, partial(made, report), lambda said: [as_code(said), ""])
    return document(lines)


def _header(report: Report) -> list[str]:
    clauses = outlook(report)
    return [
        about(report),
        "",
        *(broken(capitalised(clause)) for clause in clauses),
        *([""] if clauses else []),
    ]


def _rights(report: Report) -> list[str]:
    lines: list[str] = []
    for right in of_report(report):
        lines += [joined(bold(sentence(right.title)), right.lost, as_code(right.why), right.remedy), ""]
        lines += [block(right.statement, "json"), ""]
    return lines


def _verdict(report: Report) -> list[str]:
    verdict = judge(report)
    failed = [as_code(verdict.detail), ""] if verdict.unexplained else []
    return [bold(sentence(verdict.headline)), "", *failed]


def _findings(report: Report) -> list[str]:
    lines: list[str] = []
    for finding in report.findings:
        lines += [heading(2, f"{finding.severity}: {finding.title}"), "", finding.summary, ""]
        if finding.id in report.muted:
            lines += [as_code(muted_words(report.muted[finding.id])), ""]
        if finding.recommendation:
            advice = finding.recommendation
            lines += [f"Next: {advice.text}", "", *(part for step in advice.further for part in (step, ""))]
            lines += [block(advice.code), ""] if advice.code else []
        if finding.prediction:
            lines += [f"Predicted: {gain_words(finding.prediction)}", ""]
        quoted = [evidence.line for evidence in finding.evidence if evidence.line]
        lines += [*(item(as_code(line)) for line in quoted), *([""] if quoted else [])]
        if finding.not_checked:
            lines += [f"Not checked: {'; '.join(finding.not_checked)}.", ""]
    return lines


def _phases(report: Report) -> list[str]:
    if not report.buckets:
        return []
    rows = [(phase(bucket.name), duration(bucket.seconds), usd(bucket.cost_usd)) for bucket in report.buckets]
    found = table(("phase", "time", "cost"), rows)
    return [heading(2, "Where the time went"), "", *found, "", *useful_words(report), *cost_words(report), ""]


def _nodes(report: Report) -> list[str]:
    if not report.nodes:
        return []
    names = ("node", *OF_WORK, "steps")
    cells = [node_cells(stats, write=percent) for stats in report.nodes]
    titles = [NODE_TITLES[name] for name in names]
    return [heading(2, "Nodes"), "", *table(titles, [[each[name] for name in names] for each in cells]), ""]


def _gaps(report: Report) -> list[str]:
    """What no line above says already: rights and prices stand there, and findings about what cannot be seen."""
    said = {finding.id for finding in report.findings}
    gaps = [
        gap for gap in report.gaps if not gap.action and gap.what != "price" and f"{gap.what}-unavailable" not in said
    ]
    lines = [item(as_code(gap.said)) for gap in gaps]
    return [heading(2, "What could not be read"), "", *lines, ""] if lines else []


def _coverage(report: Report) -> list[str]:
    lines: list[str] = []
    lines += [part for line in reading_words(report.run.logs.readings) for part in (as_code(line), "")]
    if said := hidden_words(report.job):
        lines += [as_code(said), ""]
    reviewed = f"Reviewed {instant(report.reviewed_at)}"
    if report.archive is not None:
        return [*lines, joined(f"{reviewed}, from the archive", Markup(f"{as_code(report.archive)}."))]
    return [*lines, f"{reviewed}{'' if report.kept_at is None else f', {from_cache(report.kept_at)}'}."]


def fleet_markdown(report: FleetReport) -> str:
    lines = [heading(1, f"GPU-hours, {report.window.name}"), ""]
    lines += [bold(sentence) for sentence in headline(report)[:1]]
    lines += [as_text(" ".join(headline(report)[1:])), ""]
    for section in sections(report):
        lines += [heading(2, section.title), ""]
        if section.said:
            lines += [as_text(section.said), ""]
        if section.rows:
            lines += [*table([column.title.lower() for column in section.columns], section.rows), ""]
        if section.note:
            lines += [as_text(section.note), ""]
    lines += [as_text(f"From the archive {report.archive}, made {report.made_at:%Y-%m-%d %H:%M} UTC.")]
    return document(lines)
