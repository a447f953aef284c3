"""How does a page of points look in JSON, CBOR and XML? Older clients of CloudWatch speak one, newer ones another."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from benchmarks.account import cbor
from benchmarks.account.metric_data import Page, Result
from benchmarks.account.metric_points import Points

_NUMBER = np.dtype([("head", "u1"), ("value", ">f8")])
_MOMENT = np.dtype([("tag", "u1"), ("head", "u1"), ("value", ">u4")])


def as_json(page: Page) -> list[bytes | memoryview]:
    """The body of protocol json."""
    results = []
    for result in page.results:
        head = json.dumps({"Id": result.id, "Label": result.label, "StatusCode": result.status})
        times, values = _times_json(result.points, result.part, page.newest_first), ",".join(_texts(result, page))
        results.append(f'{head[:-1]},"Timestamps":[{times}],"Values":[{values}]}}')
    token = f',"NextToken":{json.dumps(page.next_token)}' if page.next_token else ""
    return [f'{{"MetricDataResults":[{",".join(results)}],"Messages":[]{token}}}'.encode()]


def as_cbor(page: Page) -> list[bytes | memoryview]:
    """The body of protocol smithy-rpc-v2-cbor."""
    results = []
    for result in page.results:
        step = slice(None, None, -1) if page.newest_first else slice(None)
        times = result.points.times_s[result.part][step] if result.points else np.empty(0, np.int64)
        values = result.points.values[result.part][step] if result.points else np.empty(0)
        numbers, moments = np.empty(len(values), _NUMBER), np.empty(len(times), _MOMENT)
        numbers["head"], numbers["value"] = 0xFB, values
        moments["tag"], moments["head"], moments["value"] = 0xC1, 0x1A, times
        told: dict[str, Any] = {
            "Id": result.id,
            "Label": result.label,
            "StatusCode": result.status,
            "Timestamps": cbor.Ready(cbor.array_head(len(times)) + moments.tobytes()),
            "Values": cbor.Ready(cbor.array_head(len(values)) + numbers.tobytes()),
        }
        results.append(told)
    more = {"NextToken": page.next_token} if page.next_token else {}
    return [cbor.written({"MetricDataResults": results, "Messages": [], **more})]


def as_xml(page: Page) -> str:
    """The result's members in protocol query."""
    rows = []
    for result in page.results:
        times = _times_xml(result.points, result.part, page.newest_first)
        values = "".join([f"<member>{text}</member>" for text in _texts(result, page)])
        rows.append(
            f"<member><Id>{result.id}</Id><Label>{escape(result.label)}</Label><StatusCode>{result.status}</StatusCode>"
            f"<Timestamps>{times}</Timestamps><Values>{values}</Values></member>"
        )
    token = f"<NextToken>{page.next_token}</NextToken>" if page.next_token else ""
    return f"<MetricDataResults>{''.join(rows)}</MetricDataResults><Messages/>{token}"


def _texts(result: Result, page: Page) -> tuple[str, ...]:
    texts = result.points.texts[result.part] if result.points else ()
    return texts[::-1] if page.newest_first else texts


def _times_json(points: Points | None, part: slice, newest_first: bool) -> str:
    return _times(*_row(points, part), newest_first, False)


def _times_xml(points: Points | None, part: slice, newest_first: bool) -> str:
    return _times(*_row(points, part), newest_first, True)


def _row(points: Points | None, part: slice) -> tuple[int, int, int]:
    """First time, step and count: a job's points have no holes, so the queries of a page share one text."""
    if points is None or part.start >= part.stop:
        return 0, 60, 0
    times = points.times_s[part]
    return int(times[0]), int(times[1] - times[0]) if len(times) > 1 else 60, len(times)


@lru_cache(64)
def _times(first: int, step: int, count: int, newest_first: bool, xml: bool) -> str:
    moments = range(first, first + step * count, step)
    ordered = reversed(moments) if newest_first else moments
    if not xml:
        return ",".join(map(str, ordered))
    stamps = (datetime.fromtimestamp(moment, UTC) for moment in ordered)
    return "".join([f"<member>{stamp:%Y-%m-%dT%H:%M:%SZ}</member>" for stamp in stamps])
