"""The names that indicate a secret. One list, for settings, environments, options, JSON keys, headers and query parameters; and
which words of a command are a password without one: ``sshpass -p SECRET``, ``mysql -uroot -pSECRET``.

What an option means hangs on the command in front of it: ``ssh -p 22``, ``mkdir -p data`` and ``docker run -p 80:80`` hold none,
nor does any option of psql. Sources: the manual pages of the commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

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


Span = tuple[int, int]

# A word in quotes, as they are or escaped, or one without.
_WORD = re.compile(
    r"(?P<quote>\\{0,3}['\"`])(?P<said>(?:(?!(?P=quote)).){0,400})(?P=quote)|(?P<bare>[^\s'\"`\\]+|\\)", re.DOTALL
)
_CLOSES = re.compile(r"\\{0,3}['\"`]")
_ENDS = {"|", "||", "&", "&&", ";", ">", ">>", "<"}
_BETWEEN = re.compile(r"[,\[\](){}:\\]+")
_BEHIND = ",;)]}"
# Nobody's command is longer where its password stands.
_MOST_WORDS, _LONGEST_COMMAND = 40, 2000
# What mysql takes for the name of a database, behind "-p" and a blank: it asks for the password then.
_DATABASE = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)*[_-]?\d{0,3}|\d+")


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    is_glued: bool
    """Whether it follows the word before it without a blank."""

    def behind(self, letters: int) -> Span:
        return self.start + letters, self.start + len(self.text)


def passwords(text: str) -> Iterator[Span]:
    """Where in a text the passwords of commands stand, in order and without overlaps."""
    done = 0
    for command in _COMMAND.finditer(text):
        words = _words(text, command.end())
        span = _FINDERS[(command.lastindex or 1) - 1](words)
        if span is not None and span[0] >= done and span[1] > span[0]:
            done = span[1]
            yield span


def _words(text: str, place: int) -> Sequence[_Word]:
    """The words behind a command up to its end, as a shell or the list of a program's arguments has them."""
    end = text.find("\n", place)
    end = min(len(text) if end < 0 else end, place + _LONGEST_COMMAND)
    if closes := _CLOSES.match(text, place, end):
        place = closes.end()
    out: list[_Word] = []
    last = -1
    for found in _WORD.finditer(text, place, end):
        group = "bare" if found["bare"] is not None else "said"
        said, start = found[group], found.start(group)
        if group == "bare":
            if said in _ENDS or len(out) == _MOST_WORDS:
                break
            if _BETWEEN.fullmatch(said):
                continue
            kept = said.rstrip(_BEHIND)
            out.append(_Word(kept, start, found.start() == last))
            if said.endswith(";"):
                break
        else:
            out.append(_Word(said, start, found.start() == last))
        last = found.end()
    return out


def _pairs(words: Sequence[_Word]) -> Iterator[tuple[_Word, _Word | None]]:
    """Each word and the one behind it."""
    for place, word in enumerate(words, 1):
        yield word, words[place] if place < len(words) else None


def _option(words: Sequence[_Word], option: str, is_none: Callable[[str], object] = lambda value: None) -> Span | None:
    """The value of an option of one letter, joined to it or the next word; ``is_none`` of a next word that is another thing."""
    for word, following in _pairs(words):
        if word.text.startswith(option) and len(word.text) > len(option):
            return word.behind(len(option))
        if word.text == option:
            if following is None or following.text.startswith("-"):
                return None
            return following.behind(0) if following.is_glued or not is_none(following.text) else None
    return None


def _of_sshpass(words: Sequence[_Word]) -> Span | None:
    # From its own options on, the words are those of another command.
    own = 0
    while own < len(words) and words[own].text.startswith("-"):
        own += 2 if words[own].text in {"-f", "-d", "-P", "-p"} else 1
    return _option(words[:own], "-p")


def _of_a_login(words: Sequence[_Word]) -> Span | None:
    first = [word.text for word in words[:2]]
    if first[:1] == ["login"] or (first[1:] == ["login"] and first[0] in {"registry", "auth", "acr"}):
        return _option(words, "-p")
    return None


def _of_htpasswd(words: Sequence[_Word]) -> Span | None:
    """-b takes the password from the command: behind the file, which -n does without, and the user."""
    flags, given, skips = "", [], False
    for word in words:
        if skips:
            skips = False
        elif word.text.startswith("-"):
            flags += word.text
            skips = word.text in {"-C", "-r"}
        else:
            given.append(word)
    place = 1 if "n" in flags else 2
    return given[place].behind(0) if "b" in flags and len(given) > place else None


def _of_curl(words: Sequence[_Word]) -> Span | None:
    """user:password behind the colon."""
    for word, following in _pairs(words):
        if word.text in {"-u", "-U", "--user", "--proxy-user"}:
            login, skipped = following, 0
        elif word.text[:2] in {"-u", "-U"}:
            login, skipped = word, 2
        else:
            continue
        user, colon, _ = ("", "", "") if login is None else login.text[skipped:].partition(":")
        return login.behind(skipped + len(user) + 1) if login is not None and colon else None
    return None


#: The command -> what finds its password.
_KINDS: dict[str, Callable[[Sequence[_Word]], Span | None]] = {
    r"mysql(?:dump|admin|import|show|check)?|mariadb(?:-dump|-admin|-import|-show|-check)?": partial(
        _option, option="-p", is_none=_DATABASE.fullmatch
    ),
    r"mongo(?:sh|dump|restore|export|import)?": partial(_option, option="-p"),
    r"redis-cli": partial(_option, option="-a"),
    r"sqlcmd": partial(_option, option="-P"),
    r"ldap(?:search|add|modify|delete|passwd|whoami)": partial(_option, option="-w"),
    r"sshpass": _of_sshpass,
    r"docker|podman|nerdctl|buildah|skopeo|oras|helm|crane|az": _of_a_login,
    r"htpasswd": _of_htpasswd,
    r"curl": _of_curl,
}
_COMMAND = re.compile(rf"(?<![\w.-])(?:{'|'.join(f'({names})' for names in _KINDS)})(?:\.exe)?(?![\w.:=/-])")
_FINDERS = tuple(_KINDS.values())
