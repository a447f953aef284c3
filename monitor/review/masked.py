"""Takes the secrets out of a run, once, before anybody shows, keeps or archives what is made of it.

Settings and SageMaker's words come without secrets from the source (``monitor.fetch.jobs``); what the log adds is
masked here, with the values that the job itself keeps under secret names; lines of the Logs page are masked in
``monitor.review.log_lines``. Only what is shown is masked, so that reading a log takes no longer for it.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from monitor.masking import masked, without_secrets
from monitor.model import Run, StepReading


def _shown(reading: StepReading, secrets: tuple[str, ...]) -> StepReading:
    lines = tuple(replace(line, text=without_secrets(line.text, secrets)) for line in reading.lines)
    return replace(reading, lines=lines, shape=without_secrets(reading.shape, secrets))


class Masked:
    """Masks the runs of one job; what was masked for one look is not worked on at the next."""

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()
        self._known: dict[str, str] = {}

    def __call__(self, run: Run) -> Run:
        """The run as it may be shown; it keeps none of the secrets that its job was read with."""
        job = run.job
        if job.secrets != self._secrets:
            self._secrets, self._known = job.secrets, {}
        shown = {
            name: replace(each, value=masked(name, each.value, job.secrets)) for name, each in job.configuration.items()
        }
        reason = None if job.failure_reason is None else without_secrets(job.failure_reason, job.secrets)
        transitions = tuple(
            replace(each, message=without_secrets(each.message, job.secrets)) for each in job.transitions
        )
        return replace(
            run,
            job=replace(job, configuration=shown, failure_reason=reason, transitions=transitions, secrets=()),
            events=self._events(run.events),
            logs=replace(
                run.logs,
                sample=tuple(without_secrets(line, job.secrets) for line in run.logs.sample),
                readings=tuple(_shown(reading, job.secrets) for reading in run.logs.readings),
                learned=tuple(without_secrets(shape, job.secrets) for shape in run.logs.learned),
            ),
        )

    def _events(self, events: pd.DataFrame) -> pd.DataFrame:
        texts = events["text"].dropna().unique()
        for text in texts:
            if text not in self._known:
                self._known[text] = without_secrets(text, self._secrets)
        if all(text == self._known[text] for text in texts):
            return events
        return events.assign(text=pd.Series(events["text"].map(self._known), dtype="str"))
