"""Values as documents in JSON's own types: of each type of value one line tells its fields and what they are called there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from operator import attrgetter
from typing import Any

#: Type -> the fields of its document in order: ``name``; ``name=field`` or ``name=field.of_that`` under a name of its own;
#: with a ``?`` behind it a field that is null where it is empty.
Forms = Mapping[type, str]


def scalar(value: Any) -> Any:
    """A value of JSON's types, a day or an instant as ISO 8601, UTC; NaN and infinities are null, as JSON has neither."""
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def document(value: Any, forms: Forms, leaf: Callable[[Any], Any] = scalar) -> Any:
    """``value`` by its type's form, and what is within it by theirs; ``leaf`` writes what is neither that nor a collection.

    A dataclass without a form has all its fields, but those that do not count when values are compared.
    """
    if (form := forms.get(type(value))) is not None:
        return {
            name: document(get(value) or None if unset else get(value), forms, leaf)
            for name, get, unset in _fields(form)
        }
    if isinstance(value, Mapping):
        return {str(key): document(item, forms, leaf) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [document(item, forms, leaf) for item in value]
    if is_dataclass(value):
        return {
            field.name: document(getattr(value, field.name), forms, leaf) for field in fields(value) if field.compare
        }
    return leaf(value)


@cache
def _fields(form: str) -> tuple[tuple[str, Callable[[Any], Any], bool], ...]:
    """(name in the document, what gets it, whether nothing is null)."""
    parts = [(part.removesuffix("?").partition("="), part.endswith("?")) for part in form.split()]
    return tuple((name, attrgetter(field or name), unset) for (name, _, field), unset in parts)
