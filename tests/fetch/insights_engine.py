"""As much of Logs Insights as the program asks for, over the lines of a stub's account: filter, parse, fields, stats."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import re2

from benchmarks.account import InsightsQuery, Stream

Row = dict[str, Any]
_PARSE = re.compile(r"parse @message /(.*)/", re.DOTALL)
_LIKE = re.compile(r"filter (@\w+) (not )?like /(.*)/", re.DOTALL)
_STAT = re.compile(r"(\w+)\(([^)]*)\) as (\w+)")


def evaluate(query: InsightsQuery, streams: Iterable[Stream]) -> list[dict[str, str]]:
    """The rows that the query finds. ValueError for what this engine does not know."""
    rows = _events(query, streams)
    for command in query.text.split("\n| "):
        if (like := _LIKE.fullmatch(command)) is not None:
            rows = _liked(rows, like[1], re2.compile(like[3].replace(r"\/", "/")), not like[2])
        elif (parse := _PARSE.fullmatch(command)) is not None:
            rows = _parsed(rows, re2.compile(parse[1].replace(r"\/", "/")))
        elif command.startswith("filter ispresent("):
            rows = _present(rows, command[17:-1])
        elif command.startswith("fields "):
            rows = _computed(rows, command[7:])
        elif command.startswith("stats "):
            return _stats(rows, command[6:])[: query.limit]
        else:
            raise ValueError(command)
    raise ValueError("no statistics")


def _events(query: InsightsQuery, streams: Iterable[Stream]) -> Iterator[Row]:
    for stream in streams:
        for time, text in zip(stream.times.tolist(), stream.texts(), strict=True):
            if query.start_s * 1000 <= time <= query.end_s * 1000:
                yield {"@logStream": stream.name, "@timestamp": time, "@message": text}


def _liked(rows: Iterator[Row], field: str, pattern: Any, wanted: bool) -> Iterator[Row]:
    return (row for row in rows if (pattern.search(row[field]) is not None) == wanted)


def _parsed(rows: Iterator[Row], pattern: Any) -> Iterator[Row]:
    for row in rows:
        match = pattern.search(row["@message"])
        found = match.groupdict() if match else {}
        yield row | {name: text for name, text in found.items() if text is not None}


def _present(rows: Iterator[Row], field: str) -> Iterator[Row]:
    return (row for row in rows if field in row)


def _computed(rows: Iterator[Row], text: str) -> Iterator[Row]:
    # Commas also stand within expressions: only those behind a name end one.
    parts = re.findall(r"(.*?) as (\w+)(?:, |$)", text)
    trees = [(name, ast.parse(expression, mode="eval").body) for expression, name in parts]
    for row in rows:
        yield row | {name: _value(tree, row) for name, tree in trees}


def _value(tree: ast.expr, row: Row) -> Any:
    match tree:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return row.get(name)
        case ast.BinOp(left, operator, right):
            a, b = _number(_value(left, row)), _number(_value(right, row))
            if a is None or b is None or (isinstance(operator, ast.Div) and b == 0):
                return None
            return {ast.Add: a + b, ast.Mult: a * b, ast.Div: a / b if b else None}[type(operator)]
        case ast.Call(ast.Name(name), arguments):
            values = [_value(argument, row) for argument in arguments]
            if name == "coalesce":
                return next((value for value in values if value is not None), None)
            if values[0] is None:
                return None
            if name == "replace":
                return values[0].replace(values[1], values[2])
            if name == "strcontains":
                return int(values[1] in values[0])
    raise ValueError(ast.dump(tree))


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def _stats(rows: Iterator[Row], text: str) -> list[dict[str, str]]:
    wanted, by = text.split(" by ")
    *keys, bins = by.split(", ")
    minutes = int(re.fullmatch(r"bin\((\d+)m\) as minute", bins)[1])  # type: ignore[index]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        bin_ms = row["@timestamp"] // (60_000 * minutes) * 60_000 * minutes
        groups.setdefault((*(row.get(key) for key in keys), bin_ms), []).append(row)
    return [
        _group(members, wanted, dict(zip([*keys, "minute"], group, strict=True))) for group, members in groups.items()
    ]


def _group(members: list[Row], wanted: str, out: Row) -> dict[str, str]:
    for function, arguments, name in _STAT.findall(wanted):
        field = arguments.split(",")[0]
        numbers = sorted(number for row in members if (number := _number(row.get(field))) is not None)
        if function == "count":
            out[name] = len(members)
        elif function == "latest":
            out[name] = next((row[field] for row in reversed(members) if field in row), None)
        else:
            out[name] = _FUNCTIONS[function](numbers) if numbers else None
    moment = datetime.fromtimestamp(out["minute"] / 1000, UTC)
    out["minute"] = f"{moment:%Y-%m-%d %H:%M:%S}.000"
    return {name: str(value) for name, value in out.items() if value is not None}


_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "avg": lambda values: sum(values) / len(values),
    "pct": lambda values: (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2,
    "min": min,
    "max": max,
}
