"""Which process did the launcher see killed, where the process itself could say nothing?"""

from __future__ import annotations

import re

import pandas as pd

from monitor.analyze.cascade import Cascade

# Exit codes of SIGKILL as torchrun, a shell and Open MPI write them.
_KILLED = re.compile(r"\bexitcode=(?:-9|137)\b|\bsignal=(?:9|Killed)\b")
_FIELD = re.compile(r"(\w+)=(\S+)")


def killed_by(events: pd.DataFrame) -> Cascade | None:
    """The first process that a launcher saw die of SIGKILL, as an error of its own; None where none is told of."""
    exits = events[(events["kind"] == "worker-exit") & events["text"].str.contains(_KILLED)]
    if exits.empty:
        return None
    row = exits.sort_values(["timestamp", "stream", "line"], kind="stable").iloc[0]
    fields = dict(_FIELD.findall(str(row["text"])))
    rank = int(fields["rank"]) if "rank" in fields else None
    if rank is None:
        # torchrun names the rank in the line before, or in its block behind.
        near = events[(events["kind"] == "worker-exit") & (events["stream"] == row["stream"])]
        near = near[near["text"].str.contains(r"\brank=", regex=True) & (near["line"] - row["line"]).between(-3, 80)]
        before = near[near["line"] <= row["line"]]
        named = (
            before
            if "local_rank" not in fields
            else near[near["text"].str.contains(f"local_rank={fields['local_rank']}\\b")]
        )
        rank = int(dict(_FIELD.findall(str(named.iloc[0]["text"])))["rank"]) if len(named) else None
    host = fields.get("host", "")
    node = host if host.startswith("algo-") else str(row["node"])
    at = None if pd.isna(row["timestamp"]) else row["timestamp"].to_pydatetime()
    signals = events[(events["kind"] == "signal") & (events["stream"] == row["stream"])]
    said = signals[signals["text"].str.contains("SIGKILL")]
    text = str(said.iloc[0]["text"]) if len(said) else f"the launcher reported that a process exited: {row['text']}"
    return Cascade("worker-exit", text, at, node, rank, str(row["stream"]), int(row["line"]), 0, (), ())
