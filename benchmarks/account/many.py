"""Whose call is it? Of several accounts and regions the one that the request was signed for, each with quotas of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.account.answer import Answer, Call
from benchmarks.account.faults import Fate, Faults
from benchmarks.account.identity import account_of_key
from benchmarks.account.services import Services
from benchmarks.account.world import World

_SUMMED = ("calls", "throttled", "refused", "bytes")


class Many:
    """The services of all accounts; the first one's answer whatever is signed for none of the others."""

    def __init__(self, accounts: Sequence[tuple[World, Services]]) -> None:
        self._all = [services for _, services in accounts]
        self._by_place = {(world.account.number, world.account.region): services for world, services in accounts}

    def prepare(self) -> None:
        for services in self._all:
            services.prepare()

    def reset(self) -> None:
        for services in self._all:
            services.reset()

    def set_faults(self, faults: Faults) -> None:
        """Of all accounts."""
        for services in self._all:
            services.set_faults(faults)

    def answer(self, call: Call) -> tuple[Answer, Fate, float]:
        """The answer of the account that is meant."""
        return self._by_place.get((account_of_key(call.key), call.region), self._all[0]).answer(call)

    def counts(self) -> dict[str, Any]:
        """Those of all accounts together; ``seconds`` is of the one that was asked for the longest."""
        found = [services.counts() for services in self._all]
        summed = {name: dict(sum((Counter(each[name]) for each in found), Counter())) for name in _SUMMED}
        return summed | {name: max(each[name] for each in found) for name in ("cpu_s", "seconds")}
