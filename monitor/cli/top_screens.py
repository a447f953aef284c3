"""How ``top`` looks and which keys it takes: the list of jobs, and one job with its report and its log below.

It draws what others make: rows and reports of ``Watch``, the text of ``report``, lines of ``LogWatch``.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import DataTable, Footer, RichLog, Static

from monitor.cli.output import VERDICT_STYLES, Paper
from monitor.cli.report import print_report
from monitor.cli.top import Board, Seen, TopRow, short
from monitor.errors import BadCall
from monitor.inert import inert
from monitor.model import LogRequest, Report
from monitor.review import Watch
from monitor.review.log_lines import LogWatch
from monitor.review.muted import mutes, with_mutes
from monitor.words import count

_TICK_S = 1.0
# Columns in their order; the verdict gets what the others leave, and the last ones go where that is little.
_TITLES = ("JOB", "VERDICT", "CAN SAVE", "GPU", "", "STEP")
_WIDTHS = (25, 0, 8, 3, 8, 8)
_PADDING = 2
# How wide the verdict shall be before so many columns are all shown; the first three always are.
_WORDS = {6: 36, 5: 20, 4: 20}
# What stands beside a report: its padding, and the bar that scrolls it.
_BESIDE = 4
# A log that grows faster is read on from here.
_LINES = 500


class _Table(DataTable[Text]):
    """Its own key for Enter, so that keys are obeyed in the order in which they were typed, and the footer names it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Open"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]


class JobList(Screen[None]):
    """All jobs, worst first. Rows keep their places once somebody moved among them, until they are sorted again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort", "Worst first"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board
        self._order: list[str] = []
        self._held = False

    def compose(self) -> ComposeResult:
        yield Static("", id="head", markup=False)
        yield _Table(cursor_type="row", id="jobs", zebra_stripes=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._update()
        self.set_interval(_TICK_S, self._update)

    def on_resize(self) -> None:
        self._update()

    def on_data_table_row_selected(self) -> None:
        table = self.query_one(_Table)
        if self._order and 0 <= table.cursor_row < len(self._order):
            assert isinstance(self.app, Top)
            self.app.push_screen(self.app.job(self._order[table.cursor_row]))

    def action_sort(self) -> None:
        self._held = False
        self.query_one(_Table).move_cursor(row=0)
        self._update()

    def _update(self) -> None:
        seen = self._board.rows_now()
        rows, table = list(seen.rows), self.query_one(_Table)
        # Asked of the table itself: what it tells of its cursor comes later, and would be lost with the rows drawn anew.
        self._held = self._held or table.cursor_row > 0
        if self._held:
            places = {name: place for place, name in enumerate(self._order)}
            rows.sort(key=lambda row: places.get(row.name, -1))
        names = [row.name for row in rows]
        on = self._order[table.cursor_row] if self._held and table.cursor_row < len(self._order) else None
        self._order = names
        table.clear(columns=True)
        across = widths(self.size.width)
        for title, width in zip(_TITLES, across, strict=False):
            table.add_column(title, width=width)
        for row in rows:
            table.add_row(*cells(row, across))
        if on in names:
            table.move_cursor(row=names.index(on))
        self.query_one("#head", Static).update(Text(inert(_head(seen, len(across) == len(_TITLES))), "bold"))


class JobView(Screen[None]):
    """One job: the text of its report, as ``report`` prints it, and the newest lines of its log, which follow."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("l", "log", "Log larger/smaller"),
        Binding("tab", "app.focus_next", "Report/log"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, name: str, watch: Watch, logs: LogWatch) -> None:
        super().__init__()
        self._job_name, self._watch, self._logs = name, watch, logs
        self._shown: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None

    def compose(self) -> ComposeResult:
        yield Static("", id="head", markup=False)
        with VerticalScroll(id="report"):
            yield Static("", id="said", markup=False)
        yield RichLog(id="log", max_lines=_LINES, min_width=1, wrap=True, markup=False, highlight=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#report").focus()
        self._look()
        self.set_interval(_TICK_S, self._look)

    def on_resize(self) -> None:
        # Lines that stand there are not wrapped again.
        self.query_one(RichLog).clear()
        self._last = None
        self._look()

    def action_back(self) -> None:
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        else:
            self.app.exit()

    def action_log(self) -> None:
        self.toggle_class("large")

    def _look(self) -> None:
        snapshot = self._watch.snapshot(self._job_name)
        said = [self._job_name]
        if snapshot.error is not None:
            said.append(str(snapshot.error))
        elif snapshot.working:
            said.append(snapshot.progress or "reviewing…")
        elif snapshot.updated_at is not None:
            said.append(f"as of {snapshot.updated_at:%H:%M:%S} UTC")
        self.query_one("#head", Static).update(Text(inert(" · ".join(said)), "bold"))
        width = max(40, self.size.width - _BESIDE)
        if snapshot.report is not None and self._shown != (key := (id(snapshot.report), width)):
            self._shown = key
            self.query_one("#said", Static).update(drawn(snapshot.report, width))
        self._follow()

    def _follow(self) -> None:
        """Writes what is new of the log below what is there."""
        snapshot, log = self._logs.lines(self._job_name, LogRequest()), self.query_one(RichLog)
        if snapshot.lineless or snapshot.table is None:
            said = "This job's source keeps no log lines." if snapshot.lineless else str(snapshot.error or "")
            if said and not log.lines:
                log.write(Text(inert(said), "dim"))
            return
        frame = snapshot.table.frame.iloc[-_LINES:]
        keys = list(zip(frame["time"].astype("int64"), frame["digest"], strict=True))
        new = keys.index(self._last) + 1 if self._last in keys else 0
        for row in frame.iloc[new:].itertuples():
            style = {"error": "red", "warning": "yellow"}.get(str(row.level), "")
            log.write(Text(inert(f"{row.time:%H:%M:%S} {row.node}  {row.line}"), style))
        self._last = keys[-1] if keys else self._last


class Top(App[None]):
    """The whole program: it takes the terminal, and gives it back as it was however it ends."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "interrupt", show=False, priority=True)]
    CSS = """
    #head { height: 1; padding: 0 1; }
    #jobs { height: 1fr; }
    #report { height: 2fr; padding: 0 1; }
    #log { height: 1fr; border-top: solid $secondary; padding: 0 1; }
    .large #report { height: 1fr; }
    .large #log { height: 4fr; }
    """

    def __init__(self, watch: Watch, logs: LogWatch, board: Board | None, job: str | None) -> None:
        super().__init__(ansi_color=True)
        self._watch, self._logs = watch, logs
        self._board, self._job = board, job
        self.failure: Exception | None = None
        self.interrupted = False
        """By Ctrl-C, which is a key here and no signal."""

    def job(self, name: str) -> JobView:
        return JobView(name, self._watch, self._logs)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit)
        if self._board is not None:
            self.push_screen(JobList(self._board))
        if self._job is not None:
            self.push_screen(self.job(self._job))

    def action_interrupt(self) -> None:
        self.interrupted = True
        self.exit()

    def _handle_exception(self, error: Exception) -> None:
        """The terminal is given back first; whoever started this tells the error."""
        self.failure = self.failure or error
        self.exit()


def widths(across: int) -> tuple[int, ...]:
    """Of the columns that there is room for."""

    def left(widths: tuple[int, ...]) -> int:
        return across - sum(widths) - _PADDING * len(widths)

    kept: tuple[int, ...] = _WIDTHS
    while left(kept) < _WORDS.get(len(kept), 0):
        kept = kept[:-1]
    return (kept[0], max(12, left(kept)), *kept[2:])


def cells(row: TopRow, across: tuple[int, ...]) -> list[Text]:
    """What stands in a row's columns of these widths."""
    is_known = row.level not in {"waiting", "unreviewed"}
    texts = (
        (short(row.name, across[0]), ""),
        (
            row.words if is_known else f"{row.status}: {row.words}",
            VERDICT_STYLES.get(row.level, "") if is_known else "dim",
        ),
        (row.saved.rjust(_WIDTHS[2]), ""),
        (row.gpu.rjust(_WIDTHS[3]), ""),
        (row.course, "cyan"),
        (row.step.rjust(_WIDTHS[-1]), ""),
    )
    out = []
    for (words, style), width in zip(texts, across, strict=False):
        text = Text(inert(words), style, no_wrap=True)
        text.truncate(width, overflow="ellipsis")
        out.append(text)
    return out


def _head(seen: Seen, with_steps: bool) -> str:
    parts = [f"{count(len(seen.rows), 'job')}, worst first" if seen.listed else "listing jobs…"]
    if seen.waiting:
        parts.append(f"{seen.waiting} under review")
    if with_steps and any(row.step_came_by for row in seen.rows):
        parts.append("* not simply as printed: Enter shows how")
    return " · ".join([*parts, *([seen.trouble] if seen.trouble else []), f"{datetime.now(UTC):%H:%M:%S} UTC"])


def drawn(report: Report, width: int) -> Text:
    """The text of a report, as ``report`` prints it in so many columns."""
    with suppress(BadCall):  # a file of mutes that cannot be used keeps nobody from the report
        report = with_mutes(report, mutes())
    paper = Paper.drawing(width)
    print_report(report, paper)
    return Text.from_ansi(paper.text)
