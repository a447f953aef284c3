"""``dashboard``: the browser dashboard on the configured AWS account, or on an archive."""

from __future__ import annotations

import argparse
import os

from monitor.accounts import chosen
from monitor.cli.options import account_source, archive_source
from monitor.errors import BadCall
from monitor.serve import check, is_this_machine_alone, serve, stop_signals
from monitor.settings import ALL_ACCOUNTS, ARCHIVE_SHOWN, CACHE_OFF, ONE_PROFILE, READ_ONLY, expanded, read


def visitors(arguments: argparse.Namespace) -> dict[str, str]:
    """What the dashboard's environment says of who may change something."""
    shared = not is_this_machine_alone(arguments.host)
    return {READ_ONLY: "1" if (shared if arguments.read_only is None else arguments.read_only) else "0"}


def run(arguments: argparse.Namespace) -> int:
    """Runs the dashboard until it is stopped."""
    environment = dict(os.environ)
    if arguments.account:
        raise BadCall(
            "The dashboard is of no single account of the settings file.", "Choose it in the sidebar, top left."
        )
    # What is missing (a region, a profile, the archive) is said here, not in the browser.
    if arguments.archive is not None:
        root = archive_source(arguments.archive, arguments).label
        environment[ARCHIVE_SHOWN] = root if "://" in root else str(expanded(root).absolute())
    else:
        account_source(arguments)
        environment.pop(ARCHIVE_SHOWN, None)
    if arguments.all_accounts:
        if arguments.archive is not None:
            raise BadCall("--archive and --all-accounts were given.", "Leave one of them out.")
        # Imported late: boto3 takes a third of a second.
        from monitor.aws.profiles import check_regions

        check_regions(chosen(read().accounts))
        environment[ALL_ACCOUNTS] = "1"
    if arguments.region:
        environment["AWS_REGION"] = environment["AWS_DEFAULT_REGION"] = arguments.region
    if arguments.profile:
        environment["AWS_PROFILE"] = arguments.profile
    environment |= visitors(arguments)
    # Started for one profile, or for people who are not its owner: the other profiles of this machine are no one's to choose.
    if arguments.profile or os.environ.get("AWS_PROFILE") or not is_this_machine_alone(arguments.host):
        environment[ONE_PROFILE] = "1"
    if arguments.no_cache:
        environment[CACHE_OFF] = "1"
    check(arguments.port, host=arguments.host)
    with stop_signals() as stopped:
        announce = "Trainwatch: {}  (Ctrl-C stops it)".format
        serve(arguments.port, environment, stopped, announce, host=arguments.host)
    return 0
