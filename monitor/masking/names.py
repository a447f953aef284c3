"""Which names indicate a secret? One list, for settings, environments, options, JSON keys, headers and query
parameters."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST = 120
# Wherever one of these words stands, also at the end of a longer one ("PGPASSWORD", "dbpassword").
_SECRET = re.compile(
    r"secrets?|\w*(?:passwords?|passwd|passphrase|apikeys?|secretkey|accesskey|privatekey|authkey|apitoken|accesstoken"
    r"|authtoken|hftoken|hubtoken|bearertoken)|pwd|passcode|credentials?|creds?|jwt|cookies?|authorization|bearer|dsn|webhooks?"
)
# "pass" is a word of training loops, too ("forward_pass"): it is a secret behind whoever logs in.
_PASS = re.compile(
    "db|user|smtp|mail|email|login|ftp|root|admin|redis|pg|postgres|mysql|mongo|http|proxy|ssh|registry|docker"
)
# "key" and "token" are also words of data and of text models. A key is secret behind these words,
_KEYS = re.compile(
    "api|access|secret|private|ssh|encryption|decryption|encrypt|signing|license|auth|account|service|master|shared|storage|"
    "fernet|hmac|aes|rsa|jwt|sas|deploy|subscription|wandb|hf|openai|anthropic|comet|kaggle|neptune|azure|aws|stripe|sendgrid|"
    "gcp|google|github|cohere|mistral|gemini|groq|pinecone|langsmith|langchain|datadog|dd|clearml|huggingface|ngc|nvidia|client"
)
# and a token is none behind these.
_TEXT_TOKENS = re.compile(
    "pad|eos|bos|unk|mask|sep|cls|image|audio|video|vision|special|additional|start|end|begin|stop|decoder|encoder|first|last|"
    "prompt|per|new|empty|max|min|num|eot|think|tool|user|assistant|system|response|separator|newline|prefix|suffix|middle|"
    "target|source|input|output|total|unexpected|each|by|next|out|class|query|register|word|sub|every|of|extra|unknown|blank"
)
# What a name ends with that tells of a secret, and is none.
_ABOUT = re.compile(
    "names?|arns?|files?|filename|paths?|dir|folder|region|type|length|len|size|enabled|count|version|policy|expiry|ttl|mode|prompt|"
    "required|manager|limit|ids|index|errors?|exception|warning|provider|class|format|header|env|var|variable|field|column|jar|store|"
    "storage|rotation|status|state|present|set|stdin"
)


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether what stands under this name is a secret: "hf_token", "WANDB_API_KEY", "X-Api-Key", but not "pad_token"."""
    words = words_of(name)
    if not words or _ABOUT.fullmatch(words[-1]):
        return False
    if any(_SECRET.fullmatch(word) for word in words):
        return True
    pairs = list(zip(["", *words], words, strict=False))
    if any(word in {"key", "keys"} and _KEYS.fullmatch(before) for before, word in pairs):
        return words[-1] != "id" or words[-3:-1] == ["access", "key"]
    before, last = pairs[-1]
    if last == "token":
        return _TEXT_TOKENS.fullmatch(before) is None
    if last in {"pass", "pw"}:
        return last == "pw" or _PASS.fullmatch(before) is not None
    return last == "pat" or words[-2:] in (["connection", "string"], ["conn", "str"], ["conn", "string"])


@lru_cache(maxsize=4096)
def may_be_secret(name: str) -> bool:
    """Whether what stands under this name is a secret if it looks like one: any key, tokens, an "auth"."""
    words = words_of(name)
    return bool(words) and (
        words[-1] in {"key", "keys", "tokens", "auth", "sig", "signature", "pin", "otp"} or is_secret(name)
    )


def is_token(name: str) -> bool:
    """Whether a number under the name is a count or an identifier, and no secret."""
    words = words_of(name)
    return bool(words) and words[-1] in {"token", "tokens", "key", "keys"}


def words_of(name: str) -> list[str]:
    """The words of a name in small letters, without a number behind them."""
    words = [word.lower() for word in _WORDS.findall(name[-_LONGEST:])]
    while words and words[-1].isdecimal():
        words.pop()
    return words
