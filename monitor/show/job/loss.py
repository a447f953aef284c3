"""Does it learn? The cards of the training loss and, if the log has it, of the learning rate."""

from __future__ import annotations

from datetime import tzinfo
from functools import partial

import pandas as pd
import streamlit as st

from monitor.analyze.losses import Losses, losses
from monitor.charts import loss
from monitor.charts.elements import Span
from monitor.diagnose.words.charts import loss_said, rate_said
from monitor.model import Report
from monitor.show import address, data
from monitor.show.drawing import alt_of, draw_frames, head
from monitor.words import count

#: What the address says where the loss has a logarithmic axis.
LOG = "log"


def show_losses(report: Report, span: Span, part: Span | None, zone: tzinfo) -> None:
    """The cards side by side; nothing where no line of a step names a loss or a learning rate."""
    found = data.ordered_of(report, "losses", lambda: losses(report.run.steps, report.run.events))
    if found is None:
        return
    has_loss = bool(found.rows["loss"].notna().any() or found.rows["bad"].any())
    has_rate = bool(found.rows["learning_rate"].notna().any())
    cards = [card for card, known in ((_loss, has_loss), (_rate, has_rate)) if known]
    for column, card in zip(st.columns(len(cards)), cards, strict=True):
        with column, st.container(border=True, gap="xsmall"):
            card(report, found, span, part, zone)


def _loss(report: Report, found: Losses, span: Span, part: Span | None, zone: tzinfo) -> None:
    frames = data.of_report(report, f"loss {part}", lambda: loss.loss_frames(found.rows, span, part))
    positive = bool((frames[0]["low"] > 0).all())
    log = positive and address.value("loss") == LOG
    head(
        loss_said(found, part, zone),
        _about("Training loss", found, frames[0]),
        lambda: frames[0],
        f"{report.job.name}-loss",
    )
    draw_frames(
        ("chart-loss", log),
        frames,
        partial(loss.loss_of, log=log),
        alt_of(report, "Loss", loss_said(found, None, zone)),
    )
    if positive:
        address.shown("loss", log)
        st.toggle("Logarithmic axis", **address.bound("loss", lambda chosen: LOG if chosen else None))


def _rate(report: Report, found: Losses, span: Span, part: Span | None, zone: tzinfo) -> None:
    frames = data.of_report(report, f"learning rate {part}", lambda: loss.rate_frames(found.rows, span, part))
    head(
        rate_said(found, part, zone),
        _about("Learning rate", found, frames[0]),
        lambda: frames[0],
        f"{report.job.name}-learning-rate",
    )
    said = rate_said(found, None, zone)
    draw_frames(("chart-learning-rate",), frames, loss.rate_of, alt_of(report, "Learning rate", said))


def _about(title: str, found: Losses, points: pd.DataFrame) -> str:
    who = " ".join(part for part in (found.node, "" if found.rank is None else f"rank {found.rank}") if part)
    parts = [title, f"as {who} logs it" if found.writers > 1 and who else who, count(points["reports"].sum(), "report")]
    if len(points) and points["reports"].max() > 1:
        parts.append("median, with a band from lowest to highest")
    return " · ".join(part for part in parts if part)
