"""Who answers a call, and may it be answered? Rights, credentials, quotas and faults stand before every service."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks.account import identity, log_events, log_streams, metric_data, metric_text, training_jobs, wire
from benchmarks.account.answer import Answer, Call, Refusal
from benchmarks.account.faults import Fate, Faults
from benchmarks.account.insights import Queries
from benchmarks.account.log_filter import Filter
from benchmarks.account.quotas import Bucket, per_second
from benchmarks.account.world import World

_Value = dict[str, Any] | str | list[bytes | memoryview]
_FORBIDDEN = {"ec2": 403, "sts": 403, "cloudwatch": 403}


class Services:
    """All services of one account. ``answer`` counts what it does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._filter = Filter(world)
        queries = Queries(world)
        self._handlers: dict[str, Callable[[dict[str, Any]], _Value]] = {
            "logs.DescribeLogStreams": lambda asked: log_streams.describe_log_streams(world, asked),
            "logs.GetLogEvents": lambda asked: log_events.get_log_events(world, asked),
            "logs.FilterLogEvents": self._filter.filter_log_events,
            "logs.StartQuery": queries.start_query,
            "logs.StopQuery": queries.stop_query,
            "logs.GetQueryResults": queries.get_query_results,
            "sagemaker.DescribeTrainingJob": lambda asked: training_jobs.describe_training_job(world, asked),
            "sagemaker.ListTrainingJobs": lambda asked: training_jobs.list_training_jobs(world, asked),
            "sagemaker.Search": lambda asked: training_jobs.search(world, asked),
            "sts.GetCallerIdentity": lambda asked: identity.get_caller_identity(world, asked),
            "sts.AssumeRole": lambda asked: identity.assume_role(world, asked),
            "ec2.DescribeInstanceTypes": lambda asked: identity.describe_instance_types(world, asked),
        }
        self._dice = random.Random(world.account.seed)
        self.reset()

    def prepare(self) -> None:
        """Does all work that would make a first call slow."""
        self._world.prepare()
        self._filter.prepare()

    def reset(self) -> None:
        """Counts from zero, and fills the quotas."""
        self._buckets = {name: Bucket(limit) for name, limit in per_second(self._world.account).items()}
        self._calls: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._world.reads.clear()
        self._cpu_s = time.process_time()
        self._first_s: float | None = None
        self._last_s = 0.0

    def set_faults(self, faults: Faults) -> None:
        self._world.faults = faults

    def counts(self) -> dict[str, Any]:
        """What was counted since the last reset; the fields of ``process.Counts``."""
        throttled = {name.partition(" ")[0]: n for name, n in self._refused.items() if name.endswith(" THROTTLED")}
        return {
            "calls": dict(self._calls),
            "throttled": throttled,
            "refused": {name: n for name, n in self._refused.items() if not name.endswith(" THROTTLED")},
            "bytes": dict(self._bytes),
            "cpu_s": time.process_time() - self._cpu_s,
            "seconds": self._last_s - self._first_s if self._first_s is not None else 0.0,
        }

    def answer(self, call: Call) -> tuple[Answer, Fate, float]:
        """The answer, what becomes of it on its way, and after how many seconds it is sent."""
        world, operation = self._world, call.operation
        self._calls[operation] += 1
        self._last_s = time.monotonic()
        self._first_s = self._first_s or self._last_s
        fate = world.faults.fate(operation, self._calls[operation], world.account.seed)
        delay_s = (world.account.latency_ms + world.account.jitter_ms * self._dice.random()) / 1000
        if fate is Fate.SLOW:
            delay_s += world.faults.slow_ms / 1000
        try:
            self._let_in(call, fate)
            found = wire.answered(call, self._value(call))
        except Refusal as refusal:
            how = "THROTTLED" if refusal.code == "ThrottlingException" else refusal.code
            self._refused[f"{operation} {how}"] += 1
            found = wire.refused(call, refusal)
        self._bytes[operation] += found.size
        return found, fate, delay_s

    def _let_in(self, call: Call, fate: Fate) -> None:
        faults, operation = self._world.faults, call.operation
        if faults.expired_after is not None and self._calls.total() > faults.expired_after:
            message = "The security token included in the request is expired"
            raise Refusal("ExpiredTokenException", message, _FORBIDDEN.get(call.service, 400))
        if operation in faults.denied:
            action = f"{call.service}:{operation}"
            why = f"because no identity-based policy allows the {action} action"
            message = f"User: {identity.caller_arn(self._world)} is not authorized to perform: {action} {why}"
            raise Refusal("AccessDeniedException", message, _FORBIDDEN.get(call.service, 400))
        bucket = self._buckets.get(operation)
        if fate is Fate.THROTTLED or (bucket is not None and not bucket.take(time.monotonic())):
            raise Refusal("ThrottlingException", "Rate exceeded", 503 if call.service == "ec2" else 400)
        if fate is Fate.ERROR_500:
            raise Refusal("InternalFailure", "The request processing has failed.", 500)
        if fate is Fate.ERROR_503:
            raise Refusal("ServiceUnavailableException", "The service cannot complete the request.", 503)

    def _value(self, call: Call) -> _Value:
        try:
            if call.service == "cloudwatch" and call.operation == "GetMetricData":
                page = metric_data.get_metric_data(self._world, call.parameters)
                if call.protocol == "json":
                    return metric_text.as_json(page)
                return metric_text.as_cbor(page) if call.protocol == "cbor" else metric_text.as_xml(page)
            handler = self._handlers.get(f"{call.service}.{call.operation}")
            if handler is None:
                raise Refusal("UnknownOperationException", f"The stub has no {call.service}:{call.operation}.")
            return handler(call.parameters)
        except (KeyError, TypeError, AttributeError) as error:
            raise Refusal("ValidationException", f"The request cannot be read: {error!r}.") from error
