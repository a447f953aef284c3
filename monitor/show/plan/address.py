"""Which plan is asked for? One value that an address contains and restores: a start, corrections to it, a change.

``/plan?from=job&of=NAME&change.active_microbatches=4`` or ``/plan?from=gpt2-60b&set.sequence_length=1024``. Typed by
hand, ``/plan?job=NAME`` works as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import streamlit as st

from monitor.predict.parameters import ALIASES_V1, CANONICAL, OTHER_NAMES
from monitor.predict.presets import preset
from monitor.predict.setup import FRAMEWORK_NAMES, Framework
from monitor.show import address

Group = Literal["set", "change"]

JOB, NOTHING = "job", "nothing"
#: What is shown where nothing was asked for: a published question with its answer.
EXAMPLE = "gpt2-60b"
_FROM, _OF, _FRAMEWORK, _KNOB = "from", "of", "framework", "knob"
# Where a person types it, and the Job page's.
_TYPED = "job"
_ASKED = "plan-asked"
# An address is of anybody: longer values are no parameter's.
_LONGEST = 80
#: Whole numbers from here on are not exact in a browser.
MOST = 2**53
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plan is asked for. ``stated`` corrects the start; of ``changes`` the last that was moved comes first."""

    source: str = EXAMPLE
    job: str | None = None
    """The job to start from; None where none is chosen, or the source is none."""
    framework: Framework | None = None
    knob: str | None = None
    """The parameter of the curve; None where the page chooses."""
    stated: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)

    def moved(self, group: Group, name: str, value: Any) -> Asked:
        """With another value; None takes back what was given."""
        before = self.changes if group == "change" else self.stated
        after = {other: kept for other, kept in before.items() if other != name}
        if value is not None:
            after = {name: value, **after}
        return replace(self, changes=after) if group == "change" else replace(self, stated=after)

    def parameters(self) -> dict[str, str]:
        found = {_FROM: self.source, _OF: self.job, _FRAMEWORK: self.framework, _KNOB: self.knob}
        found |= {f"set.{name}": _written(value) for name, value in self.stated.items()}
        found |= {f"change.{name}": _written(value) for name, value in self.changes.items()}
        return {name: value for name, value in found.items() if value is not None}


def link(job: str, **changes: Any) -> dict[str, str]:
    """The address of a plan that starts from a job."""
    return Asked(JOB, job, changes=changes).parameters()


def started(source: str, job: str | None = None) -> Asked:
    """A new plan; a preset comes with the question that its source answers."""
    found = preset(source)
    return Asked(source, job, changes=dict(found.change) if found is not None else {})


def of_parameters(parameters: Mapping[str, str]) -> Asked:
    """What an address asks for."""
    source = parameters.get(_FROM, "")
    if source not in (JOB, NOTHING) and preset(source) is None:
        source = JOB if _TYPED in parameters else EXAMPLE
    framework = parameters.get(_FRAMEWORK)
    knob = parameters.get(_KNOB)
    given: dict[str, dict[str, Any]] = {"set": {}, "change": {}}
    for written, value in parameters.items():
        group, dot, name = written.partition(".")
        # What no plan knows is handed on: the library's rules say so.
        if dot and group in given and _NAME.fullmatch(name) and len(value) <= _LONGEST:
            canonical = ALIASES_V1.get(name, OTHER_NAMES.get(name, name))
            given[group][canonical] = value_of(value)
    return Asked(
        source,
        (parameters.get(_OF) or parameters.get(_TYPED)) if source == JOB else None,
        cast(Framework, framework) if framework in FRAMEWORK_NAMES else None,
        knob if knob in CANONICAL else None,
        given["set"],
        given["change"],
    )


def value_of(text: str) -> Any:
    """A number, yes or no where the text is one; else the text."""
    words = {"true": True, "on": True, "false": False, "off": False}
    plain = text.strip()
    if plain.lower() in words:
        return words[plain.lower()]
    for kind in (int, float):
        try:
            number = kind(plain)
        except ValueError:
            continue
        # Not a number, infinity and what a browser cannot hold are no settings.
        return number if number == number and abs(number) < MOST else plain
    return plain


def current() -> Asked:
    """What this visitor asks for: the address, where it says something new, else what was asked last."""
    everything, mine = st.query_params.to_dict(), address.mine(_is_mine)
    looked_at = address.last(_TYPED)
    if address.is_news(mine, "plan") or (_TYPED in everything and not mine):
        st.session_state[_ASKED] = of_parameters(everything)
    elif _ASKED not in st.session_state:
        # Without an address: the job that was looked at last.
        st.session_state[_ASKED] = started(JOB, str(looked_at)) if looked_at else started(EXAMPLE)
    return cast(Asked, st.session_state[_ASKED])


def ask(asked: Asked) -> None:
    """Another plan from now on."""
    st.session_state[_ASKED] = asked


def write() -> None:
    """Brings the address in line with what is asked."""
    address.write(current().parameters(), "plan", lambda name: _is_mine(name) or name == _TYPED)


def _is_mine(name: str) -> bool:
    return name in (_FROM, _OF, _FRAMEWORK, _KNOB) or name.partition(".")[0] in ("set", "change")


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
