"""What is said if a log has no lines to show? Why, and what would help; and the lines that findings kept of it."""

from __future__ import annotations

from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.diagnose.log_places import Quote
from monitor.diagnose.quoted import quoted
from monitor.diagnose.words.evidence import when
from monitor.fetch.logs.trouble import no_lines
from monitor.model import Job, Report
from monitor.show.plain import advice, plain
from monitor.words import DASH


def no_archived_lines(report: Report | None) -> None:
    """An archive: what was read of a job, without its lines."""
    where = f"The archive {report.archive}" if report is not None and report.archive else "An archive"
    st.info(
        plain(
            f"{where} keeps what was recognized in a job's log and the lines that findings quote, but not the log itself."
        )
        + " To read the whole log, open the job in the account where it ran, while CloudWatch still has it.",
        title="The log is not in the archive",
        icon=":material/inventory_2:",
    )


def no_lines_at_all(job: Job) -> None:
    """A job of which CloudWatch has nothing."""
    if job.is_running:
        gap = no_lines(job)
        st.info(advice(f"{gap.why} {gap.remedy}"), title="No log lines yet", icon=":material/hourglass_empty:")
    elif job.started is None:
        why = f"SageMaker says: {quoted(job.failure_reason)}" if job.failure_reason else "SageMaker gives no reason."
        st.info(
            plain(f"No container had started. {why}"),
            title="The job ended before it wrote a log line",
            icon=":material/do_not_disturb_on:",
        )
    else:
        st.warning(
            advice(
                "CloudWatch has no log lines for this job. The log group's retention may have deleted them, or the "
                "job's role may not be allowed to write logs. Check the retention of /aws/sagemaker/TrainingJobs, "
                "and that the role allows logs:CreateLogStream and logs:PutLogEvents."
            ),
            title="No log lines",
            icon=":material/delete_sweep:",
        )


def show_quotes(quotes: tuple[Quote, ...], zone: tzinfo) -> None:
    """The lines that findings keep, as they keep them."""
    if not quotes:
        return
    st.markdown("**Lines quoted by findings**")
    rows = [
        {
            "When": when(quote.fact, zone),
            "Node": quote.fact.node,
            "Finding": quote.finding.title,
            "What": quote.fact.label,
            "Line": quote.fact.line,
        }
        for quote in quotes
    ]
    st.dataframe(
        pd.DataFrame(rows).dropna(axis="columns", how="all"),
        hide_index=True,
        placeholder=DASH,
        alt=f"{len(rows)} lines quoted by findings",
        column_config={"Line": st.column_config.TextColumn(width="large")},
    )
