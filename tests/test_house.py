"""The house keeps its walls: imports go down only, the pure rooms touch no world, files stay small and say what they are for.

Each rule is one test that names every file which breaks it: a test a file and rule costs more than what it looks at.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# All files are parsed once, in one worker.
pytestmark = pytest.mark.xdist_group("house")

# Room -> floor. A file imports its own room and lower floors; rooms on one floor are strangers.
FLOORS = {
    "model": 0,
    "errors": 0,
    "words": 0,
    "document": 0,
    "choices": 0,
    "masking": 0,
    "inert": 0,
    "parse": 1,
    "analyze": 1,
    "predict": 1,
    "charts": 1,
    "diagnose": 2,
    "fleet": 3,
    "accounts": 2,
    "aws": 3,
    "settings": 3,
    "installed": 3,
    "atomic_file": 3,
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
PURE = {
    "model",
    "errors",
    "words",
    "document",
    "choices",
    "masking",
    "inert",
    "accounts",
    "parse",
    "analyze",
    "predict",
    "charts",
    "diagnose",
    "fleet",
}
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
    "duckdb": {"review"},
    "pyspark": {"review"},
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


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of the tree; to walk through it takes longer than to look at what is there."""
    return tuple(ast.walk(_tree(path)))


@cache
def _imports(path: Path) -> list[str]:
    found = []
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_go_down_only() -> None:
    wrong = []
    for path in FILES:
        room = _room(path)
        if room == "__init__":
            continue
        if room not in FLOORS:
            wrong.append(
                f"{_id(path)}: the room {room} has no floor; give it one in tests/test_house.py and the design"
            )
            continue
        for name in _imports(path):
            parts = name.split(".")
            if parts[0] == "monitor" and len(parts) > 1 and parts[1] != room and parts[1] != "__version__":
                other = parts[1]
                if other not in FLOORS or FLOORS[other] >= FLOORS[room]:
                    wrong.append(f"{_id(path)} ({room}) imports {name}: imports go down only")
            if parts[0] in KEPT_TO and room not in KEPT_TO[parts[0]]:
                wrong.append(f"{_id(path)} imports {parts[0]}, which is kept to {KEPT_TO[parts[0]]}")
    assert not wrong, "\n".join(wrong)


def test_pure_rooms_touch_no_world() -> None:
    wrong = []
    for path in FILES:
        if _room(path) not in PURE:
            continue
        wrong += [
            f"{_id(path)} is pure and imports {name}" for name in _imports(path) if name.split(".")[0] in IMPURE_MODULES
        ]
        for node in _nodes(path):
            if isinstance(node, ast.Call):
                called = node.func
                if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
                    wrong.append(f"{_id(path)}:{node.lineno} is pure and calls {called.id}")
                if isinstance(called, ast.Attribute) and called.attr in IMPURE_METHODS:
                    wrong.append(f"{_id(path)}:{node.lineno} is pure and calls .{called.attr}")
    assert not wrong, "\n".join(wrong)


def test_files_are_small_and_say_what_they_are_for() -> None:
    wrong = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > LONGEST_FILE:
            wrong.append(f"{_id(path)} is longer than {LONGEST_FILE} lines: it may answer two questions")
        if text.strip() and not ast.get_docstring(_tree(path)):
            wrong.append(f"{_id(path)} needs an opening sentence that says what it is for")
    assert not wrong, "\n".join(wrong)


_CALLBACK = re.compile(r"on_(click|change|select|submit|dismiss|\w+_change)")


def test_what_a_widget_calls_is_calm() -> None:
    wrong = []
    for path in (path for path in FILES if _room(path) in KEPT_TO["streamlit"]):
        for node in _nodes(path):
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
                if not (calm or nothing or word):
                    wrong.append(f"{_id(path)}:{value.lineno}: {name} must be calm(…), or its errors are lost")
    assert not wrong, "\n".join(wrong)


def test_no_source_is_asked_which_class_it_is_of() -> None:
    """What only some sources can do is a member that is None or empty for the others (monitor/fetch/source.py)."""
    classes = [node for path in FILES for node in _nodes(path) if isinstance(node, ast.ClassDef)]
    sources = {"JobSource"} | {
        each.name
        for each in classes
        for line in each.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id == "gives"
    }
    assert {"PageSource", "RunSource", "AwsSource", "FilesSource", "ExportedJob", "ArchiveSource"} <= sources
    # And what stands for several of them.
    sources |= {
        target.id
        for path in FILES
        for node in _tree(path).body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.BinOp | ast.Tuple)
        and _names(node.value) & sources
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    wrong = []
    for path in FILES:
        for node in _nodes(path):
            asked: list[ast.AST] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
                if node.func.id in {"isinstance", "issubclass"}:
                    asked = [node.args[1]]
                if node.func.id in {"getattr", "hasattr"} and re.search(r"source$", ast.unparse(node.args[0])):
                    wrong.append(f"{_id(path)}:{node.lineno} looks for a member of a source: {ast.unparse(node)}")
            elif isinstance(node, ast.MatchClass):
                asked = [node.cls]
            wrong += [f"{_id(path)}:{node.lineno} asks for {each}" for one in asked for each in _names(one) & sources]
    assert not wrong, "\n".join(wrong)


def _names(tree: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)
    }


def test_no_catch_all_names() -> None:
    wrong = [_id(path) for path in FILES if path.stem in {"utils", "helpers", "common", "base", "manager", "misc"}]
    assert not wrong


# Words that do not tell what it is that they name.
VAGUE = {"asked", "desk", "foretold", "followed", "held", "judged", "kept", "look", "looked", "place", "said", "told"}
# docs/library.md promises it to other programs.
PROMISED = {"judged_pct"}


def _named(path: Path) -> list[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """The public classes and functions of a module, and the public methods of its classes."""
    top = [node for node in _tree(path).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    inner = [each for node in top if isinstance(node, ast.ClassDef) for each in node.body]
    named = [node for node in (*top, *inner) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [(node.name, node) for node in named if not node.name.startswith("_")]


def test_a_public_name_says_what_it_is_of_and_a_class_name_means_one_thing() -> None:
    wrong: list[str] = []
    classes: dict[str, str] = {}
    for path in FILES:
        words = {path.stem: path.stem.split("_")}
        words |= {name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_") for name, _ in _named(path)}
        wrong += [
            f"{_id(path)}: {name} names something by a vague word"
            for name, parts in words.items()
            if VAGUE & set(parts) and name not in PROMISED
        ]
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                if node.name in classes:
                    wrong.append(f"{_id(path)} and {classes[node.name]} both have a class {node.name}")
                classes[node.name] = _id(path)
    assert not wrong, "\n".join(wrong)


def test_the_application_runs_without_the_tests_and_their_tools() -> None:
    wrong = [
        f"{_id(path)} imports {name}"
        for path in FILES
        for name in _imports(path)
        if name.split(".")[0] in {"tests", "pytest", "hypothesis", "playwright"}
    ]
    assert not wrong, "\n".join(wrong)
