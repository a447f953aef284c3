"""``--all-accounts``: the accounts and regions that a command looks over together, and how those that failed are named."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from monitor.accounts import AccountRegion, chosen
from monitor.cli.sources import split
from monitor.errors import BadCall
from monitor.review.across import Missing, Sweep
from monitor.settings import Settings

#: Where some accounts could not be read, and the rest is there.
EXIT_SOME_MISSING = 3


def add_accounts_options(command: argparse.ArgumentParser) -> None:
    """--all-accounts and --team, beside --account and --region of all commands."""
    many = command.add_argument_group("several accounts", "those of [[accounts]] in the settings file")
    many.add_argument(
        "--all-accounts", action="store_true", help="all of them; --account and --region leave out others"
    )
    many.add_argument("--team", action="append", default=[], metavar="NAME", help="only the accounts of this team")


def is_many(arguments: argparse.Namespace) -> bool:
    """Whether several accounts are looked over, rather than the one that boto3 finds by itself."""
    return bool(arguments.all_accounts or arguments.account or arguments.team)


def pairs_of(arguments: argparse.Namespace, settings: Settings) -> tuple[AccountRegion, ...]:
    """The pairs that the options choose; each option may be given again or have commas. BadCall where they choose none."""
    # Imported late: boto3 takes a third of a second.
    from monitor.aws.profiles import check_regions

    found = chosen(settings.accounts, split(arguments.account), split([arguments.region]), split(arguments.team))
    check_regions(found)
    return found


def sweep_of(arguments: argparse.Namespace) -> Sweep:
    """Who looks at them."""
    from monitor.fetch.account import open_pair
    from monitor.fetch.prices.file import user_prices

    prices = None if getattr(arguments, "no_cache", False) else user_prices()
    return Sweep(lambda where: open_pair(where, arguments.profile, prices))


def refuse_one_account(arguments: argparse.Namespace, what: str) -> None:
    """BadCall where the options for several accounts meet something that has one."""
    if arguments.all_accounts or arguments.team:
        raise BadCall(f"{what} and --all-accounts were given.", "Leave one of them out.")


def say_missing(missing: Sequence[Missing], asked: int) -> None:
    """A line on standard error for each pair that failed, and how many did."""
    for one in missing:
        print(f"trainwatch: {one.where}: {one.error}", file=sys.stderr)
    if missing:
        print(f"trainwatch: {len(missing)} of {asked} accounts and regions could not be read.", file=sys.stderr)


def missing_documents(missing: Sequence[Missing]) -> list[dict[str, Any]]:
    """The same for machines."""
    return [{"account": one.where.account.name, "region": one.where.region, "why": str(one.error)} for one in missing]
