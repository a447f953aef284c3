"""The jobs that are compared, and their baseline. One value that an address holds and restores (``/compare?jobs=A,B``, the
baseline first), two inputs and, where nothing is chosen yet, pairs worth a look.

``jobs=A&jobs=B`` means the same. What the inputs hold follows the address, and it follows them.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from monitor.review.run_names import previous, proposed, short_names
from monitor.show import address, data
from monitor.show.shell import COMPARE_PAGE, JOB_PAGE, show_link
from monitor.show.trouble import calm, plain, show_error
from monitor.words import count

#: More curves cannot be told apart.
MOST = 8
NAME = "jobs"
# An address is of anybody; no name is longer.
_LONGEST = 250
_MOST_NAMED = 50


def link(*names: str) -> dict[str, str]:
    """The address of a comparison, the baseline first."""
    return address.to(jobs=",".join(names))


def names_in(values: Sequence[str]) -> tuple[str, ...]:
    """The names that an address or an input holds, in their order; the same one may be there twice."""
    found = [name.strip() for value in values for name in value.split(",")]
    return tuple(name for name in found if name and len(name) <= _LONGEST)[:_MOST_NAMED]


def current() -> tuple[str, ...]:
    """What this visitor asks for: what the address says, or what was left here on the way to another page."""
    several = st.query_params.get_all(NAME)
    if len(several) > 1:
        choose(names_in(several))
    return names_in([address.value(NAME) or ""])


def choose(names: Sequence[str]) -> None:
    """Other jobs from now on."""
    address.keep(NAME, ",".join(names))


#: So many pairs are proposed.
PROPOSED = 6
_CHOSEN, _AGAINST = "compare-jobs", "compare-against"


def show_choice(account: data.AccountChoice) -> tuple[str, ...]:
    """The inputs; gives the jobs to compare, each once, or what there is to choose where fewer than two are named."""
    asked = current()
    once = tuple(dict.fromkeys(asked))
    shown = once[:MOST]
    listing = data.jobs(account)
    listed = [job.name for job in listing.jobs]
    st.session_state[_CHOSEN] = list(shown)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect(
            "Jobs to compare",
            listed,
            key=_CHOSEN,
            # A link may name a job older than the list.
            accept_new_options=True,
            max_selections=MOST,
            placeholder="Choose two or more, or type full names",
            on_change=calm("Choosing the jobs to compare", _chosen),
        )
        if len(shown) > 1:
            st.session_state[_AGAINST] = shown[0]
            st.selectbox(
                "Baseline (A)",
                shown,
                key=_AGAINST,
                format_func=dict(zip(shown, short_names(shown), strict=True)).__getitem__,
                on_change=calm("Choosing the baseline", _other_baseline),
                width=280,
            )
    if len(asked) > len(once):
        twice = [name for name in once if asked.count(name) > 1]
        st.caption(f":material/content_copy: {plain(', '.join(twice))} is named twice and counted once.")
    if len(once) > MOST:
        st.caption(f":material/filter_8: {len(once)} jobs are named; the first {MOST} are compared.")
    if len(shown) > 1:
        return shown
    if listing.error and not listed:
        show_error(listing.error, "list")
    _guide(shown[0] if shown else None, listed)
    return ()


def _guide(name: str | None, listed: list[str]) -> None:
    """What to do where there is nothing to compare yet."""
    if name is None:
        st.info(
            "The first is the baseline. You see what differs in the configuration, which job takes less time for the same "
            "work and how certain that is, and whether a prediction held.",
            title="Choose two or more jobs",
            icon=":material/compare_arrows:",
        )
        pairs = proposed(listed, PROPOSED)
    else:
        st.info(
            f"Only {plain(name)} is chosen.",
            title="Choose another job",
            icon=":material/compare_arrows:",
        )
        pairs = _with(name, listed)
    if pairs:
        st.markdown("**Suggested pairs**")
        for earlier, later in pairs:
            before, after = short_names((earlier, later))
            show_link(
                COMPARE_PAGE,
                plain(f"{after} vs. {before}"),
                link(earlier, later),
                plain(f"{later} vs. {earlier}, the baseline"),
            )
    elif listed:
        st.caption(f"{count(len(listed), 'job')} to choose from; no two names look like runs of the same job.")
    if name is not None:
        show_link(JOB_PAGE, plain(f"Open {name}"), address.to(job=name))


def _with(name: str, listed: list[str]) -> list[tuple[str, str]]:
    """The pairs of one job: with the run before it, with the one after it, and those that are proposed anyway."""
    found = []
    if (earlier := previous(name, listed)) is not None:
        found.append((earlier, name))
    found += [(name, later) for later in listed if previous(later, listed) == name]
    found += [pair for pair in proposed([name, *listed], len(listed) + 1) if name in pair]
    return list(dict.fromkeys(found))[:PROPOSED]


def _chosen() -> None:
    choose(names_in(st.session_state[_CHOSEN]))


def _other_baseline() -> None:
    first = st.session_state[_AGAINST]
    choose([first, *(name for name in dict.fromkeys(current()) if name != first)])
