"""Lines that tell how full a rank's GPU is, outside of step reports: allocator summaries, and why an allocation failed.

An event's text has a fixed form, sizes in GiB, what a line does not tell left out: ``rank=3 now=12.05 peak=22.74
capacity=79.15 wanted=0.75 idle=2.10``. ``now`` is allocated, ``peak`` the most that the line says the process held,
``idle`` what its allocator had reserved and not given out when it was refused more.
"""

from __future__ import annotations

import re

from monitor.parse.events.reader import Event

_SIZE = r"(?P<{name}>\d{{1,12}}(?:\.\d{{0,20}})?) ?(?P<{name}_unit>[KMGT]i?B|bytes|B)\b"
_GIB = {"b": 2.0**-30, "bytes": 2.0**-30, "k": 2.0**-20, "m": 2.0**-10, "g": 1.0, "t": 2.0**10}
# No device is that large: what is, was misread.
_MOST_GIB = 10_000.0
# Max_CA is printed without digits behind the point.
_ROUNDED_GIB = 0.5


def _size(name: str) -> str:
    return _SIZE.format(name=name)


def _gib(match: re.Match[str], name: str) -> float | None:
    """GiB of a group made by ``_size``; what is printed as GB is a power of two in all of these."""
    groups = match.groupdict()
    if groups.get(name) is None:
        return None
    unit = (groups.get(f"{name}_unit") or "G").lower()
    return float(groups[name]) * _GIB[unit if unit in _GIB else unit[0]]


def _form(rank: str | None, now: float | None, held: list[float | None], **more: float | None) -> str | None:
    sizes = {"now": now, "peak": max((size for size in (now, *held) if size is not None), default=None), **more}
    known = {name: size for name, size in sizes.items() if size is not None}
    if not known or not any(known.values()) or max(known.values()) > _MOST_GIB:
        return None
    return " ".join([*([f"rank={int(rank)}"] if rank else []), *(f"{name}={size:.2f}" for name, size in known.items())])


def _megatron(match: re.Match[str]) -> str | None:
    mib = [float(match[name]) / 1024 for name in ("now", "peak", "held", "peak_held") if match[name] is not None]
    return _form(match["rank"], mib[0], list(mib))


def _deepspeed(match: re.Match[str]) -> str | None:
    now, peak, held, peak_held = (float(match[place]) for place in range(1, 5))
    return _form(None, now, [peak, held, peak_held if peak_held > held + _ROUNDED_GIB else None])


def _sizes(match: re.Match[str]) -> str | None:
    return _form(None, _gib(match, "now"), [_gib(match, "peak"), _gib(match, "held")])


def _out_of_memory(match: re.Match[str]) -> str | None:
    text = match.string[match.start() : match.start() + 800]
    found = {name: pattern.search(text) for name, pattern in _REFUSED.items()}
    sizes = {name: None if hit is None else _gib(hit, "size") for name, hit in found.items()}
    now, idle = sizes["now"], sizes["idle"]
    held = [sizes["held"], sizes["reserved"], None if now is None or idle is None else now + idle]
    if idle is None and now is not None and sizes["reserved"] is not None:
        idle = max(0.0, sizes["reserved"] - now)
    return _form(None, now, held, capacity=sizes["capacity"], wanted=sizes["wanted"], idle=idle)


# PyTorch's message has had several wordings; the size is always beside the same words.
_REFUSED = {
    name: re.compile(pattern)
    for name, pattern in {
        "wanted": rf"Tried to allocate {_size('size')}",
        "capacity": rf"{_size('size')} (?:total capacity|of which)",
        "now": rf"{_size('size')} (?:is allocated by PyTorch|already allocated)",
        "idle": rf"{_size('size')} is reserved by PyTorch but unallocated",
        "reserved": rf"{_size('size')} reserved in total",
        "held": rf"this process has {_size('size')} memory in use",
    }.items()
}

_MIB = r"\d{1,9}(?:\.\d{0,20})?"

ROWS = (
    # Megatron's report_memory, once after the first iterations, by the first rank of each pipeline stage.
    Event(
        "gpu-memory",
        ("memory (MB)",),
        re.compile(
            r"(?:\[Rank (?P<rank>\d{1,6})\] )?(?:\(after \d{1,9} iterations\) )?memory \(MB\) ?"
            rf"\| allocated: (?P<now>{_MIB}) ?\| max allocated: (?P<peak>{_MIB})"
            rf"(?: ?\| reserved: (?P<held>{_MIB}))?(?: ?\| max reserved: (?P<peak_held>{_MIB}))?"
        ),
        _megatron,
        many=True,
    ),
    # DeepSpeed's see_memory_usage: allocated, its peak since the last call, cached, its peak.
    Event(
        "gpu-memory",
        ("Max_MA ",),
        re.compile(rf"\bMA ({_MIB}) GB {{1,20}}Max_MA ({_MIB}) GB {{1,20}}CA ({_MIB}) GB {{1,20}}Max_CA ({_MIB}) GB"),
        _deepspeed,
    ),
    # torch.cuda.memory_summary: current, peak, total allocated, total freed.
    Event(
        "gpu-memory",
        ("| Allocated memory ", "| GPU reserved memory "),
        re.compile(
            rf"\| (?:Allocated memory {{1,20}}\| {{1,20}}{_size('now')}|GPU reserved memory {{1,20}}\| {{1,20}}{_size('held')})"
            rf" {{1,20}}\| {{1,20}}{_size('peak')}"
        ),
        _sizes,
    ),
    # What scripts print of torch.cuda.max_memory_allocated and its like; in a step report it is read with the step.
    Event(
        "gpu-memory",
        (
            "eak memory",
            "PEAK MEMORY",
            "ax memory",
            "eak GPU memory",
            "ax GPU memory",
            "eak CUDA memory",
            "ax CUDA memory",
        ),
        re.compile(
            r"^(?![^\n]*(?:\bloss\b|\d/s\b|%\||\bsteps?\b|\biter))[^\n]*?"
            r"(?i:\b(?:peak|max) (?:gpu |cuda )?memory(?: (?:allocated|reserved|usage|used))?(?: on gpu)?) ?[:=]? ?"
            + _size("peak")
            + rf"(?: reserved: {_size('held')})?"
        ),
        _sizes,
    ),
    Event(
        "gpu-memory",
        ("CUDA out of memory", "HIP out of memory"),
        re.compile(r"(?:CUDA|HIP) out of memory"),
        _out_of_memory,
    ),
)
