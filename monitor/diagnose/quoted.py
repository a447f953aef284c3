"""How is text of others shown? Without the secrets that it may contain, and no longer than a person would read."""

from __future__ import annotations

from monitor.masking import MASK, without_secrets
from monitor.model import Job
from monitor.words import count

LONGEST = 500


def quoted(line: str) -> str:
    """The line as it may be shown."""
    out = " ".join(without_secrets(line).split())
    return out if len(out) <= LONGEST else out[: LONGEST - 1] + "…"


_NAMED = 6


def hidden(job: Job) -> tuple[str, ...]:
    """The names of the parameters with a masked value, or one in them."""
    shown = {name: text for name, text in job.hyperparameters.items() if name != "mp_parameters"}
    shown |= {name: str(known.value) for name, known in job.configuration.items()}
    return tuple(sorted(name for name, text in shown.items() if MASK in text))


def hidden_words(job: Job) -> str:
    """``2 values look secret and are shown as ***: hf_token and wandb_api_key.``; empty where none is."""
    names = hidden(job)
    if not names:
        return ""
    further = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    which = ", ".join(names[:_NAMED]) + further
    looks = "looks secret and is" if len(names) == 1 else "look secret and are"
    return f"{count(len(names), 'value')} {looks} shown as {MASK}: {which}."
