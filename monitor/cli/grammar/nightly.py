"""What ``nightly`` takes."""

from __future__ import annotations

from typing import Any

from monitor.choices import BY
from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_command,
    add_output_options,
    add_sink_options,
)


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "nightly",
        "archive new jobs, judge rules, send the weekly report",
        "What cron runs once a night: archives the jobs since the last night and those that ran then, judges the saved "
        "rules on those that have ended, and on Mondays sends the report of the week. A night that was killed, or did not "
        "take place, is caught up by the next one. The exit code is 0, or 3 where anything was not done.",
        (
            "nightly",
            "nightly --archive s3://my-bucket/trainwatch --by project --quiet",
            "nightly --rules rules.toml --first 30d --format json",
            "nightly --all-accounts --archive s3://my-bucket/trainwatch --notify slack:env:SLACK_WEBHOOK --quiet",
        ),
    )
    add_archive_option(command, "the archive (default: the settings' archive)")
    command.add_argument(
        "--first", default="14d", metavar="14d", help="how far back the first night looks (default 14d)"
    )
    command.add_argument("--by", choices=BY, default="team", help="whose hours the report is by (default team)")
    command.add_argument("--rules", metavar="FILE", help="a rules file (TOML) instead of the saved rules")
    add_sink_options(command, "who gets reports, alerts and troubles", "messages")
    command.add_argument("--max-usd", metavar="X", help="make no metric call that would raise the cost above X USD")
    add_account_options(command)
    add_accounts_options(command)
    add_output_options(command, ("text", "json"))
    # Its reviews go into the archive; a cache beside it would be the same again.
    command.set_defaults(no_cache=True)
