"""What do ``--set parameter=value`` and ``--change parameter=value`` say? Values by name, as JSON where they are that."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from monitor.errors import BadCall
from monitor.fetch.configuration import MP_PARAMETERS, library_of, word
from monitor.predict import parameters
from monitor.predict.parameters import ALIASES_V1, V1, V2, whole_number
from monitor.review.planning import is_known

# Numbers that need not be whole: 1.0 stays what it is.
_REAL = frozenset({"parameters_billion", "gpu_memory_gib", "gpu_memory_utilization", "step_time_s", "network_gbps"})
# Names less alike than this are no slip of the pen.
_ALIKE = 0.6
_LONGEST = 60


def values_of(option: str, texts: Sequence[str]) -> tuple[dict[str, Any], bool]:
    """(values by the names that were written, whether an ``mp_parameters`` among them could be read).

    BadCall for what is no ``name=value``, for a name that nothing knows and for one that is given twice.
    """
    found: dict[str, Any] = {}
    written: dict[str, str] = {}
    readable = True
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        example = f"Write parameter=value, for example {option} active_microbatches=4."
        if not equals or not name:
            raise BadCall(f"{option} {text[:_LONGEST]} is not a parameter with a value.", example)
        if not value:
            raise BadCall(f"{option} {name[:_LONGEST]}= has no value.", f"{example} null means not known.")
        if parameters.plain_name(name) == MP_PARAMETERS:
            several = library_of(value)
            readable = readable and (bool(several) or value.strip(' "{}[]').lower() in {"", "null", "none"})
            for each in several:
                _once(option, each, each, written)
            found |= several
            continue
        if not is_known(name):
            raise BadCall(f"{option} {name[:_LONGEST]}: there is no such parameter.", _nearest(name))
        plain = parameters.plain_name(name)
        canonical = ALIASES_V1.get(plain, parameters.OTHER_NAMES.get(plain, plain))
        _once(option, canonical, name, written)
        found[name] = _value(canonical, value)
    return found, readable


def _once(option: str, canonical: str, name: str, written: dict[str, str]) -> None:
    if canonical in written:
        other = written[canonical]
        also = f" and as {name}" if other != name else ""
        raise BadCall(f"{option} {other} is given twice{also}.", "Give one value for it.")
    written[canonical] = name


def _value(name: str, text: str) -> Any:
    """JSON where it is that, also True and None; 4.0 is 4 where a number is whole."""
    value = word(text)
    schema = V1.get(name) or V2.get(name)
    whole = whole_number(value) if isinstance(value, float) else None
    if whole is not None and name not in _REAL and (schema is None or schema.kind != "float"):
        return whole
    return value


def _nearest(name: str) -> str:
    known = sorted(parameters.CANONICAL | parameters.OTHER_NAMES.keys() | ALIASES_V1.keys())
    near = difflib.get_close_matches(parameters.plain_name(name), known, 1, _ALIKE)
    if near:
        return f"The nearest is {near[0]}."
    return "Names are the library's, such as microbatches, or those of model and job, such as hidden_size, batch_size."
