"""Who reaches an address that is listened on?"""

from __future__ import annotations

import ipaddress


def is_this_machine_alone(host: str) -> bool:
    """Whether only programs of this machine get in: a loopback address, or its name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def who_can_see(host: str, port: int, read_only: bool) -> str:
    """A sentence on what others get to see and do at this address; empty where only this machine reaches it."""
    if is_this_machine_alone(host):
        return ""
    where = "this machine" if host in {"0.0.0.0", "::"} else host
    can = (
        "They can change nothing (--read-only)."
        if read_only
        else "They can also change its thresholds and mutes (--no-read-only)."
    )
    return (
        f"There is no sign-in: everyone who reaches port {port} of {where} sees all jobs, logs, parameters and costs that the "
        f"credentials of this dashboard can read. {can} docs/hosting.md shows how to put a sign-in in front."
    )
