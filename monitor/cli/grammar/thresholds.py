"""What ``thresholds`` takes."""

from __future__ import annotations

from typing import Any

from monitor.choices import SEVERITIES
from monitor.cli.grammar.options import add_command, add_output_options


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "thresholds",
        "list, add or remove saved thresholds",
        "Saved thresholds: alert checks them where no others are given, and the dashboard draws them.",
        (
            "thresholds",
            'thresholds add idle "gpu_utilization < 40% for 10 min"',
            'thresholds add stalled "seconds_since_last_step > 15 min" --severity critical',
            "thresholds remove idle",
        ),
        usage="thresholds [list|add NAME EXPR|remove NAME] [options]",
    )
    command.add_argument("action", nargs="?", default="list", metavar="list|add|remove", help="list is the default")
    command.add_argument("words", nargs="*", metavar="NAME EXPR", help="a name, and the condition in quotes")
    command.add_argument(
        "--severity", choices=SEVERITIES, default="warning", help="of the added threshold (default warning)"
    )
    command.add_argument(
        "--notify", action="append", default=[], metavar="SINK", help="where to send alerts; repeatable"
    )
    add_output_options(command, ("text", "json"))
