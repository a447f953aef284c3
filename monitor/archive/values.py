"""Frozen values as JSON, and back by their types: a field that a type gains needs nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """``value`` in JSON's own types; instants as ISO 8601. Fields that do not count when values are compared are left out."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.compare}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def valued(kind: Any, data: Any) -> Any:
    """The value of type ``kind`` that ``plain`` made ``data`` of; fields that are absent keep their defaults.

    KeyError, TypeError or ValueError where the data are of another form.
    """
    if data is None or kind is Any:
        return data
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return kind(**{name: valued(types[name], item) for name, item in data.items() if name in types})
    if kind is datetime:
        return datetime.fromisoformat(data)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return valued(next(each for each in inner if each is not NoneType), data)
    if origin is tuple:
        return tuple(valued(inner[0], item) for item in data)
    if origin is Mapping:
        return {key: valued(inner[1], item) for key, item in data.items()}
    return data


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
