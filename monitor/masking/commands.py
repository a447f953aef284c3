"""Which words of a command are a password, without a name that says so? ``sshpass -p SECRET``, ``mysql -uroot -pSECRET``.

What an option means hangs on the command in front of it: ``ssh -p 22``, ``mkdir -p data`` and ``docker run -p 80:80`` hold none,
nor does any option of psql. Sources: the manual pages of the commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

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
_MOST_WORDS, _LONGEST = 40, 2000
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
    end = min(len(text) if end < 0 else end, place + _LONGEST)
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
