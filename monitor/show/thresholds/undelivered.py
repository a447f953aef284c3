"""Which alerts reached nobody, and how are they sent again?"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import streamlit as st

from monitor.alert.delivery import undelivered
from monitor.alert.ledger import ASIDE_KEPT_S, SetAside, ledger_file
from monitor.errors import CannotDo
from monitor.installed import PROGRAM
from monitor.show.plain import plain
from monitor.words import count, instant

# So many are listed; the others are counted.
_LISTED = 5


def show_undelivered(zone: tzinfo) -> None:
    """Alerts that were refused for good, and damaged rows of the ledger; nothing where there are none."""
    try:
        ledger = ledger_file()
        if ledger is None:
            return
        found = undelivered(ledger)
    except CannotDo as error:
        st.warning(
            plain(str(error)), title="Can't see which alerts were delivered", icon=":material/notifications_off:"
        )
        return
    if found.refused:
        alerts = count(len(found.refused), "alert was", "alerts were")
        with st.container(border=True, gap="xsmall"):
            st.markdown(f":orange[:material/notifications_off: **{alerts} refused and set aside**]")
            for aside in found.refused[:_LISTED]:
                st.caption(_line(aside, zone))
            if len(found.refused) > _LISTED:
                st.caption(f"and {len(found.refused) - _LISTED} more")
            kept = f"Kept for {ASIDE_KEPT_S / 86400:.0f} days in {plain(str(ledger))}."
            st.caption(f"{kept} To send them again, once the receiver takes them:")
            st.code(_command(found.refused), language=None, wrap_lines=True)
    if found.damaged:
        rows = count(len(found.damaged), "damaged row", "damaged rows")
        st.caption(
            f":material/warning: {rows} of {plain(str(ledger))} left out: {plain('; '.join(found.damaged[:_LISTED]))}"
        )


def _line(aside: SetAside, zone: tzinfo) -> str:
    at = instant(datetime.fromtimestamp(aside.at, UTC), zone)
    return f"{at} · {plain(aside.message.title)} · {plain(aside.shown)} · {plain(aside.why)}"


def _command(refused: tuple[SetAside, ...]) -> str:
    """An address that was typed is not kept: it is to be typed again."""
    sinks = dict.fromkeys(
        "SINK" if "…" in each.shown or each.shown.startswith("exec:") else each.shown for each in refused
    )
    return " ".join([f"{PROGRAM} alert --resend", *(f"--notify {sink}" for sink in sinks)])
