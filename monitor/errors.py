"""The errors a user can meet, each with what to do about it and the exit code of the command line.

    TrainwatchError
    ├── BadCall        the call itself is wrong                     exit 2
    └── CannotDo       it could not be done                         exit 3
        ├── NoSuchJob      no job of that name (names the nearest)
        ├── NotAllowed     AWS refused the right to one action
        ├── NoCredentials  none found, or they have expired
        ├── Unreachable    no answer: wrong region, endpoint, network
        ├── Throttled      AWS asked to slow down and kept asking
        ├── NoData         a file, folder or archive without what was asked for
        └── Fault          an error of this program itself, with the file that its traceback is in

They are raised where the program touches the world and caught in the command line and the pages, nowhere between.
Anything else that escapes is a bug: ``monitor.faults`` logs it with its traceback and makes a Fault of it.
"""

from __future__ import annotations


class TrainwatchError(Exception):
    """``message`` names the cause, ``remedy`` the next step; together they are one line for the user."""

    exit_code = 3

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message.strip()
        self.remedy = remedy.strip()

    def __str__(self) -> str:
        return " ".join(part for part in (self.message, self.remedy) if part)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in place of a traceback."""
        return [str(self)]


class BadCall(TrainwatchError):
    exit_code = 2


class CannotDo(TrainwatchError):
    """It could not be done; the subclasses say which kind of obstacle it was."""


class NoSuchJob(CannotDo):
    pass


class NotAllowed(CannotDo):
    """``action`` is the right that is missing, as a policy names it: "logs:FilterLogEvents"; "" where it is not known.

    ``denied_by`` is the policy that denies it in so many words ("service control policy"): no further allow helps there.
    ``arn`` is that of what was asked for, in whole or up to its region and account.
    """

    def __init__(self, message: str, remedy: str = "", action: str = "", denied_by: str = "", arn: str = "") -> None:
        super().__init__(message, remedy)
        self.action = action
        self.denied_by = denied_by
        self.arn = arn


class NoCredentials(CannotDo):
    pass


class Unreachable(CannotDo):
    pass


class Throttled(CannotDo):
    pass


class NoData(CannotDo):
    pass


class Fault(CannotDo):
    """A part of this program failed on an error of its own.

    ``log`` is the file that holds the traceback, "" where none could be written; ``copied`` is a report to pass on: no
    secrets, no log text, no names of the user's.
    """

    def __init__(self, message: str, remedy: str, log: str, copied: str) -> None:
        super().__init__(message, remedy)
        self.log = log
        self.copied = copied
