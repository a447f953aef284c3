"""What must not be shown. Secrets, recognized by their names, by their format, and by being a value that the job
itself stores under a secret name. One list of names serves settings, command lines, JSON, headers and addresses
alike.

The patterns are this project's own. Of the available detectors, detect-secrets comes closest; it finds which lines of a
source file deserve a look, where this room takes a secret out of a line and leaves the rest. Measured on older tables of
``tests/attack``: all its plugins find 104 of 126 shapes, and flag 50 of 52 harmless lines and most lines of real logs
(hashes, digests, job names); those that know a form alone flag no harmless line, and find 11 (none for Hugging Face, Google
or fine-grained GitHub tokens). It takes 70 to 280 microseconds a line, this room some 10. Its last release is of May 2024.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ahocorasick_rs import AhoCorasick, Implementation

from monitor.masking.names import is_secret, is_token, may_be_secret, passwords

__all__ = ["MASK", "KeyLines", "is_secret", "masked", "secrets_of", "without_secrets"]

MASK = "***"

#: Letters and digits in one piece, as no word and no number is.
_CREDENTIAL = re.compile(
    r"(?=(?:[^\s\d]*\d){3})(?=[^\s]*[A-Za-z])(?![A-Za-z]+(?:[_.-][A-Za-z]+)*[_.-]?\d*$)[A-Za-z0-9+/=_.~-]{16,}"
)
_NUMBER = re.compile(r"[-+\d.,:/eE]{1,40}[A-Za-z%]{0,2}")
# What stands where a secret would, and is none: nothing, a type, a place where it is kept.
_NOTHING = re.compile(
    r"(?i)null|none|nil|nan|undefined|true|false|yes|no|on|off|empty|unset|not|missing|required|optional(?:\[.*)?|invalid|expired|"
    r"redacted|masked|hidden|str|string|bytes|int|float|bool|secretstr.*|\*+|[xX]{3,}|\.{2,}|…|"
    r"\$\{?\w+\}?|\$\(.*|\{\{.*|\{\w*\}?|<[^>]{0,60}>?|%\(?\w+\)?s?|\[.*|\(.*|os\.environ.*|os\.getenv.*|getenv.*"
)
_PROSE = re.compile(r"[A-Za-z][a-z']{0,15}[.,:;!?]?")

_NAME = r"(?P<name>[A-Za-z_][\w.-]{1,80})"
# Quotes around a name or a value, as they are or escaped once or twice.
_QUOTE = r"(?:\\{0,3}['\"`])"
# Within quotes up to the same ones, those with a backslash before them left out; else up to what ends a word.
_VALUE = re.compile(
    r"(?P<open>['\"`])(?P<said>(?:\\.|(?!(?P=open))[^\\]){1,4000})"
    r"|(?P<escaped>\\{1,3}['\"`])(?P<inner>(?:(?!(?P=escaped)).){1,4000})"
    r"|(?P<bare>[^\s'\"`,;&)}\]|<>\\]{1,4000})",
    re.DOTALL,
)
_UP_TO_A_TAG = re.compile(r"(?P<bare>[^<>]{1,4000})(?=</)")
# What stands before a value, and names it.
_NAMED = (
    # {"Name": "DB_PASSWORD", "Value": "..."}
    (
        re.compile(
            rf"{_QUOTE}(?:[Nn]ame|[Kk]ey){_QUOTE}\s?:\s?{_QUOTE}{_NAME}{_QUOTE}\s?,\s?{_QUOTE}[Vv]alue{_QUOTE}\s?:\s?"
        ),
        _VALUE,
    ),
    # "--name", "value" and ("name", "value")
    (re.compile(rf"(?<![\w-]){_QUOTE}(?:--?)?{_NAME}{_QUOTE}\s{{0,3}},\s{{0,3}}(?!{_QUOTE}?--?[A-Za-z])"), _VALUE),
    # --name value
    (re.compile(rf"(?<![\w-])--?{_NAME}(?:\s{{1,8}}|\s?,\s?)(?!{_QUOTE}?--?[A-Za-z])"), _VALUE),
    # name=value, name: value, "name": "value", os.environ["NAME"] = 'value', name => value, | name | value |
    (
        re.compile(
            rf"(?<![\w.])(?:--?)?{_NAME}{_QUOTE}?\]?\s{{0,3}}(?P<sign>=>|->|:=|==?|:|%3[dD]|[|\u2502])\s{{0,40}}"
            r"(?:[rbfu](?=['\"]))?"
        ),
        _VALUE,
    ),
    (re.compile(rf"<{_NAME}(?:\s[^<>]{{0,200}})?>"), _UP_TO_A_TAG),
    (re.compile(r"\blogin\s+\S{1,200}\s+(?P<name>password)\s+"), _VALUE),
    (re.compile(rf"\b(?:ENV|ARG|setenv)\s+{_NAME}\s+"), _VALUE),
)
# A value that is no secret is looked into for further ones, unless it is as long as this.
_LOOKED_INTO = 200
# Of a header all is secret but the scheme.
_HEADER = re.compile(
    rf"(?i)(?P<head>\b(?:proxy-)?authorization{_QUOTE}?+\s{{0,3}}+[:=,]\s{{0,3}}+{_QUOTE}?+"
    r"(?:(?:bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256)\s++)?+)(?!\*\*\*)[^'\"\r\n\\]{4,4000}"
    rf"|(?P<cookie>\b(?:set-)?cookie{_QUOTE}?+\s{{0,3}}+:\s{{0,3}}+{_QUOTE}?+)(?!\*\*\*)[^'\"\r\n\\]{{4,4000}}"
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[\w.~+/=:-]{8,}")
_BASIC = re.compile(r"(?i)(\bbasic\s+)([A-Za-z0-9+/_-]{6,}={0,2})")
# Two numbers are a user's and a group's.
_USER = re.compile(
    r"((?<![\w-])(?:-u|--user|--proxy-user)[ =]['\"]?(?!\d{1,9}:\d{1,9}(?![^\s'\"]))[^\s:'\"]{1,200}:)(?!\*\*\*)[^\s'\"]{1,200}"
)
# ://user:pw@host, also where the password has a slash; a port with a path behind it is no password.
_LOGIN = re.compile(
    r"(://[^\s:/@'\"]{0,200}:)(?:[^\s/'\"<>]{1,200}(?=@)|(?!\d{1,5}/)[^\s@'\"<>]{1,200}(?=@[\w.-]+[:/]))"
)
_USERINFO = re.compile(r"(://)([^\s:/@'\"]{16,400})(?=@)")
_QUERY = re.compile(r"(?P<head>[?&;](?:amp;)?(?P<name>[\w.-]{2,60})=)(?P<bare>[^\s&'\"<>#;]{1,4000})")
_SIGNED = re.compile(
    r"(?i)(?:x-amz-|x-goog-)?(?:signature|credential|security-token)|sig|awsaccesskeyid|googleaccessid|code"
)
_PEM = re.compile(
    r"(-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----)(?!\*\*\*)(?:(?!-----END).){0,20000}"
    r"(?:-----END [A-Z0-9 ]{1,60}-----)?",
    re.DOTALL,
)
# A line of a key that was printed line by line; a digest has no capitals.
_PEM_LINE = re.compile(r"(?m)^(?=[^\n]*[A-Z])(?=[^\n]*[a-z])(?=[^\n]*\d)[A-Za-z0-9+/]{64}$")
_BEGINS_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?!.*-----END)", re.DOTALL)
# A key that nobody ends is no longer than this.
_MOST_KEY_LINES = 120
_FORMS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])(?:[^\w\n]{1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+]))?"
    r"|(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[\w+/=-]{20,}"
    r"|hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}"
    r"|sk-(?:ant|proj|svcacct|admin|or|lf|None)-[\w-]{16,}|sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}"
    r"|whsec_[\w+/=]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w.-]{16,}"
    r"|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{16,}|npm_[A-Za-z0-9]{30,}"
    r"|pypi-[\w-]{40,}|dop_v1_[0-9a-f]{32,}|SG\.[\w-]{16,}\.[\w-]{16,}|dckr_pat_[\w-]{16,}|nvapi-[\w-]{20,}|r8_[A-Za-z0-9]{30,}"
    r"|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|lsv2_(?:pt|sk)_\w{20,}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"
    r"|dapi[0-9a-f]{32}|hvs\.[\w-]{20,}|wandb_v1_\w{20,}|AGE-SECRET-KEY-1[0-9A-Z]{50,}|(?:bot)?\d{8,10}:AA[\w-]{32,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?)"
)
_WEBHOOK = re.compile(
    r"(?i)((?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|\.webhook\.office\.com/webhookb2"
    r"|chat\.googleapis\.com/v1/spaces)/)[^\s'\"<>,)]{8,}"
)
_WANDB = re.compile(
    r"(?i)(\bwandb\b(?![^\n]{0,120}\b(?:commit|sha\d*|git|revision|hash|digest|artifact)\b)[^\n]{0,120}?(?<![0-9a-f]))"
    r"[0-9a-f]{40}(?![0-9a-f])"
)
# Texts, in small letters, one of which stands in all that a pattern masks: one scan tells which patterns are to be asked.
_GATES = {
    "pem": "-----begin",
    "header": "authorization|cookie",
    "bearer": "bearer",
    "basic": "basic ",
    "form": (
        "akia|asia|abia|acca|fwogzxivyxdz|iqojb3jpz2lu|hf_|api_org_|sk-|sk_live|sk_test|rk_live|rk_test|pk_live|pk_test|whsec_|ghp_|gho_|"
        "ghu_|ghs_|ghr_|github_pat_|glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glsoat-|xoxa-|xoxb-|xoxe-|xoxo-|xoxp-|xoxr-|xoxs-|xapp-|aiza|"
        "ya29.|gocspx-|npm_|pypi-|dop_v1_|sg.|dckr_pat_|nvapi-|r8_|gsk_|xai-|pplx-|lsv2_|shpat_|shpss_|shpca_|shppa_|dapi|hvs.|"
        "wandb_v1_|age-secret-key|:aa|eyj"
    ),
    "webhook": "hooks.slack.com|/webhooks/|webhook.office|chat.googleapis",
    "address": "://",
    "user": "-u|--user|--proxy-user",
    "command": "mysql|mariadb|mongo|redis-cli|sqlcmd|ldap|sshpass|htpasswd|curl|login",
    "wandb": "wandb",
    "name": (
        "secret|passw|passphrase|passcode|pwd|_pass|-pass|pw=|pw:|_pw|token|key|cred|auth|cookie|jwt|bearer|dsn|webhook|_pat|-pat|pat=|"
        "connection|conn_str|connstr|sig|pin|otp|smtppass|dbpass|userpass"
    ),
}
_STAGES = [stage for stage, gates in _GATES.items() for _ in gates.split("|")]
_SCAN = AhoCorasick([gate for gates in _GATES.values() for gate in gates.split("|")], implementation=Implementation.DFA)
# As long as a line of a key, without a blank.
_KEY_LINE = 64

# What these find behind their first group is the secret.
_BEHIND = (("bearer", _BEARER), ("webhook", _WEBHOOK), ("address", _LOGIN), ("user", _USER), ("wandb", _WANDB))

Known = Sequence[str]
Replacement = Callable[[str], str]
"""What takes the place of a secret."""


def without_secrets(text: str, known: Known = ()) -> str:
    """The text as it may be kept: all of it but the secrets. ``known`` are the job's own (``secrets_of``), masked anywhere."""
    out = _by_value(text, tuple(known)) if known else text
    return replaced(out, lambda secret: MASK)


class KeyLines:
    """Tells which lines of a log are those of a private key that is printed line by line."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}

    def holds(self, stream: str, line: str) -> bool:
        """Whether this next line of a stream is within a key."""
        left = self._left.get(stream, 0)
        if "-----" in line:
            self._left[stream] = _MOST_KEY_LINES if _BEGINS_KEY.search(line) else 0
            return False
        self._left[stream] = max(0, left - 1)
        return left > 0


def masked(name: str, value: Any, known: Known = ()) -> Any:
    """``value``, or "***" where ``name`` is a secret's; looks into dicts and lists. Yes, no and none are no secrets."""
    if isinstance(value, dict):
        return {key: masked(str(key), inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(name, inner, known) for inner in value]
    if value is None or isinstance(value, bool) or value == "":
        return value
    if hides(name, str(value)):
        return MASK
    return without_secrets(value, known) if isinstance(value, str) else value


def hides(name: str, value: str) -> bool:
    """Whether a value under this name is a secret."""
    if is_secret(name):
        return not (_NOTHING.fullmatch(value) or (is_token(name) and _NUMBER.fullmatch(value)))
    return may_be_secret(name) and _CREDENTIAL.fullmatch(value) is not None and "/" not in value[:-1]


def replaced(text: str, found: Replacement) -> str:
    """The text with what ``found`` makes of each secret in its place."""
    try:
        stages = {_STAGES[gate] for gate, _, _ in _SCAN.find_matches_as_indexes(text.casefold(), overlapping=True)}
    except UnicodeEncodeError:  # half a character, which is no text
        return replaced(text.encode("utf-8", "replace").decode(), found)
    out = text
    if "pem" in stages:
        out = _PEM.sub(lambda match: match[1] + found(match[0]), out)
    if len(out) >= _KEY_LINE and (" " not in out or "\n" in out):
        out = _PEM_LINE.sub(lambda match: found(match[0]), out)
    if not stages:
        return out
    if "header" in stages:
        out = _HEADER.sub(lambda match: (match["head"] or match["cookie"]) + found(match[0]), out)
    if "command" in stages:
        out = _behind_commands(out, found)
    for stage, pattern in _BEHIND:
        if stage in stages:
            out = pattern.sub(lambda match: match[1] + found(match[0][len(match[1]) :]), out)
    if "basic" in stages:
        out = _BASIC.sub(lambda match: match[1] + found(match[2]) if _is_login(match[2]) else match[0], out)
    if "form" in stages:
        out = _FORMS.sub(lambda match: found(match[0]), out)
    if "address" in stages:
        out = _USERINFO.sub(
            lambda match: match[1] + found(match[2]) if _CREDENTIAL.fullmatch(match[2]) else match[0], out
        )
    if "=" in out and ("?" in out or "&" in out):
        out = _QUERY.sub(lambda match: _in_query(match, found), out)
    if "name" in stages:
        for head, value in _NAMED:
            out = _behind_names(out, head, value, found)
    return out


def _behind_names(text: str, head: re.Pattern[str], value: re.Pattern[str], found: Replacement) -> str:
    """The text without the values that stand behind the names of secrets."""
    out: list[str] = []
    done = place = 0
    while (named := head.search(text, place)) is not None:
        place = named.end()
        if not may_be_secret(named["name"]) or (told := value.match(text, place)) is None:
            continue
        group = next(name for name in ("bare", "said", "inner") if told.groupdict().get(name) is not None)
        secret, start = told[group], told.start(group)
        if _is_shown(named, secret, group == "bare", text[told.end() : told.end() + 1]):
            place = told.end() if len(secret) > _LOOKED_INTO else place
            continue
        out += (text[done:start], found(secret))
        done = place = told.end()
    return "".join((*out, text[done:])) if out else text


def _behind_commands(text: str, found: Replacement) -> str:
    """The text without what a command in it takes as a password."""
    out: list[str] = []
    done = 0
    for start, end in passwords(text):
        value = text[start:end]
        if not value.startswith(MASK) and not _NOTHING.fullmatch(value):
            out += (text[done:start], found(value))
            done = end
    return "".join((*out, text[done:])) if out else text


def _is_shown(named: re.Match[str], value: str, bare: bool, behind: str) -> bool:
    """Whether a value behind this name is none to be masked."""
    if value.startswith(MASK) or not hides(named["name"], value.strip("\\'\"")):
        return True
    # A part of an ARN, "…:secret:prod".
    if named.groupdict().get("sign") == ":" and named.string[: named.start()].endswith(":"):
        return True
    # Words go on behind it: "password: must be at least 8 characters".
    return bare and named.groupdict().get("sign") == ":" and behind in {" ", ".", ","} and bool(_PROSE.fullmatch(value))


def _in_query(match: re.Match[str], found: Replacement) -> str:
    name, value = match["name"], match["bare"]
    secret = hides(name, value) or (_SIGNED.fullmatch(name) is not None and len(value) >= 8)
    return match["head"] + found(value) if secret and not value.startswith(MASK) else match[0]


def _is_login(text: str) -> bool:
    """Whether this is base64 of "user:password"."""
    try:
        return b":" in b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text or "_" in text else None)
    except (binascii.Error, ValueError):
        return False


def _by_value(text: str, known: tuple[str, ...]) -> str:
    out = _pattern(known).sub(MASK, text)
    # What was cut may end within a secret.
    for secret in known:
        least = max(8, len(secret) // 3)
        tail = next(
            (size for size in range(min(len(secret) - 1, len(out)), least - 1, -1) if out.endswith(secret[:size])), 0
        )
        if tail:
            out = out[:-tail] + MASK
    return out


@lru_cache(maxsize=256)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    """All spellings of the values; a short one must stand for itself."""
    spelled = {form: None for secret in known for form in _spellings(secret)}
    forms = sorted(spelled, key=len, reverse=True)
    return re.compile("|".join(_whole(form) if len(form) < 12 else re.escape(form) for form in forms))


def _whole(form: str) -> str:
    return rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])"


def _spellings(secret: str) -> list[str]:
    """As it is, inside JSON, inside JSON inside JSON, inside an address."""
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    twice = escaped.replace("\\", "\\\\").replace('"', '\\"')
    plain = "-_.~"
    encoded = "".join(
        letter
        if (letter.isascii() and letter.isalnum()) or letter in plain
        else "".join(f"%{byte:02X}" for byte in letter.encode())
        for letter in secret
    )
    return [secret, escaped, twice, encoded, *([repr(secret)[1:-1]] if "'" in secret else [])]


_SHORTEST = 6
_LINE = 16
# A word, a number or a path may stand anywhere, and is no secret there: only under its name it is one.
_PLAIN = re.compile(
    r"[A-Za-z]{1,9}|[A-Z]?[a-z]{1,15}|[-+\d.,:eE]{1,9}|(?:\.{0,2}|~)(?:/[\w.@-]{1,40}){2,}/?|s3://.*|arn:.*|https?://[^@?]*"
)


def secrets_of(*settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The secret values in settings (hyperparameters, an environment; as texts or decoded), each once, the longest first.

    Of six characters at least, and no plain words, numbers or paths: those would be found where they mean nothing.
    """
    out: set[str] = set()

    def kept(secret: str) -> str:
        out.update(_parts(secret))
        return MASK

    for setting in settings:
        for name, text in _texts(setting, ""):
            if hides(name, text):
                kept(text)
            else:
                replaced(text, kept)
    return tuple(sorted(out, key=lambda value: (-len(value), value)))


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text of a setting with its name; texts that are JSON are looked into."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner, name)
    elif isinstance(value, str):
        inner = _decoded(value)
        if inner is not None:
            yield from _texts(inner, name)
        else:
            yield name, value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield name, str(value)


def _decoded(text: str) -> Any:
    """What a text is in JSON where that is more than a number; else None."""
    if text[:1] not in {'"', "{", "["}:
        return None
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # raises for half a character, which is no text
        return value
    except (ValueError, RecursionError):
        return None


def _parts(secret: str) -> Iterator[str]:
    """The value and, of one of several lines, each line."""
    if len(secret) >= _SHORTEST and not _PLAIN.fullmatch(secret):
        yield secret
    lines = secret.replace("\\n", "\n").split("\n")
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _LINE and not line.startswith("-----"))
