"""A copy of a log says what the log said: JSON and tables of the AWS tools, console pairs, the SDK's console, srun's labels."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from monitor.fetch.files.renderings import are_labelled
from monitor.fetch.files.source import FilesSource
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows

STEPS = [f"step={n} step_time_s={0.5 + n / 10:.1f} loss={9 - n}.0" for n in range(1, 6)]
T0_MS = 1772611940000


def _read(tmp_path: Path, text: str, name: str = "copy.log") -> Parsed:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return _parsed(path)


def _parsed(path: Path) -> Parsed:
    source, raw = FilesSource([str(path)]), RawRows()
    for page in source.logs(source.job()).read():
        raw.add(page)
    return assemble(raw.steps, raw.events)


def _stamp(n: int) -> str:
    return f"2026-03-04T08:12:{20 + n:02d}.000Z"


def _check(parsed: Parsed, node: str = "algo-1", timed: bool = True) -> None:
    steps = parsed.steps
    assert list(steps["step"]) == [1, 2, 3, 4, 5]
    assert list(steps["step_time_s"]) == [0.6, 0.7, 0.8, 0.9, 1.0]
    assert set(steps["node"]) == {node}
    if timed:
        assert [f"{moment:%S}" for moment in steps["timestamp"]] == ["21", "22", "23", "24", "25"]
    else:
        assert steps["timestamp"].isna().all()


def test_an_ordinary_log_passes_as_it_is(tmp_path: Path) -> None:
    _check(_read(tmp_path, "\n".join(["a head", *STEPS])), timed=False)


@pytest.mark.parametrize("indent", [None, 4])
def test_get_log_events(tmp_path: Path, indent: int | None) -> None:
    events = [
        {"timestamp": T0_MS + 1000 * n, "message": line, "ingestionTime": T0_MS}
        for n, line in enumerate(STEPS, start=1)
    ]
    _check(_read(tmp_path, json.dumps({"events": events, "nextForwardToken": "f/1"}, indent=indent)))


def test_filter_log_events_keeps_streams_apart(tmp_path: Path) -> None:
    events = [
        {"logStreamName": f"job/algo-{node}-1700000000", "timestamp": T0_MS + 1000 * n, "message": line, "eventId": "1"}
        for n, line in enumerate(STEPS, start=1)
        for node in (1, 2)
    ]
    steps = _read(tmp_path, json.dumps({"events": events})).steps
    assert steps.groupby("node").size().to_dict() == {"algo-1": 5, "algo-2": 5}


def test_json_that_is_no_answer_of_aws_stays_a_log(tmp_path: Path) -> None:
    lines = ['{"events": "none", "note": 1}', *STEPS]
    _check(_read(tmp_path, "\n".join(lines)), timed=False)


def test_tail_and_exports_have_time_and_stream_in_front(tmp_path: Path) -> None:
    tail = [f"{_stamp(n)} job/algo-2-1700000000 {line}" for n, line in enumerate(STEPS, start=1)]
    _check(_read(tmp_path, "\n".join(tail)), node="algo-2")
    export = tmp_path / "000000.gz"
    export.write_bytes(
        gzip.compress("\n".join(f"{_stamp(n)} {line}" for n, line in enumerate(STEPS, start=1)).encode())
    )
    _check(_parsed(export))


def test_console_pairs(tmp_path: Path) -> None:
    pairs = [part for n, line in enumerate(STEPS, start=1) for part in (_stamp(n), line)]
    parsed = _read(tmp_path, "\n".join(pairs))
    _check(parsed)
    assert list(parsed.steps["line"]) == [2, 4, 6, 8, 10]


def test_compose_prefixes_name_the_host(tmp_path: Path) -> None:
    lines = [f"\x1b[36m1x4fc011ay-algo-2-nrgii |\x1b[0m {line}" for line in STEPS]
    _check(_read(tmp_path, "\n".join(lines)), node="algo-2", timed=False)


def test_the_rich_console_of_the_sdk(tmp_path: Path) -> None:
    blank = " " * 21
    lines = []
    for n, line in enumerate(STEPS, start=1):
        head = f"[03/04/26 08:12:{20 + n}]" if n % 2 else blank[:-1]
        lines += [
            f"\x1b[2;36m{head}\x1b[0m \x1b[1mINFO    \x1b[0m job/algo-1-1700000000      resources.py:28457",
            f"{blank}        : {line[:7]}".replace("step=", "step=\x1b[1;36m").rstrip() + "\x1b[0m",
            f"{blank}        {line[7:].strip()}",
        ]
    _check(_read(tmp_path, "\n".join(lines)), timed=False)


def _rows() -> list[tuple[str, str]]:
    return [(f"2026-03-04 08:12:{20 + n:02d}.000", line) for n, line in enumerate(STEPS, start=1)]


def _quoted(*cells: str) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


NEWEST_FIRST = list(reversed(_rows()))
TABLES = {
    "Insights CSV": "\n".join(["@timestamp,@message", *(f"{stamp},{line}" for stamp, line in NEWEST_FIRST)]),
    "Insights CSV, quoted": "\n".join([_quoted("@timestamp", "@message"), *(_quoted(*row) for row in NEWEST_FIRST)]),
    "CSV of a search": "\n".join(
        ["timestamp,message", *(f'{T0_MS + 1000 * n},"{line}\n"' for n, line in enumerate(STEPS, start=1))]
    ),
    "for a spreadsheet": "\n".join(["@timestamp\t@message", *("\t".join(row) for row in NEWEST_FIRST)]),
    "Markdown": "\n".join(
        [
            "**CloudWatch Logs Insights**    ",
            "region: eu-west-1    ",
            "query-string:",
            "  ```",
            "fields @timestamp, @message",
            "| sort @timestamp desc",
            "  ```",
            "---",
            "| @timestamp | @message |",
            "| --- | --- |",
            *(f"| {stamp} | {line} |" for stamp, line in NEWEST_FIRST),
        ]
    ),
    "text": "\n".join(
        [
            "-" * 80,
            f"|{'@timestamp':^25}|{'@message':^52}|",
            f"|{'-' * 25}|{'-' * 52}|",
            *(f"| {stamp} | {line:<50} |" for stamp, line in NEWEST_FIRST),
            "-" * 80,
        ]
    ),
    "JSON of the console": json.dumps([{"@timestamp": s, "@message": m, "@ptr": "x"} for s, m in NEWEST_FIRST]),
    "get-query-results": json.dumps(
        {
            "results": [
                [
                    {"field": "@timestamp", "value": s},
                    {"field": "@message", "value": m},
                    {"field": "@ptr", "value": "x"},
                ]
                for s, m in NEWEST_FIRST
            ],
            "statistics": {"recordsMatched": 5.0},
            "status": "Complete",
        },
        indent=4,
    ),
    "get-log-events as text": "\n".join(
        ["b/1\tf/1", *(f"EVENTS\t{T0_MS}\t{line}\t{T0_MS + 1000 * n}" for n, line in enumerate(STEPS, start=1))]
    ),
    "milliseconds and message": "\n".join(f"{T0_MS + 1000 * n}\t{line}" for n, line in enumerate(STEPS, start=1)),
    "events one a line": "\n".join(
        json.dumps({"timestamp": T0_MS + 1000 * n, "message": line}) for n, line in enumerate(STEPS, start=1)
    ),
    "tail, short": "\n".join(f"2026-03-04T08:12:{20 + n} {line}" for n, line in enumerate(STEPS, start=1)),
    "tail with colours": "\n".join(
        f"\x1b[32m2026-03-04T08:12:{20 + n}.000000+00:00\x1b[0m \x1b[36mjob/algo-1-1700000000\x1b[0m {line}"
        for n, line in enumerate(STEPS, start=1)
    ),
    "tail elsewhere": "\n".join(
        f"2026-03-04T17:12:{20 + n}.000+09:00 job/algo-1-1700000000 {line}" for n, line in enumerate(STEPS, start=1)
    ),
    "docker logs -t": "\n".join(
        f"2026-03-04T08:12:{20 + n}.123456789Z {line}" for n, line in enumerate(STEPS, start=1)
    ),
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_what_the_aws_tools_print_and_copy(tmp_path: Path, text: str) -> None:
    _check(_read(tmp_path, text))


def test_a_query_with_streams_keeps_them_apart_and_messages_whole(tmp_path: Path) -> None:
    rows = [
        _quoted(stamp, "7:/aws/sagemaker/TrainingJobs", f"job/algo-{node}-1700000000", f'said "so", | and\n{line}')
        for stamp, line in NEWEST_FIRST
        for node in (2, 1)
    ]
    parsed = _read(tmp_path, "\n".join(["@timestamp,@log,@logStream,@message", *rows]))
    for node in ("algo-1", "algo-2"):
        of_node = parsed.steps[parsed.steps["node"] == node]
        assert list(of_node["step"]) == [1, 2, 3, 4, 5]
        assert list(of_node["line"]) == [2, 4, 6, 8, 10]


def test_bars_of_progress_stay_in_their_cell(tmp_path: Path) -> None:
    rows = [
        f"| {stamp} | Steps:  {n}0%|#{' ' * 4}| {n}/10 [00:0{n}<00:09,  {n}.50s/it] | job/algo-1-1700000000 |"
        for n, (stamp, _) in enumerate(_rows(), start=1)
    ]
    steps = _read(tmp_path, "\n".join(["| @timestamp | @message | @logStream |", "|---|---|---|", *rows])).steps
    assert list(steps["step_time_s"]) == [1.5, 2.5, 3.5, 4.5, 5.5]


def test_json_that_tail_spread_over_lines_is_one_event_again(tmp_path: Path) -> None:
    said = [json.dumps({"step": n, "step_time_s": 0.5 + n / 10}, indent=4) for n in range(1, 6)]
    tail = [f"{_stamp(n)[:-1]}+00:00 job/algo-2-1700000000 \n{text}" for n, text in enumerate(said, start=1)]
    _check(_read(tmp_path, "\n".join(tail)), node="algo-2")


def test_further_lines_of_a_tailed_event_belong_to_its_stream(tmp_path: Path) -> None:
    tail = [f"{_stamp(n)[:-1]}+00:00 job/algo-2-1700000000 a report:\n{line}" for n, line in enumerate(STEPS, start=1)]
    _check(_read(tmp_path, "\n".join(tail)), node="algo-2")


def test_a_script_that_prints_a_table_or_json_of_its_own_is_a_log(tmp_path: Path) -> None:
    for head in ("step,message", '{"timestamp": 1, "message": "x", "level": "INFO"}', "| step | loss |", "time,loss"):
        _check(_read(tmp_path, "\n".join([head, *STEPS])), timed=False)


# --- srun --label ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [[], ["+ srun --label python train.py", "loading modules"]])
@pytest.mark.parametrize("tasks", [2, 12])
def test_labels_of_srun(tmp_path: Path, tasks: int, head: list[str]) -> None:
    width = len(str(tasks - 1))
    lines = [f"{task:>{width}}: {line}{task}" for line in STEPS for task in range(tasks)]
    steps = _read(tmp_path, "\n".join([*head, *lines])).steps
    assert steps.groupby("step").size().to_dict() == dict.fromkeys(range(1, 6), tasks)
    assert steps["rank"].isna().all()


@pytest.mark.parametrize(
    "lines",
    [
        [f"{n}: loss {9 - n / 10}" for n in range(40)],  # a counter
        [f"{n}: loss {9 - n / 10}" for n in range(10)] * 4,  # one that begins again
        [f"{epoch}: step {n} loss {9 - n / 10}" for epoch in range(4) for n in range(10)],  # epochs
        ["0: first", "1: second"],  # too few to tell
    ],
)
def test_numbers_that_are_no_labels(lines: list[str]) -> None:
    assert not are_labelled(lines)


def test_a_redraw_that_srun_cut_is_read_whole(tmp_path: Path) -> None:
    bars = [f"\rSteps: {n}%|{'█' * (n // 10):<10}| {n}/100 [00:{n:02d}<01:00,  {n}.25s/it]" for n in range(1, 60)]
    text = "".join(bars).encode()
    pieces = [text[at : at + 1024].decode("utf-8", "replace") for at in range(0, len(text), 1024)]
    lines = [line for piece in pieces for line in (f"0: {piece}", "1: waiting for step 3", "0: a word")[:2]]
    steps = _read(
        tmp_path, "\n".join(["1: began step 0", "0: began", "1: went on", "0: so did this one", *lines])
    ).steps
    assert list(steps["step"]) == list(range(1, 60))
    assert list(steps["step_time_s"]) == [n + 0.25 for n in range(1, 60)]


@pytest.mark.parametrize(
    "text",
    [
        "@timestamp,@message\n" + '"' * 99_999,
        "@timestamp,@message\n" + "," * 300_000,
        "| @timestamp | @message |\n" + "|" * 300_000,
        '{"events":[' * 20_000,
        '[{"timestamp": 1e400, "message": "step=1 step_time_s=2"}]',
        json.dumps({"events": [{"timestamp": 10**30, "message": "a"}, {"timestamp": True, "message": "b"}]}),
        "EVENTS\t1700000000000\t" + "\t" * 300_000,
        "9999999999999\ta\n9999999999999\tb",
        "0: \r\n" * 5000 + "1:",
    ],
    ids=range(9),
)
def test_bad_copies_neither_raise_nor_take_long(tmp_path: Path, text: str) -> None:
    _read(tmp_path, text)


@pytest.mark.parametrize(
    "text", ["{", "[", '{"events": [{"message": 1}]}', '{"events": []}', "[08/01/25 00:23:01] INFO  x"]
)
def test_no_copy_raises(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text).steps.empty
