"""What a user sets once: a file and the environment, read in one place.

``$XDG_CONFIG_HOME/trainwatch/config.toml`` (``~/.config`` otherwise):

    archive = "s3://bucket/prefix"      # where `archive` puts jobs; $XDG_DATA_HOME/trainwatch/archive by itself
    price_source = "our contract"       # what reports call the prices below; "settings file" by itself

    public_url = "https://trainwatch.example.com"   # where others find the dashboard: alerts link to it

    learn_formats = false              # step lines that no format knows are not learned from the log; true by itself

    [prices_usd_per_instance_hour]     # come before AWS's price list
    "ml.p4d.24xlarge" = 25.25

    [cache]
    max_gib = 2                        # of finished jobs in $XDG_CACHE_HOME/trainwatch; 0 keeps none

    [fleet]                            # which tag of a job names its team and its project
    team_tag = "team"
    project_tag = "project"

    [step_patterns]                    # job names (with * and ?) -> pattern of their step lines
    "asr-*" = 'utt (?P<step>\\d+) took (?P<time_s>[\\d.]+)'

    [[accounts]]                       # looked over together: see monitor/accounts.py
    name = "research"
    profile = "research-ro"
    regions = ["us-east-1", "eu-west-1"]
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from monitor import accounts
from monitor.accounts import Account
from monitor.errors import BadCall, CannotDo
from monitor.model import MOST_USD_PER_HOUR, is_price

CACHE_GIB = 2
_LARGEST = 4 << 20
_BELOW_HOME = {"CONFIG": ".config", "CACHE": ".cache", "DATA": ".local/share", "STATE": ".local/state"}
_PRICES, _PATTERNS = "prices_usd_per_instance_hour", "step_patterns"
_FLEET, _TAGS = "fleet", ("team_tag", "project_tag")
_KEYS = ("archive", "learn_formats", "price_source", "public_url")
# Section -> its keys; None: they are names of the user's.
_SECTIONS: Mapping[str, tuple[str, ...] | None] = {_PRICES: None, "cache": ("max_gib",), _FLEET: _TAGS, _PATTERNS: None}
_TYPE = re.compile(r"ml\.[a-z]+[0-9]+[a-z0-9-]*\.(?:\d{0,3}xlarge|nano|micro|small|medium|large|metal(?:-\d+xl)?)")
_SIZES = (
    "medium",
    "large",
    "xlarge",
    *(f"{number}xlarge" for number in (2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 32, 36, 48, 72)),
)
#: Set in the environment to neither read nor write any cache.
CACHE_OFF = "TRAINWATCH_NO_CACHE"
#: Set in the environment to the archive that the dashboard shows instead of an account.
ARCHIVE_SHOWN = "TRAINWATCH_ARCHIVE"
#: Set in the environment to 1 where visitors may change nothing, 0 where they may; not set: as the address is.
READ_ONLY = "TRAINWATCH_READ_ONLY"
#: Set to 1 in the environment where no other profile may be chosen than the one the dashboard was started with.
ONE_PROFILE = "TRAINWATCH_ONE_PROFILE"
#: Set to 1 in the environment where all visitors may see the accounts of the settings file.
ALL_ACCOUNTS = "TRAINWATCH_ALL_ACCOUNTS"
#: Set to 1 in the environment of a dashboard that ends when its standard input does, which its launcher holds open.
LAUNCHED = "TRAINWATCH_LAUNCHED"
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
    learn_formats: bool = True
    """Whether a line that no format knows may be learned as a step report."""
    accounts: tuple[Account, ...] = ()
    """Those that are looked over together, in the order of the file."""

    team_tag: str = "team"
    """The tag of a job that names its team."""
    project_tag: str = "project"
    """The same of its project."""

    def patterns_of(self, job: str) -> tuple[str, ...]:
        """The patterns that were saved for a job of this name."""
        return tuple(pattern for name, pattern in self.step_patterns.items() if fnmatchcase(job, name))


def user_folder(
    kind: Literal["CONFIG", "CACHE", "DATA", "STATE"], environ: Mapping[str, str] | None = None
) -> Path | None:
    """``$XDG_<kind>_HOME/trainwatch``, by itself in the usual folder of the user's home.

    None for a user without a home, as in a container that runs under a number of its own.
    """
    environ = os.environ if environ is None else environ
    try:
        return Path(environ.get(f"XDG_{kind}_HOME") or Path("~", _BELOW_HOME[kind]).expanduser()) / "trainwatch"
    except RuntimeError:
        return None


def no_home(what: str, kind: str, otherwise: str = "") -> CannotDo:
    """What is said where a user without a home would need one."""
    return CannotDo(f"This user has no home folder for {what}.", f"Set HOME or XDG_{kind}_HOME{otherwise}.")


def expanded(path: str) -> Path:
    """A path as a user writes it, with ~ and ~name. CannotDo where that user has no home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise CannotDo(f"{path} begins with the home folder of a user who has none.", "Write the whole path.") from None


def config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the settings file is looked for. CannotDo for a user without a home."""
    folder = user_folder("CONFIG", environ)
    if folder is None:
        raise no_home("settings", "CONFIG")
    return folder / "config.toml"


def archive_root(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Where jobs are archived unless --to says it: by the settings, else ``$XDG_DATA_HOME/trainwatch/archive``; "" nowhere."""
    folder = user_folder("DATA", environ)
    return settings.archive or (str(folder / "archive") if folder else "")


def cache_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """``$XDG_CACHE_HOME/trainwatch`` (``~/.cache`` otherwise); None where caches are turned off or there is no such place."""
    environ = os.environ if environ is None else environ
    if environ.get(CACHE_OFF):
        return None
    return user_folder("CACHE", environ)


def text_of(path: Path) -> str:
    """The text of a small file of the user's. ValueError where it is none: a device has no end, a disk image no letters."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def toml(text: str) -> dict[str, Any]:
    """The document. ValueError, with the place where there is one, for a text that is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        what = "it is nested too deep" if isinstance(error, RecursionError) else "a number in it is too long"
        raise ValueError(what) from None


def read(path: Path | None = None) -> Settings:
    """The settings; empty ones where no file exists. BadCall names what is wrong in a file that cannot be used."""
    if path is None:
        folder = user_folder("CONFIG")
        if folder is None:
            return Settings()
        path = folder / "config.toml"
    try:
        data = toml(text_of(path))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        raise BadCall(f"The settings file {path} cannot be used: {error}.", "Correct it, or move it away.") from None
    _check_names(data, path)
    prices = data.get(_PRICES, {})
    for name, price in prices.items():
        _check_price(name, price, path)
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
    learn = data.get("learn_formats", True)
    if not isinstance(learn, bool):
        raise BadCall(f"In {path}, learn_formats is neither true nor false.", "Write it as learn_formats = false.")
    tags = {name: data.get(_FLEET, {}).get(name, getattr(Settings(), name)) for name in _TAGS}
    for name, tag in tags.items():
        if not isinstance(tag, str) or not tag.strip():
            raise BadCall(f"In {path}, {name} in [{_FLEET}] is not the name of a tag.", f'Write it as {name} = "team".')
    known = {name: float(price) for name, price in prices.items()}
    return Settings(
        known,
        patterns,
        str(path),
        int(gib * 2**30),
        source.strip(),
        public_url=public_url.rstrip("/"),
        archive=archive.strip(),
        learn_formats=learn,
        **{name: tag.strip() for name, tag in tags.items()},
        accounts=accounts.parsed(data.get(accounts.SECTION, []), path),
    )


def unknown_name(name: str, known: Iterable[str]) -> str:
    """What is said behind a name in a file that means nothing: the nearest one that does, else all of them."""
    known, meant = tuple(dict.fromkeys(known)), name.lower()
    near = [each for each in known if each.startswith(meant)] or get_close_matches(meant, known, 1, 0.6)
    return f"the nearest is {near[0]}" if near else f"known are {', '.join(known)}"


def _check_names(data: Mapping[str, object], path: Path) -> None:
    """BadCall for a key or a section that means nothing: it would be passed over in silence."""
    homes = {key: section for section, keys in _SECTIONS.items() for key in keys or ()}
    for name, value in data.items():
        if name == accounts.SECTION:
            continue  # it knows its keys itself
        if name in _SECTIONS:
            if not isinstance(value, dict):
                raise BadCall(f"In {path} {name} is no table.", f"Write [{name}] on a line of its own, entries below.")
            _check_entries(name, value, path)
        elif name in homes:
            raise BadCall(f"In {path} {name} stands outside of its section.", f"Write it below [{homes[name]}].")
        elif name not in _KEYS:
            shown = f"section [{name}]" if isinstance(value, dict) else f"setting {name}"
            names = (*_SECTIONS, *_KEYS) if isinstance(value, dict) else (*_KEYS, *homes, *_SECTIONS)
            names = (*names, accounts.SECTION)
            near = unknown_name(name, names)
            raise BadCall(f"In {path} there is no {shown}; {near}.", "Correct it, or take it out.")


def _check_entries(section: str, entries: Mapping[str, object], path: Path) -> None:
    keys = _SECTIONS[section]
    for name in entries:
        if section != _PATTERNS and name in _KEYS:
            raise BadCall(
                f"In {path} {name} stands in [{section}].",
                "Write it above the first section, where it belongs to none.",
            )
        if keys and name not in keys:
            raise BadCall(f"In {path} there is no {name} in [{section}]; {unknown_name(name, keys)}.", "Correct it.")


def _check_price(name: str, price: object, path: Path) -> None:
    if not _TYPE.fullmatch(name):
        said = f"In {path} {name} in [{_PRICES}] is no instance type"
        raise BadCall(f"{said}{_nearest_type(name)}.", 'Write it in quotes, as "ml.p4d.24xlarge" = 25.25.')
    if not is_price(price):
        raise BadCall(
            f"In {path} the price of {name} is no number of USD per hour above 0 and up to {MOST_USD_PER_HOUR:,.0f}.",
            'Write it as "ml.p4d.24xlarge" = 25.25, or leave it out where it is not known.',
        )


def _nearest_type(name: str) -> str:
    """Of what has the form of a type, since nobody knows all types: the prefix and the size are what slips."""
    family, _, size = name.lower().removeprefix("ml.").rpartition(".")
    near = get_close_matches(size, _SIZES, 1, 0.6)
    meant = f"ml.{family}.{near[0]}" if near else ""
    return f"; the nearest is {meant}" if _TYPE.fullmatch(meant) else ""


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        return is_web and text.isprintable() and " " not in text
    except ValueError:
        return False
