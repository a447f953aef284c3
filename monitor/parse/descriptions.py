"""What stands in front of a progress bar: whether it moves while nothing is trained, and whose it is."""

from __future__ import annotations

import re
from functools import lru_cache

from monitor.parse.numbers import process_number

# Words that tell of other work wherever they stand; then those that do where a description begins with them.
_OTHER = re.compile(
    r"(?i)\b(?:download|(?:pre|re)?load|eval|valid|val\b(?! (?:loss|acc))|dev\b|sanity|test|predict|infer(?:ence|ring)|map|token"
    r"|filter|generat|sav|writ|extract|group|flatten|creat|fetch|upload|prepar|process(?:ed|ing)|preprocess|convert|cast|resolv"
    r"|comput|shard|checkpoint|pack|cach|denoising|class +images\b|classes +top\d"
    r"|(?:encod|decod|embedd|index|scor|sampl|collect|merg|splitt|verify|scann|calibrat|quantiz|copy|read|build|unzipp|unpack)ing)"
    r"|^\W*(?:rollouts?|prompts?|requests?|ddim|sampler"
    r"|(?:add|annotat|answer|benchmark|captur|check|compil|count|crawl|delet|export|gather|hash|import|install|label|measur|mov"
    r"|pars|profil|rank|remov|render|retriev|rewrit|scrap|search|summariz|transcrib|translat|truncat|wait|warm)ing)\b"
)
# "rank 3", "[GPU0]", "cuda:1"; not the gigabytes of a GPU.
_RANK = re.compile(r"(?i)(?<![a-z])(?P<local>local[_ ]?)?rank[ =:#_]{0,2}(?P<rank>\d{1,6})(?![\d.])")
_LOCAL = re.compile(r"(?i)(?<![a-z])(?:gpu|cuda|device)[ =:#_]{0,2}(?P<number>\d{1,4})(?![\d.]|\s?[GM%])")


@lru_cache(maxsize=1024)
def is_other(description: str) -> bool:
    """True for a bar of a download, an evaluation, a generation: of work that is no training."""
    return _OTHER.search(description) is not None


@lru_cache(maxsize=1024)
def process_of(description: str) -> tuple[int | None, int | None]:
    """(global rank, number of the process on its node) that the description names."""
    found = _RANK.search(description)
    if found is not None:
        number = process_number(found["rank"])
        return (None, number) if found["local"] else (number, None)
    found = _LOCAL.search(description)
    return None, None if found is None else process_number(found["number"])
