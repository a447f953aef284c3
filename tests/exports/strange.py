"""A task that ends its process: in a file of its own, which a worker reads quickly."""

from __future__ import annotations

import os


def strange(text: str) -> str:
    if text == "deadly":
        os._exit(9)
    return text.upper()
