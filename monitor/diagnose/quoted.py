"""How is a line of a log quoted? Without the secrets that it may hold, and not longer than a person reads."""

from __future__ import annotations

import re

LONGEST = 500
_MASK = "***"
# Values behind a name that says so, credentials by their own form, and what signs or opens an address.
_NAMED = re.compile(
    r"(?i)(?P<name>\b[\w-]*(?:secret|password|passwd|api[_-]?key|access[_-]?key(?:[_-]?id)?|auth[_-]?token|access[_-]?token"
    r"|session[_-]?token|security[_-]?token|hf[_-]?token|credential|signature)s?\b['\"]?\s{0,3}[=:]\s{0,3}['\"]?)"
    r"(?!\*\*\*)[^\s'\",;&)}\]]{4,}"
)
_FORMS = re.compile(
    r"\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}"
    r"|xox[abps]-[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
)
_BEARER = re.compile(r"(?i)(\bbearer )[\w.~+/=-]{8,}")
_LOGIN = re.compile(r"(://[^\s:/@]{1,200}:)[^\s@/]{1,200}@")
# Texts, one of which stands in everything that is masked: few lines hold any, and most are told by looking for these.
_GATES = (
    *(
        "secret",
        "password",
        "passwd",
        "credential",
        "signature",
        "bearer ",
        "://",
        "akia",
        "asia",
        "hf_",
        "sk-",
        "glpat-",
    ),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xoxa-", "xoxb-", "xoxp-", "xoxs-", "eyj"),
    *(f"{word}{sign}key" for word in ("api", "access") for sign in ("", "_", "-")),
    *(f"{word}{sign}token" for word in ("auth", "access", "session", "security", "hf") for sign in ("", "_", "-")),
)


def quoted(line: str) -> str:
    """The line as it may be shown."""
    out = " ".join(without_secrets(line).split())
    return out if len(out) <= LONGEST else out[: LONGEST - 1] + "…"


def without_secrets(text: str) -> str:
    """The text as it may be kept: all of it but the secrets."""
    small = text.casefold()
    if not any(gate in small for gate in _GATES):
        return text
    out = _NAMED.sub(lambda match: match["name"] + _MASK, text)
    out = _BEARER.sub(rf"\1{_MASK}", _FORMS.sub(_MASK, out))
    return _LOGIN.sub(rf"\1{_MASK}@", out)
