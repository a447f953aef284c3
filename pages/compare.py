"""Compare: did it help? The verdict first, then what differs, how step times are distributed, and whether a prediction held."""

import streamlit as st

from monitor.review.run_names import short_names
from monitor.show import data, shell
from monitor.show.compare.board import show_comparison, soonest
from monitor.show.compare.choice import show_choice
from monitor.show.pace import live

visit = shell.enter()

if chosen := show_choice(visit.account):
    st.set_page_config(page_title=f"{' · '.join(short_names(chosen))} · Trainwatch")
    live(
        lambda: show_comparison(visit.account, chosen, visit.zone),
        f"compare-{','.join(chosen)}",
        lambda: soonest(data.snapshot(visit.account, name) for name in chosen),
    )
