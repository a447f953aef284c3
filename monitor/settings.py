"""What a user sets once: a file and the environment, read in one place.

``$XDG_CONFIG_HOME/trainwatch/config.toml`` (``~/.config`` otherwise):

    archive = "s3://bucket/prefix"      # where `archive` puts jobs; $XDG_DATA_HOME/trainwatch/archive by itself
    price_source = "our contract"       # what reports call the prices below; "settings file" by itself

    public_url = "https://trainwatch.example.com"   # where others find the dashboard: alerts link to it

    [prices_usd_per_instance_hour]     # come before AWS's price list
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
from urllib.parse import urlsplit

from monitor.errors import BadCall

CACHE_GIB = 2
#: Set in the environment to neither read nor write any cache.
CACHE_OFF = "TRAINWATCH_NO_CACHE"
#: Set in the environment to the archive that the dashboard shows instead of an account.
ARCHIVE_SHOWN = "TRAINWATCH_ARCHIVE"
#: Set to 1 in the environment where the account is the demo's, whose jobs never ran.
SAMPLE_SHOWN = "TRAINWATCH_DEMO"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force."""

    prices: Mapping[str, float] = field(default_factory=dict)
    """Instance type -> USD per instance-hour; types that are not named are looked up in AWS's price list."""
    step_patterns: Mapping[str, str] = field(default_factory=dict)
    """Job name with wildcards -> regular expression with named groups, as for --step-regex."""
    path: str = ""
    cache_bytes: int = CACHE_GIB << 30
    """The most that the cache of finished jobs may take."""
    price_source: str = "settings file"
    """What reports call ``prices``."""
    public_url: str = ""
    """Where others find the dashboard, without a slash at its end; empty: nobody said so."""
    archive: str = ""
    """The folder or s3:// address of the user's archive; "" for the place of ``archive_root``."""

    def patterns_of(self, job: str) -> tuple[str, ...]:
        """The patterns that were saved for a job of this name."""
        return tuple(pattern for name, pattern in self.step_patterns.items() if fnmatchcase(job, name))


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the settings file is looked for."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(base) / "trainwatch" / "config.toml"


def archive_root(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Where jobs are archived unless --to says it: by the settings, else ``$XDG_DATA_HOME/trainwatch/archive``."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_DATA_HOME") or str(Path("~/.local/share").expanduser())
    return settings.archive or str(Path(base) / "trainwatch" / "archive")


def cache_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """``$XDG_CACHE_HOME/trainwatch`` (``~/.cache`` otherwise); None where caches are turned off or there is no such place."""
    environ = os.environ if environ is None else environ
    if environ.get(CACHE_OFF):
        return None
    try:
        return Path(environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "trainwatch"
    except RuntimeError:
        return None


def data_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """``$XDG_DATA_HOME/trainwatch`` (``~/.local/share`` otherwise), for what is kept for good; None where there is no such
    place."""
    environ = os.environ if environ is None else environ
    try:
        return Path(environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()) / "trainwatch"
    except RuntimeError:
        return None


def read(path: Path | None = None) -> Settings:
    """The settings; empty ones where no file exists. BadCall names what is wrong in a file that cannot be used."""
    path = path or config_file()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadCall(
            f"The settings file {path} cannot be used: {error}.", "Correct it or move it elsewhere."
        ) from None
    for table in ("prices_usd_per_instance_hour", "step_patterns", "cache"):
        if not isinstance(data.get(table, {}), dict):
            raise BadCall(
                f"In {path}, {table} is not a table.", f"Write [{table}] on a line of its own, with its entries below."
            )
    prices = data.get("prices_usd_per_instance_hour", {})
    bad = [
        name
        for name, price in prices.items()
        if isinstance(price, bool) or not isinstance(price, (int, float)) or price < 0
    ]
    if bad:
        raise BadCall(
            f"In {path}, the price of {bad[0]} is not a number of USD per hour.",
            'Write it as "ml.p4d.24xlarge" = 25.25.',
        )
    source = data.get("price_source", Settings().price_source)
    if not isinstance(source, str) or not source.strip():
        raise BadCall(f"In {path}, price_source is not a string.", 'Write it as price_source = "our contract".')
    patterns = data.get("step_patterns", {})
    wrong = [name for name, pattern in patterns.items() if not isinstance(pattern, str)]
    if wrong:
        raise BadCall(
            f"In {path}, the step pattern of {wrong[0]} is not a string.", "Write it as 'step (?P<step>\\d+)'."
        )
    gib = data.get("cache", {}).get("max_gib", CACHE_GIB)
    if isinstance(gib, bool) or not isinstance(gib, (int, float)) or not 0 <= gib < 1e6:
        raise BadCall(f"In {path}, max_gib in [cache] is not a number of GiB.", "Write it as max_gib = 2.")
    public_url = data.get("public_url", "")
    if not isinstance(public_url, str) or (public_url and not _is_address(public_url)):
        raise BadCall(
            f"In {path}, public_url is not an address.", 'Write it as public_url = "https://trainwatch.example.com".'
        )
    archive = data.get("archive", "")
    if not isinstance(archive, str):
        raise BadCall(
            f"In {path}, archive is not a string.", 'Write it as archive = "s3://bucket/prefix", or a folder.'
        )
    known = {name: float(price) for name, price in prices.items()}
    return Settings(
        known,
        patterns,
        str(path),
        int(gib * 2**30),
        source.strip(),
        public_url=public_url.rstrip("/"),
        archive=archive.strip(),
    )


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and text.isprintable() and " " not in text
    except ValueError:
        return False
