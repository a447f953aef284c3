"""Lines that mark an event in the life of a job: checkpoints, evaluations, restarts, trouble in numbers and network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Mark(NamedTuple):
    """An event's kind, literal texts one of which stands in every such line, and the pattern that makes sure."""

    kind: str
    gates: tuple[str, ...]
    pattern: re.Pattern[str]


def _mark(kind: str, gates: tuple[str, ...], pattern: str) -> Mark:
    return Mark(kind, gates, re.compile(pattern))


# What one event prints in many ways stands in one pattern; the first mark that matches a line names it.
MARKS = (
    _mark(
        "checkpoint-end",
        (
            "ved checkpoint",
            "checkpointing after",
            "heckpoint saved",
            "weights saved",
            "ing checkpoint done",
            "saving checkpoint",
        ),
        r"(?i)\b(?:successfully saved checkpoint|finished (?:saving )?checkpoint|checkpoint saved|saved checkpoint"
        r"|model weights saved in|saving checkpoint done)",
    ),
    _mark(
        "checkpoint-begin",
        ("aving checkpoint", "aving model checkpoint", "aving the checkpoint", "riting checkpoint", "aving state dict"),
        r"(?i)\b(?:saving|writing) (?:the |model )*(?:checkpoint|state dict)",
    ),
    _mark(
        "evaluation-end",
        ("'eval_loss'", '"eval_loss"', "validation loss at", "eval_loss=", "eval_loss:", "val_loss:", "val_loss="),
        r"(?i)eval_loss['\"]?\s*[:=]|validation loss at|\bval_loss\s*[:=]",
    ),
    _mark(
        "evaluation-begin",
        ("Running Evaluation", "unning evaluation", "tarting evaluation", "tarting validation", "Running Validation"),
        r"(?i)\b(?:running|starting) (?:evaluation|validation)",
    ),
    _mark(
        "resume",
        (
            "esuming from",
            "esume from",
            "esuming training",
            "oaded checkpoint",
            "ontinuing training from",
            "oading checkpoint from",
        ),
        r"(?i)\b(?:resum(?:e|ing)(?: training)? from|resuming training|(?:successfully )?loaded checkpoint"
        r"|continuing training from|loading checkpoint from)",
    ),
    _mark(
        "nan",
        ("loss", "Loss"),
        r"(?i)\bloss['\"]?\s*[:=]?\s*['\"]?[-+]?(?:nan|inf(?:inity)?)\b",
    ),
    _mark("cache-flush", ("cache flush",), r"(?i)allocator cache flush|cache flush"),
    _mark(
        "network",
        ("NET/OFI", "NET/Socket", "NET/IB", "elected provider is", "elected Provider is"),
        r"NET/(?:OFI|Socket|IB)\b.*(?:[Uu]sing|[Ss]elected|[Ff]ailed|[Nn]o )|[Ss]elected [Pp]rovider is",
    ),
    _mark(
        "collective-timeout",
        ("Watchdog caught", "collective operation timeout"),
        r"Watchdog caught collective operation timeout|collective operation timeout",
    ),
    _mark("signal", ("SIGTERM", "SIGKILL", "SIGSEGV", "SIGABRT"), r"\bSIG(?:TERM|KILL|SEGV|ABRT)\b"),
    _mark("world-size", ("orld size", "world_size"), r"(?i)\bworld[ _]size\s*[:=]?\s*\d+"),
)
#: Literal texts, one of which stands in every line read here. A loss is looked at where the line has a NaN's letters.
GATES = (
    *dict.fromkeys(gate for mark in MARKS if mark.kind != "nan" for gate in mark.gates),
    *("nan", "NaN", "Infinity", "loss: inf", "loss=inf", "loss': inf", "loss inf"),
)

_LONGEST = 500


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the event that the line marks, if it marks one; a line has one mark."""
    for mark in MARKS:
        if any(gate in text for gate in mark.gates) and mark.pattern.search(text):
            yield mark.kind, text.strip()[:_LONGEST]
            return
