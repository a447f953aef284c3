"""Which network did NCCL choose between the nodes? What its startup lines say, node by node.

"Bootstrap : Using eth0" tells how ranks find one another, always by sockets, and says nothing of the data. Libfabric may be
in use with its own TCP provider: the line that names the provider counts before the one that names the plug-in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pandas as pd

_KINDS = ("network", "network-problem", "transport", "nccl-setting")
_SLOW_PROVIDER = re.compile(r"elected [Pp]rovider is (?!efa)(?:tcp|sockets|udp|net)\b")
_EFA = re.compile(r"elected [Pp]rovider is efa|Using network (?:AWS )?Libfabric")
_SOCKETS = re.compile(
    r"Using network Socket|NET/Socket ?: ?Using|^NET/Socket|\bNCCL_NET (?:set by environment )?to Socket\b"
)
_ABSENT = re.compile(
    r"NET/OFI.{0,80}(?:[Cc]ould(?:n't| not) find any optimal provider|initialization failed|[Nn]o eligible)"
    r"|fi_getinfo.{0,120}\befa\b.{0,60}(?:empty list|[Nn]o data|failed)"
    r"|fi_getinfo.{0,60}(?:failed|[Nn]o data).{0,120}\befa\b"
)


@dataclass(frozen=True, slots=True)
class Slow:
    """A node whose log shows sockets chosen, or EFA asked for and absent; with the line that says it."""

    node: str
    """"" where the line does not tell."""
    what: Literal["sockets", "absent"]
    line: str
    at: datetime | None


def without_efa(events: pd.DataFrame) -> tuple[Slow, ...]:
    """The nodes that do not use EFA by their own lines, by name; empty where lines show EFA, or nothing at all."""
    rows = events[events["kind"].isin(_KINDS)]
    found = []
    for name, mine in rows.groupby("node", observed=True):
        said = mine["text"].astype("str")
        tcp = said.str.contains(_SLOW_PROVIDER)
        if not tcp.any() and said.str.contains(_EFA).any():
            continue
        for what, hit in (("sockets", tcp | said.str.contains(_SOCKETS)), ("absent", said.str.contains(_ABSENT))):
            if hit.any():
                row = mine[hit].iloc[0]
                at = None if pd.isna(row["timestamp"]) else row["timestamp"].to_pydatetime()
                text = f"via {row['text']}" if row["kind"] == "transport" else str(row["text"])
                found.append(Slow(str(name), what, text, at))  # type: ignore[arg-type]
                break
    # A line without a node may be of any: where another shows EFA, it accuses nobody.
    return tuple(one for one in found if one.node) or tuple(found)
