"""A fleet's report as one HTML page with its charts: no script, nothing loaded, light, dark and on paper."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from monitor import __version__, words
from monitor.charts.fleet import owners_bars, owners_frame, weeks_bars, weeks_frame
from monitor.export.svg import svg
from monitor.fleet.report import FleetReport, Sum
from monitor.fleet.sections import headline, sections
from monitor.fleet.uses import WASTE

_HERE = Path(__file__).parent
# More bars than that are read in the table.
_MOST_OWNERS = 15


def fleet_html(report: FleetReport) -> str:
    page = _template().render(
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        name=report.window.name,
        archive=f"From the archive {report.archive}",
        headline=headline(report),
        sections=sections(report),
        pictures=_pictures(report),
        made=words.instant(report.made_at),
        version=__version__,
    )
    return f"{page}\n"


def _pictures(report: FleetReport) -> dict[str, str]:
    money = bool(report.total.usd)
    title = "USD" if money else "GPU-hours"

    def amount(one: Sum) -> float:
        return one.usd if money else one.gpu_hours

    found = {"": "", "uses": "", "owners": ""}
    shown = [each for each in report.by_owner if each.waste.instance_hours][:_MOST_OWNERS]
    rows = [(each.owner, use, amount(one), one.gpu_hours) for each in shown for use, one in each.by_use if use in WASTE]
    if any(row[2] for row in rows):
        chart = owners_bars(owners_frame(rows), [each.owner for each in shown], f"wasted, {title}")
        found["owners"] = svg(chart, "owners")
    weeks = [(week, use, amount(one)) for week, sums in report.weeks for use, one in sums]
    if len(report.weeks) > 1 and any(row[2] for row in weeks):
        found["uses"] = svg(weeks_bars(weeks_frame(weeks), f"{title} a week"), "weeks")
    return found


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("fleet.html.j2")
