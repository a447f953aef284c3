"""The live part of the Logs page: what is read and how old it is, the lines as a table (a click shows the whole one), and the way
to older and newer ones.

Where a log has no lines to show: why, what would help, and the lines that findings kept of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

import pandas as pd
import streamlit as st

from monitor import words
from monitor.diagnose.bookmarks import Quote, marks, row_of, rows_before
from monitor.diagnose.words.report import quoted, when
from monitor.export.tables import as_csv
from monitor.fetch.logs.position import no_lines
from monitor.model import Job, LogSpan, Report
from monitor.review import Snapshot
from monitor.review import log_lines as lines
from monitor.review.log_lines import LogSnapshot, as_it_is, key_of
from monitor.show.grid import GridColumn, GridRow, show_grid
from monitor.show.logs import address as log_address
from monitor.show.logs.address import View, clear, context_of, node_names
from monitor.show.pace import DONE, EMPTY, IDLE, RUNNING, WAITING, Pace
from monitor.show.trouble import advice, calm, is_lasting, part, plain, show_error, show_stale
from monitor.words import DASH, zone_name

TABLE_PX = 560
# Beside a line that is shown whole, so that both are seen at once.
_BESIDE_PX = 400
_DETAIL_PX = 260
# A line that fits the detail as it is needs no box of its own.
_LONG_LINE = 2_000
_TONES = {"error": "error", "warning": "warning"}


def show_table(
    view: View, shown: pd.DataFrame, marks: Sequence[str], zone: tzinfo, nodes: int, chosen: int | None, tail: bool
) -> None:
    """The table; ``marks`` of each row, ``chosen`` the place of the line that is looked at.

    A ``tail`` is scrolled to its end and stays there while lines come, unless the reader scrolls up.
    """
    keys = _keys(shown)
    looked_at = None if chosen is None else keys[chosen]

    def opened(key: str) -> None:
        # What is looked at already is let go.
        place = None if key == looked_at or key not in keys else keys.index(key)
        log_address.move(event=None if place is None else key_of(shown, place))

    show_grid(
        f"logs-table-{zlib.crc32(repr((view.job, view.request, view.wanted)).encode()):08x}",
        _columns(shown, any(marks), nodes),
        _rows(shown, keys, marks, zone, nodes),
        alt=f"{len(shown):,} log lines by time. Arrow keys move, Enter shows a line whole.",
        height_px=TABLE_PX if chosen is None else _BESIDE_PX,
        opened=opened,
        current=looked_at,
        ends_in_view=tail and chosen is None,
        tight=True,
    )


def _keys(shown: pd.DataFrame) -> list[str]:
    """One a line; the same text at the same moment is told apart by its turn."""
    found = shown["time"].astype("int64").astype("str") + "-" + shown["digest"].astype("str")
    turn = found.groupby(found).cumcount()
    return [f"{key}-{again}" if again else key for key, again in zip(found, turn, strict=True)]


def _one_day(shown: pd.DataFrame) -> bool:
    return bool(shown["time"].iloc[-1] - shown["time"].iloc[0] < pd.Timedelta(hours=20))


def _columns(shown: pd.DataFrame, marked: bool, nodes: int) -> list[GridColumn]:
    """What a narrow window has no room for leaves; the line stays."""
    found = [GridColumn("time", "Time", "98px" if _one_day(shown) else "146px")]
    if nodes > 1:
        found.append(GridColumn("node", "Node", "70px", room_px=560))
    if shown["rank"].notna().any():
        found.append(GridColumn("rank", "Rank", "52px", "number", room_px=900))
    found += [
        GridColumn("level", "Level", "72px", room_px=760),
        GridColumn("line", "Line", "minmax(200px,1fr)", "code"),
    ]
    found.append(GridColumn("known", "Recognized", "180px", help="What Trainwatch read from the line", room_px=1000))
    if marked:
        found.append(
            GridColumn(
                "mark", "Found", "140px", help="Findings that quote the line, phases that start with it", room_px=860
            )
        )
    return found


def _rows(shown: pd.DataFrame, keys: Sequence[str], marks: Sequence[str], zone: tzinfo, nodes: int) -> list[GridRow]:
    form = "%H:%M:%S" if _one_day(shown) else "%d %b %H:%M:%S"
    times = shown["time"].dt.tz_convert(zone)
    when = times.dt.strftime(form) + "." + times.dt.strftime("%f").str[:3]
    columns = [when]
    if nodes > 1:
        columns.append(shown["node"])
    if shown["rank"].notna().any():
        columns.append(shown["rank"].astype("str").where(shown["rank"].notna(), ""))
    columns += [shown["level"], shown["line"], shown["known"]]
    if any(marks):
        columns.append(pd.Series(marks))
    tones = shown["level"].map(_TONES).fillna("")
    return [GridRow(key, cells, tone=tone) for key, tone, *cells in zip(keys, tones, *columns, strict=True)]


def show_line(row: pd.Series, mark: str, zone: tzinfo) -> None:
    """One line as it is, with all that is known of it."""
    at = row["time"].to_pydatetime()
    rank = "" if pd.isna(row["rank"]) else f"rank {row['rank']}"
    said = (precise(at, zone), row["node"], rank, row["level"], row["known"], mark)
    with st.container(border=True):
        st.markdown(plain(" · ".join(part for part in said if part)))
        whole = as_it_is(row["whole"])
        st.code(whole, language=None, wrap_lines=True, height=_DETAIL_PX if len(whole) > _LONG_LINE else "content")
        notes = [f"Stream {plain(row['stream'])}. This page's address leads back to this line."]
        if row["masked"]:
            notes.insert(0, "Anything that looks like a secret is masked as ***.")
        if len(whole) > _LONG_LINE:
            notes.insert(0, f"{len(whole):,} characters.")
        st.caption(" ".join(notes))


def precise(at: datetime, zone: tzinfo) -> str:
    """``25 Sep 2026, 14:05:03.120 CEST``."""
    return f"{precise_day(at, zone)} {zone_name(at, zone)}"


def precise_day(at: datetime, zone: tzinfo) -> str:
    """``25 Sep 2026, 14:05:03.120``."""
    return f"{at.astimezone(zone):%d %b %Y}, {precise_time(at, zone)}".lstrip("0")


def precise_time(at: datetime, zone: tzinfo) -> str:
    """``14:05:03.120``."""
    return f"{at.astimezone(zone):%H:%M:%S}.{at.microsecond // 1000:03d}"


def csv_text(shown: pd.DataFrame, marks: Sequence[str]) -> str:
    """The lines that are shown, whole, with their times in UTC."""
    frame = shown.rename(columns={"known": "recognized", "line": "_cell", "whole": "line"}).assign(mark=list(marks))
    return as_csv(frame[["time", "stream", "node", "rank", "level", "recognized", "mark", "line"]])


_ANCHOR, _OPENED = "logs-anchor", "logs-opened"
_MS = timedelta(milliseconds=1)


def show_log(snapshot: LogSnapshot, reviewed: Snapshot, zone: tzinfo, now: datetime) -> Pace:
    """Everything below the controls."""
    view, report = log_address.current(), reviewed.report
    known = part(report, "Places in the log", context_of, report)
    quotes = known.quotes if known else ()
    if snapshot.lineless or (report is not None and report.archive):
        if report is None and reviewed.error is not None:
            show_error(reviewed.error, "log-review")
        else:
            no_archived_lines(report)
            show_quotes(quotes, zone)
        return pace_of(snapshot, reviewed)
    if snapshot.table is None:
        if snapshot.error is None:
            skeleton(snapshot.progress)
        else:
            show_error(snapshot.error, "log", "Reading the log")
            show_quotes(quotes, zone)
        return pace_of(snapshot, reviewed)
    if snapshot.error is not None:
        show_stale(snapshot.error, "showing the lines read before", "Reading the log")
    part(report, "Log lines", _lines, view, snapshot, report, zone, now)
    if report is None and reviewed.error is None:
        st.caption(":material/hourglass_empty: Findings and phases are marked once the job is reviewed.")
    return pace_of(snapshot, reviewed)


def pace_of(snapshot: LogSnapshot, reviewed: Snapshot) -> Pace:
    """How soon there may be something new to show."""
    waits_for_review = reviewed.report is None and reviewed.error is None
    if snapshot.lineless or (reviewed.report is not None and reviewed.report.archive):
        return WAITING if waits_for_review else DONE
    if snapshot.table is None:
        return EMPTY if snapshot.error is None else DONE if is_lasting(snapshot.error) else IDLE
    if snapshot.working and snapshot.updated_at is None:
        return WAITING
    if snapshot.growing:
        return RUNNING
    return WAITING if waits_for_review else DONE


def finds_first_error(name: str, status: str | None, reviewed: Snapshot) -> bool:
    """Whether it is still to be found where a failed job is opened: at its first error, unless the address says where."""
    if st.session_state.get(_OPENED) == name:
        return False
    view, report = log_address.current(), reviewed.report
    if view.is_placed or status != "Failed":
        _opened(name)
        return False
    # Of the newest lines alone the first error may be one that only follows.
    if reviewed.error is None and (report is None or reviewed.working):
        return True
    _opened(name)
    about = context_of(report)
    causes = [quote for quote in (about.error, *about.quotes) if quote is not None and quote.at is not None]
    if first := next((quote for quote in causes if quote is about.error or quote.finding.severity == "critical"), None):
        log_address.move(at=first.at, quote=first.key)
    return False


def _opened(name: str) -> None:
    st.session_state[_OPENED] = name


def show_search(name: str, reviewed: Snapshot) -> None:
    """While the first error is looked for."""
    with st.container(horizontal=True, vertical_alignment="center"):
        doing = f" ({reviewed.progress})" if reviewed.progress else ""
        st.caption(f":material/hourglass_empty: Finding the first error{plain(doing)}…", width="stretch")
        st.button(
            "Show the end of the log",
            key="logs-not-first",
            on_click=calm("Opening the end of the log", _opened),
            args=(name,),
            type="tertiary",
        )
    st.skeleton(520)


def skeleton(progress: str) -> None:
    """While the first lines come."""
    st.caption(f":material/hourglass_empty: {plain(progress or 'Reading the log')}…")
    st.skeleton(520)


def _lines(view: View, snapshot: LogSnapshot, report: Report | None, zone: tzinfo, now: datetime) -> None:
    assert snapshot.table is not None
    table, about = snapshot.table, context_of(report)
    span = table.span
    if not len(table.frame):
        _nothing(view, snapshot, report, zone)
        return
    frame = lines.placed(table.frame, about.nodes)
    found = lines.matching(frame, view.wanted)
    target, is_it = _target(view, frame, report)
    is_tail = view.at is None and view.start is None
    shown = _tail(view, found) if is_tail else lines.after(found, target)
    _status(view, snapshot, len(found), zone, now)
    learned = report.run.logs.learned if report is not None else ()
    for shape in learned:
        st.caption(f"Learned from this log: {plain(shape)}")
    shown = lines.learned(shown, learned)
    if span.gap is not None:
        st.warning(advice(f"{span.gap.why} {span.gap.remedy}"), icon=":material/visibility_off:")
    if shown.empty:
        whole = not span.older and not _has_newer(view, span)
        said = "No line of this log matches." if whole else "No line in this stretch matches. Try older or newer lines."
        st.info(said, icon=":material/search_off:")
        _ways(view, snapshot, shown, found, [])
        return
    beside = marks(about, shown)
    chosen = int(shown.index.get_loc(target)) if is_it and target in shown.index else None
    several = max(len(node_names(report)), frame["node"].nunique())
    show_table(view, shown, beside, zone, several, chosen, is_tail)
    if chosen is not None:
        show_line(shown.iloc[chosen], beside[chosen], zone)
    _ways(view, snapshot, shown, found, beside)
    masked = int(shown["masked"].sum())
    notes = ["Click a line, or press Enter on it, to see all of it, with process tags and colors as written."]
    if masked:
        notes.append(f"{words.count(masked, 'line')} contained something that looks like a secret, masked as ***.")
    if len(shown) < len(found) and not is_tail:
        notes.append(f"The table shows at most {lines.MOST_SHOWN:,} lines.")
    st.caption(" ".join(notes))


def _target(view: View, frame: pd.DataFrame, report: Report | None) -> tuple[int | None, bool]:
    """(the index of the line that the address means, whether it is that very line and not the first one after it)."""
    if view.event is not None and (row := lines.row_of(frame, view.event)) is not None:
        return row, True
    about = context_of(report)
    quotes = (*about.quotes, about.error) if about.error else about.quotes
    quote = next((quote for quote in quotes if quote.key == view.quote), None)
    if quote is not None and (row := row_of(quote, frame)) is not None:
        return row, True
    if view.at is None:
        return None, False
    place = min(rows_before(frame["time"], view.at), len(frame) - 1)
    return int(frame.index[place]), view.quote is not None and frame["time"].iloc[place] == pd.Timestamp(view.at)


def _tail(view: View, found: pd.DataFrame) -> pd.DataFrame:
    """The last lines; what is there stays there."""
    about = (view.job, view.request, view.wanted)
    kept, first = st.session_state.get(_ANCHOR, (None, None))
    shown = lines.tail(found, first if kept == about else None)
    if len(shown):
        st.session_state[_ANCHOR] = (about, lines.key_of(shown, 0))
    return shown


def _status(view: View, snapshot: LogSnapshot, matching: int, zone: tzinfo, now: datetime) -> None:
    """What these lines are, and how they were read."""
    assert snapshot.table is not None
    frame = snapshot.table.frame
    first, last = frame["time"].iloc[0].to_pydatetime(), frame["time"].iloc[-1].to_pydatetime()
    one_day = first.astimezone(zone).date() == last.astimezone(zone).date()
    until = f"{precise_time(last, zone) if one_day else precise_day(last, zone)} {words.zone_name(last, zone)}"
    said = f"{words.count(len(frame), 'line')} from {precise_day(first, zone)} to {until}"
    if not view.wanted.is_open:
        said = f"{matching:,} of {said} match"
    calls = words.count(snapshot.calls, "call")
    running = snapshot.job is not None and snapshot.job.is_running
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(plain(f"{said}."), width="stretch")
        if snapshot.updated_at is not None:
            age = words.ago(snapshot.updated_at, now) if snapshot.growing else words.instant(snapshot.updated_at, zone)
            late = ", still reading" if snapshot.working else ""
            st.caption(plain(f"Read {age} with {calls}{late}"), width="content")
        if running:
            st.session_state["logs-follow"] = view.request.is_newest
            st.toggle(
                "Follow",
                key="logs-follow",
                help="Shows the newest lines as they arrive, a few seconds after they are written.",
                on_change=calm("Following the log", lambda: _follow(last)),
            )


def _follow(last: datetime) -> None:
    if st.session_state["logs-follow"]:
        log_address.move(at=None)
    else:
        log_address.move(end=last + _MS)


def _ways(view: View, snapshot: LogSnapshot, shown: pd.DataFrame, found: pd.DataFrame, beside: list[str]) -> None:
    """Older, newer, the end, and the lines as a file."""
    assert snapshot.table is not None
    span = snapshot.table.span
    all_before = shown.empty or shown.index[0] == found.index[0]
    all_after = shown.empty or shown.index[-1] == found.index[-1]
    older = _at(span.from_ms) if all_before else shown["time"].iloc[0].to_pydatetime() + _MS
    newer = _at(span.to_ms) if all_after else shown["time"].iloc[-1].to_pydatetime()
    if view.start is not None and newer <= view.start:
        newer = view.start + _MS
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Older",
            icon=":material/arrow_upward:",
            key="logs-older",
            disabled=all_before and not span.older,
            help="Lines before these",
            on_click=calm("Moving to older lines", lambda: log_address.move(end=older)),
        )
        st.button(
            "Newer",
            icon=":material/arrow_downward:",
            key="logs-newer",
            disabled=all_after and not _has_newer(view, span),
            help="Lines after these",
            on_click=calm("Moving to newer lines", lambda: log_address.move(start=newer)),
        )
        if not view.request.is_newest:
            st.button(
                "To the end",
                icon=":material/vertical_align_bottom:",
                key="logs-end",
                on_click=calm("Moving to the end of the log", lambda: log_address.move(at=None)),
            )
        if not view.wanted.is_open:
            st.button(
                "Clear filters",
                icon=":material/filter_alt_off:",
                key="logs-clear",
                on_click=calm("Clearing the filters", clear),
            )
        if len(shown):
            st.download_button(
                f"CSV, {words.count(len(shown), 'line')}",
                lambda: csv_text(shown, beside),
                file_name=f"{view.job}-log.csv",
                mime="text/csv",
                icon=":material/download:",
                on_click="ignore",
                key="logs-csv",
            )


def _has_newer(view: View, span: LogSpan) -> bool:
    return span.newer or view.end is not None


def _nothing(view: View, snapshot: LogSnapshot, report: Report | None, zone: tzinfo) -> None:
    """No line at all, or none here."""
    assert snapshot.table is not None
    assert snapshot.job is not None
    span = snapshot.table.span
    if span.gap is not None:
        st.warning(advice(f"{span.gap.why} {span.gap.remedy}"), icon=":material/visibility_off:")
    elif view.node:
        where = "in this log" if view.request.is_newest else "here"
        said = f"No lines from {view.node} {where}. Its processes may write to another node's stream: try all nodes."
        st.info(plain(said), icon=":material/search_off:")
    elif view.request.is_newest or not (span.older or span.newer):
        no_lines_at_all(snapshot.job)
        show_quotes(context_of(report).quotes, zone)
        return
    else:
        st.info("No node wrote any lines here. Try older or newer lines.", icon=":material/search_off:")
    _ways(view, snapshot, snapshot.table.frame, snapshot.table.frame, [])


def _at(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def no_archived_lines(report: Report | None) -> None:
    """An archive: what was read of a job, without its lines."""
    where = f"The archive {report.archive}" if report is not None and report.archive else "An archive"
    st.info(
        plain(
            f"{where} keeps what was recognized in a job's log and the lines that findings quote, but not the log itself."
        )
        + " To read the whole log, open the job in the account where it ran, while CloudWatch still has it.",
        title="The log is not in the archive",
        icon=":material/inventory_2:",
    )


def no_lines_at_all(job: Job) -> None:
    """A job of which CloudWatch has nothing."""
    if job.is_running:
        gap = no_lines(job)
        st.info(advice(gap.sentence), title="No log lines yet", icon=":material/hourglass_empty:")
    elif job.started is None:
        why = f"SageMaker says: {quoted(job.failure_reason)}" if job.failure_reason else "SageMaker gives no reason."
        st.info(
            plain(f"No container had started. {why}"),
            title="The job ended before it wrote a log line",
            icon=":material/do_not_disturb_on:",
        )
    else:
        st.warning(
            advice(
                "CloudWatch has no log lines for this job. The log group's retention may have deleted them, or the "
                "job's role may not be allowed to write logs. Check the retention of /aws/sagemaker/TrainingJobs, "
                "and that the role allows logs:CreateLogStream and logs:PutLogEvents."
            ),
            title="No log lines",
            icon=":material/delete_sweep:",
        )


def show_quotes(quotes: tuple[Quote, ...], zone: tzinfo) -> None:
    """The lines that findings keep, as they keep them."""
    if not quotes:
        return
    st.markdown("**Lines quoted by findings**")
    rows = [
        {
            "When": when(quote.fact, zone),
            "Node": quote.fact.node,
            "Finding": quote.finding.title,
            "What": quote.fact.label,
            "Line": quote.fact.line,
        }
        for quote in quotes
    ]
    st.dataframe(
        pd.DataFrame(rows).dropna(axis="columns", how="all"),
        hide_index=True,
        placeholder=DASH,
        alt=f"{len(rows)} lines quoted by findings",
        column_config={"Line": st.column_config.TextColumn(width="large")},
    )
