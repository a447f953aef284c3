"""What all tools share: the account, and the newest review of each job, made when it is asked for.

Only what a person opened is read: region and profile are the command's, files those of ``--files``. An argument of a tool,
which a log line may have suggested, opens nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.archive.cache import Cache
from monitor.aws.calls import BudgetShare, Tally, counted
from monitor.choices import ARCHIVE, LOGS
from monitor.errors import BadCall, CannotDo
from monitor.model import Report
from monitor.review import Progress, Reviewer
from monitor.review.archived import Source, source_of
from monitor.review.muted import mutes, with_mutes
from monitor.review.watch import LATE_S
from monitor.settings import Settings, expanded

#: A review of a running job that is younger is the answer to the same question again.
FRESH = timedelta(seconds=15)
# Of jobs that were asked for: a report holds all rows of a job.
_REMEMBERED = 24


class Gone(Exception):
    """Nobody waits for the review any more."""


class AccountSession:
    """One account, in use by the calls of one server. Safe to call from many threads; jobs are reviewed side by side."""

    def __init__(
        self,
        account: Callable[[], Source],
        settings: Settings = Settings(),
        cache: Cache | None = None,
        files: Sequence[str] = (),
        region: str | None = None,
        profile: str | None = None,
        most_usd: float | None = None,
    ) -> None:
        self._make = account
        self._account: Source | None = None
        self._settings, self.cache = settings, cache
        self._files = [expanded(each).resolve() for each in files]
        self._region, self._profile = region, profile
        # By the metrics of all reviews together: logs cost nothing.
        self._spent = Tally(most_usd)
        self._lock = threading.Lock()
        self._jobs: dict[str, _Reviewed] = {}

    def account(self) -> Source:
        """The source of the jobs that AWS has; made at the first question, so that what is missing is told to who asks."""
        with self._lock:
            if self._account is None:
                self._account = self._make()
            return self._account

    def source(self, job: str) -> tuple[Source, str]:
        """(source, job name). BadCall for files that this server was not given."""
        self._check(job)
        return source_of(job, self.account, self._region, self._profile)

    def report(
        self, job: str, say: Progress = lambda text: None, given_up: Callable[[], bool] = lambda: False
    ) -> Report:
        """The review of a job as of now; ``Gone`` where ``given_up()`` says so while it is made.

        CannotDo where it would cost more than is left: half a review is none.
        """

        def going_on(text: str) -> None:
            if given_up():
                raise Gone
            say(text)

        with self._lock:
            known = self._jobs.pop(job, None) or _Reviewed()
            self._jobs[job] = known
            for name in list(self._jobs)[:-_REMEMBERED]:
                del self._jobs[name]
        with known.lock:
            if known.is_too_dear:
                raise self._too_dear(job)
            now = datetime.now(UTC)
            if known.report is None or not _lasts(known.report, now):
                if known.reviewer is None:
                    source, name = self.source(job)
                    known.reviewer = Reviewer(source, name, self._settings, cache=self.cache)
                share = BudgetShare(self._spent)
                try:
                    with counted(share):
                        report = known.reviewer.review(now, going_on)
                except Gone:
                    # What it has read is not whole.
                    known.reviewer = None
                    raise
                if share.is_refused:
                    # It will not be cheaper, and its log need not be read again to say so.
                    known.is_too_dear, known.reviewer = True, None
                    raise self._too_dear(job)
                known.report = report
            return with_mutes(known.report, mutes())

    def _too_dear(self, job: str) -> CannotDo:
        spent = self._spent.bill().estimated_usd
        return CannotDo(
            f"The metrics of {job} would cost more than is left: this server has spent about ${spent:.4f}.",
            "Its owner allows more with: trainwatch mcp --max-usd X. Log lines cost nothing: evidence(job, find=…).",
        )

    def _check(self, job: str) -> None:
        kind = next((kind for kind in (LOGS, ARCHIVE) if job.startswith(kind)), None)
        path = job.removeprefix(kind or "")
        if kind is None or (path.startswith("s3://") and kind == ARCHIVE):
            return
        asked = expanded(path).resolve() if path != "-" else Path("-")
        if not any(asked == each or each in asked.parents for each in self._files):
            given = ", ".join(map(str, self._files)) or "none was given"
            raise BadCall(
                f"This server may not read {path}; the folders that it may read are: {given}.",
                "Its owner opens one with: trainwatch mcp --files FOLDER. Jobs of the account need none.",
            )


class _Reviewed:
    """A job that was asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reviewer: Reviewer | None = None
        self.report: Report | None = None
        self.is_too_dear = False


def _lasts(report: Report, now: datetime) -> bool:
    """Whether another look would say the same, or would come too soon."""
    ended = report.job.ended
    over = ended is not None and (report.reviewed_at - ended).total_seconds() > LATE_S
    return bool(report.archive) or over or now - report.reviewed_at < FRESH
