"""Nothing that a stranger wrote is obeyed by a terminal, whichever way it comes there; what this program draws still works."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import unicodedata
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from rich.live import Live
from rich.text import Text

from benchmarks.hostile.account import NAME, START, answer
from monitor import faults, inert
from monitor.archive.document import as_json, as_line
from monitor.cli import jobs
from monitor.cli.output import Column, Paper, on_screen, table
from monitor.cli.top import row_of
from monitor.errors import NoData, Unreachable
from monitor.model import JobSummary, Report
from monitor.review import Snapshot
from monitor.review.notebook import review
from monitor.review.reviewer import Reviewer
from monitor.terminal import Outlet, outlets
from tests.attack.calls import PRINTING, STEPS, Account, Terminal, connect, own_machine, ran
from tests.attack.sequences import ALL, SEQUENCES

# All that Rich writes for this program: styles, a hidden cursor, lines that are drawn again.
_OURS = re.compile(r"\x1b\[(?:\d{1,3}(?:;\d{1,3})*)?m|\x1b\[\?25[lh]|\x1b\[\d*[AK]|\r")
_BEGIN, _END = "«", "»"
# Of Unicode's formats those that are drawn as signs of their own.
_DRAWN_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}


def _obeyed(text: str) -> list[str]:
    """What a terminal would obey or hide in it, by the Unicode tables of this Python."""
    return [
        sign
        for sign in text
        if (unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and ord(sign) not in _DRAWN_FORMATS)
        and sign not in "\n\t"
    ]


def _foreign(text: str) -> list[str]:
    """The same of what stands between the marks of a stranger's text, and beside the codes of this program."""
    quoted = re.findall(f"{_BEGIN}[^{_END}\n]*", text)
    return [*_obeyed("".join(quoted)), *_obeyed(_OURS.sub("", text))]


def test_each_is_replaced_by_signs_that_stand_for_it(subtests: pytest.Subtests) -> None:
    for name, text in ALL.items():
        with subtests.test(name=name):
            shown = inert.inert(text)
            assert _obeyed(shown) == []
            assert len(shown) == len(text)
            assert inert.inert(shown) == shown
            if name not in {"octal", "caret"}:
                assert shown != text


def test_the_table_has_every_kind() -> None:
    assert len(SEQUENCES) >= 92
    assert {unicodedata.category(sign) for sign in "".join(ALL.values())} >= {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_it_is_all_of_unicode_that_is_obeyed_or_hidden_and_no_letter() -> None:
    """Beside controls and formats only what has no looks at all: joiners and fillers that count as marks or letters."""
    everything = [chr(code) for code in range(0x110000)]
    replaced = {sign for sign in everything if inert.inert(sign) != sign}
    assert set(_obeyed("".join(everything))) <= replaced
    beside = {sign for sign in replaced if not _obeyed(sign) and unicodedata.category(sign) != "Cn"}
    fillers = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFFA0, *range(0xE0100, 0xE01F0)}
    assert {ord(sign) for sign in beside} <= fillers
    assert inert.inert("⚠️ é 中文 עברית 😀 –·…█ \t\n") == "⚠️ é 中文 עברית 😀 –·…█ \t\n"


def test_an_argument_is_told_without_it(subtests: pytest.Subtests) -> None:
    """In this program's own sentences and, for every third, in argparse's."""
    for number, name in enumerate(ALL):
        with subtests.test(name=name):
            text = f"{_BEGIN}{ALL[name]}{_END}"
            calls = (["jobs", "--status", text], ["report", f"logs:{text}"], ["demo", f"--{text}"])
            found = ran(calls[number % len(calls)])
            assert found.code in {2, 3}
            assert inert.inert(text) in found.err or "\n" in text or "\0" in text
            assert _foreign(found.err) == []


_MARKED = [f"{_BEGIN}{text}{_END}" for text in ALL.values() if not re.search("[\n\ud800-\udfff]", text)]
_JOINED = " ".join(_MARKED)


def _account() -> Account:
    """One whose every text is hostile. Halves of characters end where AWS's answers are read."""
    lines = [*STEPS, *(f"RuntimeError: seen {mark}" for mark in _MARKED[::9])]
    status = [{**each, "StatusMessage": _JOINED} for each in answer(1)["SecondaryStatusTransitions"]]
    told: dict[str, Any] = {
        "FailureReason": f"AlgorithmError: {_JOINED}",
        "HyperParameters": dict(zip(_MARKED[:20], _MARKED[60:80], strict=True)),
        "ResourceConfig": {"InstanceType": f"ml.{_MARKED[0]}", "InstanceCount": 2},
        "SecondaryStatusTransitions": status,
        "Tags": [{"Key": mark, "Value": mark} for mark in _MARKED[:9]],
    }
    listed = {"name": _MARKED[40], "status": _MARKED[1], "instance_type": _MARKED[50], "instance_count": 3}
    return Account(lines, told, listed)


@cache
def _report() -> Report:
    return Reviewer(_account(), NAME).review(START + timedelta(hours=1))


_CALLS = {
    "jobs": (["jobs"], ("text", "csv", "json")),
    "report": (["report", NAME], ("text", "markdown", "html", "json")),
    "steps": (["steps", NAME], ("text", "csv", "json")),
    "compare": (["compare", NAME, NAME], ("text", "markdown", "json")),
    "alert": (["alert", NAME, "--when", "finding critical"], ("text", "json")),
    "thresholds": (["thresholds"], ("text", "json")),
    "alarms": (["alarms", "plan", NAME, "--when", "gpu_utilization < 40 for 10m"], ("text", "json")),
    "plan": (["plan", NAME], ("text", "markdown", "json")),
    "archive": (["archive", NAME, "--to"], ("text", "json")),
    "fleet": (["fleet", "--since", "520w", "--archive"], ("text", "markdown", "html", "csv", "json")),
    "nightly": (["nightly", "--archive"], ("text", "json")),
    "dashboard": (["dashboard"], (None,)),
    "demo": (["demo"], (None,)),
    "completion": (["completion", "bash"], (None,)),
}


@pytest.mark.parametrize("command", PRINTING)
def test_no_command_lets_any_of_it_out(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_machine(monkeypatch, tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "20000")  # a line that is cut in two has codes of this program where it is cut
    connect(monkeypatch, _account())
    report = _report()
    monkeypatch.setattr(Reviewer, "review", lambda reviewer, *told: report)
    argv, forms = _CALLS[command]
    kept = str(tmp_path / _MARKED[70].replace("/", ""))
    if command == "fleet":
        assert ran(["archive", NAME, "--to", kept, "--quiet"]).code == 0
    argv = [*argv, kept] if command in {"archive", "fleet", "nightly"} else argv
    found = {
        (form, on_terminal): ran([*argv, *(["--format", form] if form else [])], on_terminal)
        for form in forms
        for on_terminal in ((False, True) if form in {"text", None} else (False,))
    }
    for which, each in found.items():
        assert each.code in {0, 1}, (which, each.err)
        assert _foreign(each.out + each.err) == [], which
        if which[0] == "json":
            assert each.out.isascii()
            json.loads(each.out)
    if command == "report":
        # It is there, and colors are.
        assert inert.inert(_MARKED[17]) in found["text", False].out
        assert "\x1b[1m" in found["text", True].out
        assert "\x1b[?25l" in found["text", True].err
        assert "\x1b" not in found["text", False].out + found["text", False].err
        assert json.loads(found["json", False].out)["job"]["failure_reason"].count(_BEGIN) > 9


def test_what_top_draws_holds_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screens = pytest.importorskip("monitor.cli.top_screens", reason="textual is not installed (requirements.txt)")
    own_machine(monkeypatch, tmp_path)
    report = _report()
    assert _foreign(screens.drawn(report, 80).plain) == []
    job = JobSummary(report.job.name, report.job.status or "", report.job.created)
    row = row_of(job, Snapshot(report))
    assert [_foreign(cell.plain) for cell in screens.cells(row, screens.widths(80))] == [[]] * 5


def test_json_keeps_what_was_said_and_holds_none_of_it(subtests: pytest.Subtests) -> None:
    for name, text in ALL.items():
        for written in (as_json({"a": text}), as_line({"a": text})):
            with subtests.test(name=name):
                assert written.strip().isascii()
                assert _obeyed(written) == []
                assert json.loads(written)["a"] == re.sub("[\ud800-\udfff]", "\ufffd", text)


def test_files_by_any_name_are_read_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_machine(monkeypatch, tmp_path)
    folder = tmp_path / "logs"
    folder.mkdir()
    names = {f"{_BEGIN}{text}{_END}.log" for text in ALL.values()}
    names = {name for name in names if not re.search(r"[/\0]|[\ud800-\udbff]|[\udc00-\udc7f]|[\udd00-\udfff]", name)}
    for name in names:
        (folder / name).write_text("\n".join(STEPS[:3]), encoding="utf-8")
    (folder / f"{_MARKED[0]}-bad.log").write_bytes(b"\x00\x01\x02" * 99)
    for form in ("text", "csv", "json"):
        found = ran(["steps", f"logs:{folder}", "--format", form])
        assert found.code == 0
        assert _foreign(found.out + found.err) == []
        if form == "json":
            assert len({row["stream"] for row in json.loads(found.out)["steps"]}) == len(names)
    assert ran(["archive", f"logs:{folder}", "--to", str(tmp_path / "kept")]).code == 0


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_library_that_warns_or_logs_says_none_of_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{_BEGIN}{SEQUENCES[name]}{_END}"

    def run(arguments: Any) -> int:
        last = cast("logging.Handler", logging.lastResort)
        last.handle(logging.LogRecord("botocore", logging.WARNING, "", 0, text, None, None))
        print(text)
        sys.stderr.writelines([text, text])
        raise NoData(text, text)

    monkeypatch.setattr(jobs, "run", run)
    found = ran(["jobs"])
    assert found.err.count(_BEGIN) == 5
    assert _foreign(found.out + found.err) == []


def test_an_error_of_the_program_quotes_none_of_it_nor_does_its_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(faults, "_folders", lambda: iter([tmp_path / _MARKED[70].replace("/", "")]))

    def run(arguments: Any) -> int:
        raise ValueError(" ".join(f"{_BEGIN}{text}{_END}" for text in ALL.values()))

    monkeypatch.setattr(jobs, "run", run)
    found = ran(["jobs"])
    assert found.code == 3
    assert _foreign(found.err) == []
    (log,) = tmp_path.rglob("trainwatch.log")
    assert _foreign(log.read_text(encoding="utf-8")) == []


def test_what_stays_on_a_terminal_draws_and_what_is_printed_meanwhile_is_inert() -> None:
    screen, errors = Terminal(), Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", errors)
        with outlets():
            paper = Paper.on(sys.stdout)
            with on_screen(Live(console=paper, auto_refresh=False, transient=True)) as live:
                for mark in _MARKED:
                    live.update(table([Column(mark)], [[Text(mark, "bold red")], [mark]], 80), refresh=True)
                for mark in _MARKED:
                    print(mark)
                    print(mark, file=sys.stderr)
                paper.print(f"[bold]{_BEGIN}[link=https://evil]x[/link][/]{_END} :smile:")
    shown = screen.getvalue() + errors.getvalue()
    assert {"\x1b[?25l", "\x1b[1;31m", "\x1b[2K", "\x1b[1A"} <= set(_OURS.findall(shown))
    assert "[bold]" in shown
    assert ":smile:" in shown
    outside = _OURS.sub("", shown)
    assert _obeyed(outside) == []
    assert "]8;" not in outside.replace("␛]8;", "")


def test_a_sequence_that_comes_in_pieces_stays_in_pieces(subtests: pytest.Subtests) -> None:
    """However a text is cut, and whatever is taken out of it, what was written before never becomes whole behind it."""
    for name, text in SEQUENCES.items():
        with subtests.test(name=name):
            inner = io.StringIO()
            outlet = Outlet(inner)
            for sign in text:
                outlet.write(sign)
            outlet.flush()
            assert inner.getvalue() == inert.inert(text)


@pytest.mark.parametrize("width", [40, 80])
def test_a_table_of_hostile_cells_keeps_to_its_width(width: int) -> None:
    paper = Paper(io.StringIO(), width)
    paper.print(table([Column("A"), Column("B", wraps=True)], [["a", mark] for mark in _MARKED], width), crop=False)
    assert _obeyed(paper.text) == []
    assert max(map(len, paper.text.splitlines())) <= width


def test_watches_draw_and_let_none_of_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_machine(monkeypatch, tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "20000")
    connect(monkeypatch, _account())
    found = ran(["alert", NAME, "--when", "finding critical", "--watch"], on_terminal=True)
    assert found.code == 1
    assert _foreign(found.out + found.err) == []
    assert "\x1b[2K" in found.out

    account = _account()
    looks = iter([account.jobs, lambda query: _refuse(), lambda query: _interrupt()])
    monkeypatch.setattr(account, "jobs", lambda query: next(looks)(query))
    connect(monkeypatch, account)
    monkeypatch.setattr(jobs.watch, "__defaults__", (lambda seconds: None,))
    found = ran(["jobs", "--watch"], on_terminal=True)
    assert found.code == 0
    assert _foreign(found.out + found.err) == []
    assert found.out.count(_BEGIN) > len(_MARKED)


def _refuse() -> Any:
    raise Unreachable(_JOINED)


def _interrupt() -> Any:
    raise KeyboardInterrupt


def test_a_report_shows_itself_in_a_terminal_without_any_of_it() -> None:
    assert _foreign(repr(review(NAME, _account(), START + timedelta(hours=1)))) == []


def test_the_process_of_the_dashboard_says_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that fails has its error, with the text of others in it, printed by Streamlit."""
    from monitor.show import warm

    said: list[tuple[str, Any]] = []

    def streamlit(**options: Any) -> None:
        said.append((type(sys.stderr).__name__, options["color"]))
        print(_JOINED, file=sys.stderr)

    errors = io.StringIO()
    monkeypatch.setattr("streamlit.web.cli.main", streamlit)
    monkeypatch.setattr(warm, "_import_ahead", lambda: None)
    monkeypatch.setattr(sys, "stderr", errors)
    warm.main()
    assert said == [("Outlet", False)]
    assert _foreign(errors.getvalue()) == []


def test_only_output_draws() -> None:
    """No other console of Rich's, whose text is markup and passes as it is, is made by this program."""
    root = Path(__file__).parents[2] / "monitor"
    made = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if re.search(r"\bConsole\(|__stdout__|__stderr__|\.buffer\.write|os\.write\(", path.read_text(encoding="utf-8"))
    }
    assert made == {"cli/output.py", "archive/comparison.py", "review/nightly.py"}
