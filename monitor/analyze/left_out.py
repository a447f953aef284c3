"""How many events were counted and not kept, and where among those that were?"""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from monitor.model import LEFT_OUT


def left_out(events: pd.DataFrame, kinds: Collection[str]) -> pd.DataFrame:
    """``stream line count`` of each stream's further events of these kinds; ``line`` is of one of those kept among them."""
    rows = events.loc[events["kind"] == LEFT_OUT, ["stream", "line", "text"]]
    told = rows["text"].str.partition(" ") if len(rows) else pd.DataFrame({0: [], 2: []}, dtype="str")
    rows = rows.assign(count=pd.to_numeric(told[0]).astype("int64"))
    return rows.loc[told[2].isin(kinds), ["stream", "line", "count"]]
