"""Figures written out: the scalars of frameworks as their numbers, and pictures that stand for the name of a figure as words.

``tensor(0.53, device='cuda:0', grad_fn=<MeanBackward0>)`` is 0.53. One that stands alone or behind counts, and has a gradient,
is a loss: nothing else of a training that is printed has one. ``⏱️ 53.1ms`` is a time, ``📉 2.31`` a loss, ``12_000`` a number.
"""

from __future__ import annotations

import re
from dataclasses import replace

from monitor.model import LogPage

_NUMBER = rb"[-+]?(?:\d{1,12}\.?\d{0,20}(?:[eE][-+]?\d{1,3})?|nan|inf)"
_TOLD = (
    rb"(?:, ?(?:device='[\w:]{1,16}'|grad_fn=<\w{1,60}(?: object at 0x[0-9a-f]{1,16})?>|dtype=[\w.]{1,20}|shape=\(1?,?\)"
    rb"|size=\(1,\)|requires_grad=True|weak_type=True))"
)
_TYPE = rb"(?:(?:tf\.|torch\.|mindspore\.)?[Tt]ensor|(?:Device|np\.|jnp\.|numpy\.)?[Aa]rray|(?:np|jnp|numpy)\.float\d\d|mx\.nd)"
_BOX = re.compile(
    rb"(?<![\w.])(?:%(type)s\(\[{0,2}(%(number)s)\]{0,2}%(told)s{0,5}\)"
    rb"|<tf\.(?:Tensor|Variable)[ :][^<>\n=]{0,60}shape=\(1?,?\), dtype=\w{1,12}, numpy=(%(number)s)>)"
    % {b"type": _TYPE, b"number": _NUMBER, b"told": _TOLD}
)
_LOSS = re.compile(
    rb"(?m)(^[ \t]{0,16}|(?<=[\d\]),|])[ \t]{1,4})tensor\(\[{0,2}(%(number)s)\]{0,2}(?=[^()\n]{0,80}grad_fn=)%(told)s{1,5}\)"
    % {b"number": _NUMBER, b"told": _TOLD}
)
_GATES = (b"ensor(", b"rray(", b".float", b"mx.nd(", b", numpy=")
_MAY_GROUP = re.compile(rb"_\d{3}(?!\w)")
_GROUPED = re.compile(rb"(?<![\w.])\d{1,3}(?:_\d{3}){1,4}(?!\w)")
# A stopwatch, a clock or a face of one; a sandglass stands for what is left as well.
_PICTURES = (
    (b"\xe2\x8f", b"time ", re.compile(rb"\xe2\x8f[\xb1\xb2](?:\xef\xb8\x8f)?:? {0,3}(?=\d)")),
    (b"\xf0\x9f\x95", b"time ", re.compile(rb"\xf0\x9f\x95[\x90-\xa7](?:\xef\xb8\x8f)?:? {0,3}(?=\d)")),
    (b"\xf0\x9f\x93\x89", b"loss ", re.compile(rb"\xf0\x9f\x93\x89(?:\xef\xb8\x8f)?:? {0,3}(?=\d)")),
)


def written_out(page: LogPage) -> LogPage:
    """The page with the numbers and words alone; the page itself where there is nothing to write out."""
    data = page.data
    if any(gate in data for gate in _GATES):
        data = _BOX.sub(lambda box: box[1] or box[2], _LOSS.sub(rb"\1loss=\2", data))
    if _MAY_GROUP.search(data):
        data = _GROUPED.sub(lambda number: number[0].replace(b"_", b""), data)
    for gate, word, picture in _PICTURES:
        if gate in data:
            data = picture.sub(word, data)
    return page if data == page.data else replace(page, data=data)
