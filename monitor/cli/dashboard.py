"""``dashboard``: the browser dashboard on the configured AWS account, or on an archive."""

from __future__ import annotations

import argparse
import os
from typing import Any

from monitor.accounts import chosen
from monitor.cli.options import (
    account_source,
    add_account_options,
    add_archive_option,
    add_cache_option,
    add_command,
    archive_source,
)
from monitor.errors import BadCall
from monitor.serve import HERE, check, is_this_machine_alone, serve, stop_signals
from monitor.settings import ALL_ACCOUNTS, ARCHIVE_SHOWN, CACHE_OFF, ONE_PROFILE, READ_ONLY, expanded, read


def add_address_options(command: argparse.ArgumentParser) -> None:
    """Where a dashboard is served."""
    command.add_argument("--port", type=int, default=8501, help="port (default 8501)")
    command.add_argument(
        "--host",
        default=HERE,
        metavar="ADDRESS",
        help=f"address to listen on (default {HERE}, this machine only; 0.0.0.0 lets others in: there is no sign-in)",
    )
    command.add_argument(
        "--read-only",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether nobody can change thresholds and mutes, nor choose another profile (default: only where --host lets "
        "others in)",
    )


def visitors(arguments: argparse.Namespace) -> dict[str, str]:
    """What the dashboard's environment says of who may change something."""
    shared = not is_this_machine_alone(arguments.host)
    return {READ_ONLY: "1" if (shared if arguments.read_only is None else arguments.read_only) else "0"}


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "dashboard",
        "the browser dashboard on the AWS account",
        "Serves the browser dashboard on the configured AWS account, or on an archive, until Ctrl-C.",
        (
            "dashboard",
            "dashboard --profile training --region eu-west-1",
            "dashboard --all-accounts --host 0.0.0.0",
            "dashboard --archive ~/trainwatch-archive",
        ),
    )
    add_address_options(command)
    add_archive_option(command, "show the jobs of this archive instead of the account's; needs no AWS")
    add_cache_option(command)
    add_account_options(command)
    command.add_argument(
        "--all-accounts",
        action="store_true",
        help="everyone who opens the dashboard sees the accounts of the settings file (without it, whoever runs it alone)",
    )
    command.set_defaults(run=run)


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
