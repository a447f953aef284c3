"""What does an instance-hour of a job cost? The user's settings decide, otherwise its source, which is asked in the
background."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace

from monitor.analyze.cost import mean_price
from monitor.fetch.background import begin
from monitor.model import Gap, Job, Price
from monitor.predict.spread import others
from monitor.review.archived import Source
from monitor.settings import Settings

_Answer = Price | Gap | None


class Pricing:
    """The price of one job, asked for anew at each look; the source remembers what it was told."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._by_user: Mapping[str, Price] = {
            name: Price(usd, settings.price_source) for name, usd in settings.prices.items()
        }
        self._asked: dict[str, Future[_Answer]] = {}
        self._others: dict[str, Future[_Answer]] = {}

    def ask(self, job: Job) -> None:
        """Begins to ask for what the settings do not say; returns at once."""
        unknown = self._unknown(job)
        # Types to compare it with, where its own price is AWS's too: a contract's and a list's say nothing together.
        compared = _comparable(job) if unknown else ()
        self._asked, self._others = (
            {name: begin(self._source.price, name, job) for name in names} for names in (unknown, compared)
        )

    def is_known(self) -> bool:
        """Whether all that was asked is answered."""
        return all(answer.done() for answer in (*self._asked.values(), *self._others.values()))

    def found(self, job: Job, wait: bool = True) -> tuple[Price | None, tuple[Gap, ...]]:
        """The mean over the job's instances, or why there is none.

        With ``wait`` it takes as long as the source does: a few seconds. Without, what is not answered yet is no gap.
        """
        prices = {name: self._by_user[name] for name in _types(job) if name in self._by_user}
        gaps: list[Gap] = []
        for instance_type in self._unknown(job):
            asked = self._asked.get(instance_type)
            if asked is not None and (wait or asked.done()):
                answer = asked.result()
                if isinstance(answer, Price):
                    prices[instance_type] = answer
                elif answer is not None:
                    gaps.append(answer)
        price = mean_price(job.instance_groups, prices)
        return (None if price is None else replace(price, others=self._known_others(job, wait))), tuple(gaps)

    def _known_others(self, job: Job, wait: bool) -> dict[str, float]:
        """What is known of them by now, from where its own price is; one that is not known is no gap."""
        if not self._unknown(job):
            return {
                name: self._by_user[name].usd_per_instance_hour for name in _comparable(job) if name in self._by_user
            }
        answers = {name: asked.result() for name, asked in self._others.items() if wait or asked.done()}
        return {name: each.usd_per_instance_hour for name, each in answers.items() if isinstance(each, Price)}

    def _unknown(self, job: Job) -> tuple[str, ...]:
        return tuple(name for name in _types(job) if name not in self._by_user)


def _types(job: Job) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.instance_type for group in job.instance_groups if group.instance_type))


def _comparable(job: Job) -> tuple[str, ...]:
    """Types whose pace is known beside that of the job's instances, which are of one type."""
    kinds = _types(job)
    return others(kinds[0]) if len(kinds) == 1 else ()
