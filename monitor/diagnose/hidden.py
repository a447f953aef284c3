"""Which values of a job's configuration are not shown, because they look secret?"""

from __future__ import annotations

from monitor.masking import MASK
from monitor.model import Job
from monitor.words import count

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
