"""How often does a published change lie in the range that ``plan`` has for it? By kind of change, sources held out in turn."""

from __future__ import annotations

import math

from benchmarks.published.calibration import (
    KINDS,
    Held,
    calibrated,
    groups_of,
    held,
    residuals,
    spreads,
)
from benchmarks.published.claim import Claim, held_words, off_pct, promised, share_line
from benchmarks.published.pairs import UNEXPLAINED
from monitor.predict.spread import SPREADS, Coverage

#: The rows among the pairs that a constant of the middle was fitted to.
_FITTED = {"size": "tr11 l.506 and l.515, sizes 1 and 2: 0.19 samples", "hosts": "llm-foundry: 1.4 % a doubling"}


def claims() -> list[Claim]:
    """A kind each, the constants themselves, and the source that nobody can explain."""
    return [*(_middle(kind) for kind in KINDS), _constants(), *(_kind(held(kind)) for kind in KINDS), *_unexplained()]


#: By kind of change, as the page names it.
_NAMES = {
    "microbatches": "number of microbatches",
    "size": "size of a microbatch",
    "stages": "stages on the same GPUs",
    "interleaving": "interleaved stages",
    "recomputation": "full recomputation",
    "recomputation of many replicas": "full recomputation, more than 64 GPUs of replicas alone",
    "accumulation": "what is done once a step, for more samples",
    "hosts": "hosts",
    "sequence length": "length of sequences",
    "model": "another model",
}


def promises() -> list[tuple[str, ...]]:
    """A kind of change a row: what its range promises, how many pairs it held, and its width."""
    out: list[tuple[str, ...]] = []
    for kind in KINDS:
        found, sources = held(kind), len(calibrated(kind))
        coverage = Coverage(found.inside, found.pairs, sources)
        told = held_words(coverage, len(groups_of(kind)))
        out.append((_NAMES[kind], promised(coverage), told, f"{100 * found.width:.0f} %"))
    return out


def _middle(kind: str) -> Claim:
    """How far the middle of what ``plan`` says is from what was measured."""
    off = tuple(
        off_pct(math.exp(each.middle), math.exp(each.measured)) for group in calibrated(kind).values() for each in group
    )
    return Claim(f"step time by plan: {kind}", _FITTED.get(kind, "nothing"), (), off, "none", None)


def _constants() -> Claim:
    found = spreads()
    pairs = sum(each.coverage.pairs for each in found.values())
    same = found == dict(SPREADS)
    said = "yes" if same else "no"
    return Claim("ranges in use are those worked out here", "all pairs", (), (), "equal", same, said, pairs)


def _kind(found: Held) -> Claim:
    sources, setups = len(calibrated(found.kind)), len(groups_of(found.kind))
    one = sources == 1
    line, passed = share_line(found.inside, found.pairs)
    return Claim(
        f"range of step time: {found.kind}",
        f"one source, each of its {setups} setups held out in turn"
        if one
        else f"{sources} sources, each held out in turn",
        (),
        (),
        line,
        passed,
        f"{found.inside} of {found.pairs}, {100 * found.width:.0f} % wide",
        found.pairs,
    )


def _unexplained() -> list[Claim]:
    out = []
    for kind in KINDS:
        for source, group in residuals()[kind].items():
            if source.startswith(UNEXPLAINED):
                inside = sum(each.is_inside(SPREADS[kind]) for each in group)
                name = f"the same: {kind}, Megatron on p3.16xlarge"
                out.append(Claim(name, "nothing", (), (), "none", None, f"{inside} of {len(group)}", len(group)))
    return out
