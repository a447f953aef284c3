"""What a user sets once: a file and the environment, read in one place.

``$XDG_CONFIG_HOME/trainwatch/config.toml`` (``~/.config`` otherwise):

    [prices_usd_per_instance_hour]
    "ml.p4d.24xlarge" = 25.25

    [cache]
    max_gib = 2                        # of finished jobs in $XDG_CACHE_HOME/trainwatch; 0 keeps none

    [step_patterns]                    # job names (with * and ?) -> pattern of their step lines
    "asr-*" = 'utt (?P<step>\\d+) took (?P<time_s>[\\d.]+)'
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from monitor.errors import BadCall

CACHE_GIB = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force."""

    prices: Mapping[str, float] = field(default_factory=dict)
    """Instance type -> USD per instance-hour; types that are not named have no known price."""
    step_patterns: Mapping[str, str] = field(default_factory=dict)
    """Job name with wildcards -> regular expression with named groups, as for --step-regex."""
    path: str = ""
    cache_bytes: int = CACHE_GIB << 30
    """The most that the cache of finished jobs may take."""

    def patterns_of(self, job: str) -> tuple[str, ...]:
        """The patterns that were saved for a job of this name."""
        return tuple(pattern for name, pattern in self.step_patterns.items() if fnmatchcase(job, name))


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the settings file is looked for."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(base) / "trainwatch" / "config.toml"


def read(path: Path | None = None) -> Settings:
    """The settings; empty ones where no file exists. BadCall names what is wrong in a file that cannot be used."""
    path = path or config_file()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadCall(f"The settings file {path} cannot be used: {error}.", "Correct it, or move it away.") from None
    for table in ("prices_usd_per_instance_hour", "step_patterns", "cache"):
        if not isinstance(data.get(table, {}), dict):
            raise BadCall(f"In {path} {table} is no table.", f"Write [{table}] on a line of its own, entries below.")
    prices = data.get("prices_usd_per_instance_hour", {})
    bad = [
        name
        for name, price in prices.items()
        if isinstance(price, bool) or not isinstance(price, (int, float)) or price < 0
    ]
    if bad:
        raise BadCall(
            f"In {path} the price of {bad[0]} is no number of USD per hour.", 'Write it as "ml.p4d.24xlarge" = 25.25.'
        )
    patterns = data.get("step_patterns", {})
    wrong = [name for name, pattern in patterns.items() if not isinstance(pattern, str)]
    if wrong:
        raise BadCall(f"In {path} the step pattern of {wrong[0]} is no text.", "Write it as 'step (?P<step>\\d+)'.")
    gib = data.get("cache", {}).get("max_gib", CACHE_GIB)
    if isinstance(gib, bool) or not isinstance(gib, (int, float)) or not 0 <= gib < 1e6:
        raise BadCall(f"In {path} max_gib of [cache] is no number of GiB.", "Write it as max_gib = 2.")
    return Settings({name: float(price) for name, price in prices.items()}, patterns, str(path), int(gib * 2**30))
