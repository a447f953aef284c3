"""What was refused or damaged, for whoever only looks: the ledger is read as it is, neither made nor changed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from monitor.alert.ledger import SetAside
from monitor.alert.ledger_rows import COLUMNS, trouble_of
from monitor.alert.message import message_from
from monitor.errors import CannotDo


@dataclass(frozen=True, slots=True)
class Undelivered:
    """What a ledger keeps that reached nobody."""

    refused: tuple[SetAside, ...] = ()
    """Messages that were set aside, the newest first."""
    damaged: tuple[str, ...] = ()
    """Rows that were left out, as "row 7 of deliveries: its message is cut off or changed"."""


def undelivered(path: Path) -> Undelivered:
    """Of that ledger; nothing where there is none yet. CannotDo where it cannot be read."""
    if not path.exists():
        return Undelivered()
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            return _seen(db)
    except sqlite3.Error as error:
        raise CannotDo(f"The ledger of alerts {path} cannot be read: {error}.", "Look at its folder.") from error


def _seen(db: sqlite3.Connection) -> Undelivered:
    tables = {row[0] for row in db.execute("select name from sqlite_master")}
    if not {"deliveries", "damaged"} <= tables:
        return Undelivered()  # of an earlier version, which set nothing aside
    names = [*COLUMNS["deliveries"]]
    query = (
        f"select {', '.join(names)} from deliveries where sent is null and refused is not null order by refused desc"
    )
    rows = [dict(zip(names, row, strict=True)) for row in db.execute(query)]
    refused = [
        SetAside(message_from(json.loads(row["message"])), row["sink"], row["trouble"], row["refused"])
        for row in rows
        if not trouble_of("deliveries", row)
    ]
    damaged = [f"row {row[0]} of {row[1]}: {row[2]}" for row in db.execute("select place, origin, why from damaged")]
    return Undelivered(tuple(refused), tuple(damaged))
