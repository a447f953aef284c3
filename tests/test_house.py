"""The house keeps its walls: imports go down only, the pure rooms touch no world, files stay small and say what they are for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Room -> floor. A file imports its own room and lower floors; rooms on one floor are strangers.
FLOORS = {
    "model": 0,
    "errors": 0,
    "words": 0,
    "masking": 0,
    "inert": 0,
    "parse": 1,
    "analyze": 1,
    "predict": 1,
    "charts": 1,
    "diagnose": 2,
    "accounts": 2,
    "aws": 3,
    "settings": 3,
    "installed": 3,
    "faults": 3,
    "terminal": 3,
    "fetch": 4,
    "archive": 4,
    "alert": 4,
    "export": 5,
    "review": 6,
    "serve": 6,
    "show": 7,
    "agents": 7,
    "demo": 7,
    "cli": 8,  # its demo command opens the demo's room
    "__main__": 9,
    "app": 9,
    "pages": 9,
}
PURE = {"model", "errors", "words", "masking", "inert", "accounts", "parse", "analyze", "predict", "charts", "diagnose"}
# Package -> the only rooms that may import it.
KEPT_TO = {
    "streamlit": {"show", "pages", "app"},
    "boto3": {"aws"},
    "botocore": {"aws"},
    "altair": {"charts"},
    "moto": {"demo"},
    "rich": {"cli"},
    "shtab": {"cli"},
    "textual": {"cli"},
    "mcp": {"agents"},
    "pydantic": {"agents"},
    "anyio": {"agents"},
    "requests": {"alert"},
    "vl_convert": {"export"},
    "jinja2": {"export"},
}
IMPURE_MODULES = {
    "os",
    "pathlib",
    "socket",
    "subprocess",
    "threading",
    "time",
    "urllib",
    "requests",
    "logging",
    "tempfile",
}
IMPURE_CALLS = {"open", "input", "print"}
IMPURE_METHODS = {"now", "utcnow", "today", "read_text", "write_text", "read_csv", "to_csv"}
LONGEST_FILE = 500

FILES = sorted(
    path
    for path in [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "monitor").rglob("*.py")]
    if path.is_file()
)


def _room(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "monitor" and len(parts) > 1 else parts[0]


def _imports(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_imports_go_down_only(path: Path) -> None:
    room = _room(path)
    if room == "__init__":
        return
    assert room in FLOORS, (
        f"{_id(path)}: the room {room} has no floor; give it one in tests/test_house.py and the design"
    )
    for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
        parts = name.split(".")
        if parts[0] == "monitor" and len(parts) > 1 and parts[1] != room and parts[1] != "__version__":
            other = parts[1]
            assert FLOORS[other] < FLOORS[room], f"{_id(path)} ({room}) imports {name}: imports go down only"
        if parts[0] in KEPT_TO:
            assert room in KEPT_TO[parts[0]], f"{_id(path)} imports {parts[0]}, which is kept to {KEPT_TO[parts[0]]}"


@pytest.mark.parametrize("path", [path for path in FILES if _room(path) in PURE], ids=_id)
def test_pure_rooms_touch_no_world(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name in _imports(tree):
        assert name.split(".")[0] not in IMPURE_MODULES, f"{_id(path)} is pure and imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                assert called.id not in IMPURE_CALLS, f"{_id(path)}:{node.lineno} is pure and calls {called.id}"
            if isinstance(called, ast.Attribute):
                assert called.attr not in IMPURE_METHODS, f"{_id(path)}:{node.lineno} is pure and calls .{called.attr}"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_files_are_small_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST_FILE, (
        f"{_id(path)} is longer than {LONGEST_FILE} lines: it may answer two questions"
    )
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"{_id(path)} needs an opening sentence that says what it is for"


_CALLBACK = re.compile(r"on_(click|change|select|submit|dismiss|\w+_change)")


@pytest.mark.parametrize("path", [path for path in FILES if _room(path) in KEPT_TO["streamlit"]], ids=_id)
def test_what_a_widget_calls_is_calm(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        given: list[tuple[str | None, ast.expr]] = []
        if isinstance(node, ast.Call):
            given = [(keyword.arg, keyword.value) for keyword in node.keywords]
        elif isinstance(node, ast.Dict):
            named = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            given = [(str(name), value) for name, value in zip(named, node.values, strict=True)]
        for name, value in given:
            if name is None or not _CALLBACK.fullmatch(name):
                continue
            calm = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "calm"
            nothing = isinstance(value, ast.Lambda) and isinstance(value.body, ast.Constant)
            word = isinstance(value, ast.Constant) and value.value in {"ignore", "rerun"}
            assert calm or nothing or word, (
                f"{_id(path)}:{value.lineno}: {name} must be calm(…), or its errors are lost"
            )


def test_no_catch_all_names() -> None:
    for path in FILES:
        assert path.stem not in {"utils", "helpers", "common", "base", "manager", "misc"}, _id(path)


def test_the_application_runs_without_the_tests_and_their_tools() -> None:
    for path in FILES:
        for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            assert name.split(".")[0] not in {"tests", "pytest", "hypothesis", "playwright"}, (
                f"{_id(path)} imports {name}"
            )
