"""The answer of a comparison: less time, more, cannot tell or not comparable; whether the same work is compared."""

from __future__ import annotations

import streamlit as st

from monitor.diagnose.comparison.compare import Against, Comparison, letter
from monitor.diagnose.comparison.words import beside_words, headline, summary_words, work_words
from monitor.show.plain import plain
from monitor.show.severity import Colour

_BADGES: dict[str, tuple[str, Colour]] = {
    "faster": (":material/trending_up:", "green"),
    "slower": (":material/trending_down:", "orange"),
    "cannot tell": (":material/question_mark:", "gray"),
    "not comparable": (":material/block:", "gray"),
}


def show_answer(comparison: Comparison) -> None:
    """One banner for two jobs; of more, what it comes to and a line each."""
    if len(comparison.against) == 1:
        _banner(comparison)
        return
    names = [letter(place) for place in range(1, len(comparison.reports))]
    with st.container(border=True):
        st.markdown(f"**{plain(summary_words(comparison.against, names))}**")
        for place in range(1, len(comparison.reports)):
            title, body = said(comparison, place)
            icon, colour = _BADGES[comparison.against[place - 1].answer]
            st.markdown(f":{colour}-badge[{icon} {letter(place)}] **{plain(title)}.** {plain(body)}")


def said(comparison: Comparison, place: int) -> tuple[str, str]:
    """The verdict on one job in a few words, and what stands behind it."""
    result, name = comparison.against[place - 1], letter(place)
    first, other = comparison.figures[0], comparison.figures[place]
    found = headline(result, name, (first.step_s, other.step_s))
    parts = [found.body]
    if not result.is_of_one_job:
        # A verdict for the same samples says already how many a step has.
        if result.verdict == "cannot tell" or result.work is None or result.work.unit is None:
            parts.append(work_words(result, name, (first.samples_per_step, other.samples_per_step)))
        parts += [beside_words(result), told_above(result)]
    return found.title, " ".join(part for part in parts if part)


def told_above(result: Against) -> str:
    """That the times of the two were come by differently: beside a verdict, and else among the notes."""
    return result.otherwise if result.unlike is None else ""


def _banner(comparison: Comparison) -> None:
    title, body = (plain(words) for words in said(comparison, 1))
    icon, _ = _BADGES[answer := comparison.against[0].answer]
    match answer:
        case "faster":
            st.success(body, title=title, icon=icon)
        case "slower":
            st.warning(body, title=title, icon=icon)
        case _:
            st.info(body, title=title, icon=icon)
