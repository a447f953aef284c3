"""What the address contains. Choices that it restores, that a link may change, and that are carried along to another page;
and by whose clock times are written, the viewer's own or UTC.

Streamlit can bind an input to the address by itself. That does not do here: a bound parameter does not survive a link
from a page that binds the same name, and whatever this program writes to the address puts bound ones back to what they
were. So the address is the truth, inputs are drawn from it, and what they change is written there. A choice is a visitor's:
the process keeps nothing but by account.

An address can name the moments that a job can have; what else stands there is said, and left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import streamlit as st

from monitor import words
from monitor.show.trouble import calm, plain

#: Parameters of the frame: they go with every link, so that a link means the same account for whoever opens it.
#: ``account`` is its number, by which another machine tells whether it is signed in to the same one; ``profile`` is a name
#: on this machine, and ``zone`` the clock (UTC, or the viewer's own).
#: ``member`` is the name of an account in the settings file.
FRAME = ("region", "account", "profile", "member", "zone")


def to(**parts: str | None) -> dict[str, str]:
    """The query parameters of a link; a part that is None is left out."""
    known = {name: st.session_state.get(name) for name in FRAME}
    return {name: str(value) for name, value in {**known, **parts}.items() if value}


_PAGE, _SEEN, _KEPT = "address-page", "address-seen", "address-kept"
#: These mean the same on all pages; any other name is its page's own.
SHARED = (*FRAME, "job")
#: What another account has its own of.
OF_ACCOUNT = ("region", "account", "profile")
# An address is of anybody: nothing that is chosen here is longer; eight names of jobs are not.
_LONGEST = 600


def arrive(page: str, own: Iterable[str] = (), elsewhere: Iterable[str] = ()) -> None:
    """Brings address and choices in line, once a run and before anything is drawn.

    On the way to another page account and clock go along, and the page finds ``own`` as it was left unless the link says
    something else; what the page before had, and only means something ``elsewhere``, is left behind. On the same page
    the address is as it is: somebody went back, or followed a link.
    """
    own = tuple(own)
    given = st.query_params.to_dict()
    kept: dict[str, str] = st.session_state.setdefault(_KEPT, {})
    if st.session_state.get(_PAGE) != page:
        before = st.session_state.get(_PAGE, "")
        for name in [name for name in elsewhere if name in given and name not in (*own, *SHARED)]:
            # The same name may mean something else here: a link that says so is let be.
            if given[name] == kept.get(_slot(before, name)):
                del st.query_params[name]
        missing = [name for name in FRAME if name not in given]
        if given.get("member") not in (None, kept.get("member")):
            # What was known of the account before is not true of this one.
            missing = [name for name in missing if name not in OF_ACCOUNT]
        # The browser may take along a part of what was there before.
        if all(given[name] == kept.get(_slot(page, name)) for name in own if name in given):
            missing += [name for name in own if name not in given]
        back = {name: text for name in missing if (text := kept.get(_slot(page, name)))}
        if back:
            st.query_params.update(back)
    elif given != st.session_state.get(_SEEN):
        # A link to the page that it stands on changes what is asked for and leaves the browser's address.
        for name in [name for name in (*own, *FRAME) if name in given][:1]:
            st.query_params[name] = given[name]
    st.session_state[_PAGE] = page
    st.session_state[_SEEN] = st.query_params.to_dict()
    for name in dict.fromkeys((*SHARED, *own)):
        if (text := value(name)) is not None:
            kept[_slot(page, name)] = text
        elif name in own or name in FRAME:
            kept.pop(_slot(page, name), None)
    for name in FRAME:
        st.session_state[name] = value(name)


def value(name: str) -> str | None:
    """What the address says of a name; None where it says nothing."""
    text = st.query_params.get(name, "").strip()
    return text[:_LONGEST] or None


def keep(name: str, text: str | None) -> None:
    """Writes a choice; None takes it out."""
    kept: dict[str, str] = st.session_state.setdefault(_KEPT, {})
    slot = _slot(st.session_state.get(_PAGE, ""), name)
    if text:
        kept[slot] = text
        if st.query_params.get(name) != text:
            st.query_params[name] = text
    else:
        kept.pop(slot, None)
        if name in st.query_params:
            del st.query_params[name]
    st.session_state[_SEEN] = st.query_params.to_dict()


def complete(**known: str | None) -> None:
    """Adds what the address does not say, and a link should: the account that is looked at by itself."""
    missing = {name: text for name, text in known.items() if text and value(name) is None}
    if missing:
        st.query_params.update(missing)
        st.session_state.setdefault(_KEPT, {}).update(missing)
        st.session_state.update(missing)
        st.session_state[_SEEN] = st.query_params.to_dict()


def mine(is_mine: Callable[[str], bool]) -> dict[str, str]:
    """The parameters of the address that are a page's own."""
    return {name: text for name, text in st.query_params.to_dict().items() if is_mine(name)}


def is_news(own: Mapping[str, str], page: str) -> bool:
    """Whether a page's own parameters say something else than what it wrote last."""
    return bool(own) and own != st.session_state.get(f"{page}-written")


def write(wanted: Mapping[str, str], page: str, is_mine: Callable[[str], bool]) -> None:
    """Brings a page's own parameters in line with what is asked for."""
    known = st.query_params.to_dict()
    for name in [name for name in known if is_mine(name) and name not in wanted]:
        del st.query_params[name]
    if any(known.get(name) != value for name, value in wanted.items()):
        st.query_params.update(wanted)
    st.session_state[f"{page}-written"] = dict(wanted)


def bound(name: str, written: Callable[[Any], str | None] = lambda chosen: str(chosen or "") or None) -> dict[str, Any]:
    """``key`` and ``on_change`` of an input that shows what the address says of ``name`` and writes it there."""
    key = f"of-{name}"
    return {"key": key, "on_change": calm(f'Changing "{name}"', lambda: keep(name, written(st.session_state[key])))}


def shown(name: str, chosen: Any) -> None:
    """Makes the input of ``name`` show this; before it is drawn."""
    st.session_state[f"of-{name}"] = chosen


def last(name: str) -> str | None:
    """What a name that all pages share was when a page last asked for it."""
    kept: dict[str, str] = st.session_state.get(_KEPT, {})
    return kept.get(name)


def _slot(page: str, name: str) -> str:
    return name if name in SHARED else f"{page} {name}"


#: What the address says where UTC was chosen; without it times are the viewer's own.
IN_UTC = "utc"
_LOCAL = "local"


def zone() -> tzinfo:
    """The time zone that times are written in; UTC itself where it was chosen, and where the browser names no zone."""
    return UTC if value("zone") == IN_UTC else _own()


def _own() -> tzinfo:
    """The browser's."""
    return words.zone(st.context.timezone)


def show_choice() -> None:
    """The two clocks, in the sidebar."""
    own = _own()
    name = getattr(own, "key", None) or "UTC"
    labels = {_LOCAL: f"Your local time ({name}, now {words.zone_name(datetime.now(UTC), own)})", IN_UTC: "UTC"}
    shown("zone", IN_UTC if value("zone") == IN_UTC else _LOCAL)
    st.radio(
        "Times",
        tuple(labels),
        format_func=labels.__getitem__,
        **bound("zone", lambda chosen: IN_UTC if chosen == IN_UTC else None),
    )


# SageMaker began in 2017; nobody looks ahead further than this.
_FIRST, _END = datetime(2017, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_LATEST = timedelta(days=366)
_LASTS = re.compile(r"(\d{1,6})(s|m|h|d)", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_EVENT = re.compile(r"(\d{12,14})-([0-9a-f]{8})", re.ASCII)
_TIMES = ("from", "until", "at")
_SHOWN = 40


def moment(text: str | None) -> datetime | None:
    """The moment that a text names, with or without separators; UTC where it says no zone; None where it is none that a job
    can have."""
    try:
        found = datetime.fromisoformat((text or "").strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return found if _FIRST <= found < _END else None


def length(text: str | None) -> timedelta | None:
    """The length that a text names: ``15m``, ``90s``, ``6h``, ``1d``; None where it is none, or beyond a year."""
    found = _LASTS.fullmatch((text or "").strip())
    lasts = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None
    return lasts if lasts and lasts <= _LATEST else None


def event(text: str) -> tuple[int, int] | None:
    """The time in ms and the digest of a line; None where it is none."""
    found = _EVENT.fullmatch(text)
    if found is None or not _FIRST.timestamp() <= int(found[1]) / 1000 < _END.timestamp():
        return None
    return int(found[1]), int(found[2], 16)


def show_left_out(parameters: Mapping[str, str]) -> None:
    """One sentence on what of an address is no time."""
    wrong = [name for name in _TIMES if parameters.get(name) and moment(parameters[name]) is None]
    wrong += ["last"] if parameters.get("last") and length(parameters["last"]) is None else []
    wrong += ["event"] if parameters.get("event") and event(parameters["event"]) is None else []
    if wrong:
        said = " and ".join(f"{name}={plain(parameters[name][:_SHOWN])}" for name in wrong)
        st.warning(
            f"The address says {said}, which is no time that a job can have. It is left out.",
            icon=":material/event_busy:",
        )
