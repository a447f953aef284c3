"""How is a threshold written on a page? As it was typed, as a command to copy, and the syntax."""

from __future__ import annotations

import os
import shlex

import streamlit as st

from monitor import settings
from monitor.alert.conditions import MEASURES, RuleSeverity
from monitor.errors import TrainwatchError
from monitor.installed import PROGRAM
from monitor.show.plain import advice

#: Name, expression, how loud, and what it is good for: to begin with.
EXAMPLES: tuple[tuple[str, str, RuleSeverity, str], ...] = (
    ("idle GPUs", "gpu_utilization < 40% for 10 min", "warning", "GPUs you pay for that sit idle, on any node"),
    ("slow steps", "step_time > 1.3x for 20 steps", "warning", "Steps that take 1.3 times the job's own median so far"),
    (
        "no progress",
        "seconds_since_last_step > 15 min",
        "critical",
        "No step for 15 minutes: the job may be hanging",
    ),
)


def typed(text: str) -> str:
    """An expression on one line."""
    return " ".join(text.split())


def command(job: str | None, text: str, *options: str) -> str:
    """The same threshold at a terminal; expressions hold nothing that a shell would read inside quotes."""
    words = [f"{PROGRAM} alert", shlex.quote(job) if job else "JOB"]
    if root := os.environ.get(settings.ARCHIVE_SHOWN):
        words.append(f"--archive {shlex.quote(root)}")
    return " ".join([*words, f'--when "{typed(text)}"', *options])


def show_command(job: str | None, text: str) -> None:
    """Three commands, each with what it is for."""
    for what, options in (
        ("Once", ()),
        ("Until the job ends, with a line for anything new", ("--watch",)),
        ("On a finished job, with what stopping at the alert would have saved", ("--backtest",)),
    ):
        st.caption(what)
        st.code(command(job, text, *options), language=None, wrap_lines=True)


def show_grammar() -> None:
    """What can be typed, in a few lines."""
    names = " ".join(f"`{name}`" for name in MEASURES)
    st.markdown(
        f"`METRIC OP VALUE [for DURATION] [on SCOPE]`, or `finding ID`, `finding critical`\n\n"
        f"- **METRIC** {names}\n"
        "- **OP** `<` `<=` `>` `>=`\n"
        "- **VALUE** `40%`, `15 min`, `$500`, a plain number (percent, seconds, USD), or `1.3x`: a multiple of the job's own "
        "median so far\n"
        "- **DURATION** `90s` `10 min` `2h` `20 steps`, without a break\n"
        "- **SCOPE** `any` node (the default), `all` at once, their `mean`, one such as `algo-2`, "
        "or one of its GPUs: `algo-2/gpu5` (of jobs with a profiler)"
    )


def show_wrong(error: TrainwatchError, title: str) -> None:
    """What cannot be read, as the command line says it: a sentence, and a caret under the wrong word."""
    sentence, _, shown = error.message.partition("\n")
    st.error(advice(f"{sentence} {error.remedy}"), title=title, icon=":material/error:")
    if shown:
        st.code("\n".join(line.removeprefix("  ") for line in shown.split("\n")), language=None)
