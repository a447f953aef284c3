"""Nothing is lost, nothing is said twice: failing receivers, several processes, and one that is killed at the worst time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.alert.delivery import deliver, key_of
from monitor.alert.ledger import Ledger
from monitor.alert.message import Message, id_of
from monitor.alert.sinks import NotSent, sender, slack_sink, sns_sink
from monitor.alert.sinks.names import Sink, address_of, sink_of
from monitor.errors import BadCall
from tests.alert.receiver import Receiver, receiving

TOPIC = "arn:aws:sns:us-east-1:123456789012:training"


def message(name: str = "one", text: str = "It is so.", **changes: Any) -> Message:
    fields: dict[str, Any] = {
        "id": id_of(name), "kind": "firing", "job": "job-1", "status": "InProgress", "rule": "idle", "when": "loss > 3",
        "severity": "critical", "node": "algo-1", "finding": None, "since": None, "at": "2026-09-25T12:00:00Z",
        "value": 4.0, "limit": 3.0, "unit": "", "title": f"CRITICAL: {name}", "text": text,
        "link": "https://watch.example.com/job?job=job-1",
    }  # fmt: skip
    return Message(**(fields | changes))


def noted(ledger: Ledger, sink: Sink, *messages: Message) -> None:
    with ledger.change():
        for place, each in enumerate(messages):
            ledger.add(each, key_of(sink), float(place))


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with receiving() as running:
        yield running


def _quietly(ledger: Ledger, sink: Sink, at: float = 1000.0) -> tuple[int, int, str]:
    found = deliver(ledger, sink, sleep=lambda seconds: None, clock=lambda: at)
    return found.sent, found.waiting, found.trouble


def test_messages_arrive_in_order_and_once(receiver: Receiver, tmp_path: Path) -> None:
    sink, ledger = sink_of(f"webhook:{receiver.url}"), Ledger(tmp_path / "ledger")
    noted(ledger, sink, message("one"), message("two"), message("one"))
    assert _quietly(ledger, sink) == (2, 0, "")
    assert _quietly(Ledger(tmp_path / "ledger"), sink) == (0, 0, "")
    assert receiver.got == [message("one").document(), message("two").document()]
    assert [each["Idempotency-Key"] for each in receiver.headers] == [id_of("one"), id_of("two")]


def test_a_receiver_that_stumbles_gets_it_at_the_next_try(receiver: Receiver, tmp_path: Path) -> None:
    sink, ledger = sink_of(f"webhook:{receiver.url}"), Ledger(tmp_path / "ledger")
    noted(ledger, sink, message("one"))
    receiver.answers = [503, 429]
    assert _quietly(ledger, sink) == (1, 0, "")
    assert [each["id"] for each in receiver.got] == [id_of("one")] * 3


def test_a_receiver_that_is_down_gets_it_later(receiver: Receiver, tmp_path: Path) -> None:
    sink, ledger = sink_of(f"webhook:{receiver.url}"), Ledger(tmp_path / "ledger")
    noted(ledger, sink, message("one"), message("two"))
    receiver.answers = [503] * 3
    assert _quietly(ledger, sink, 1000) == (0, 2, "HTTP 503")
    # It is left in peace for a while, longer after each failure.
    assert _quietly(ledger, sink, 1010) == (0, 2, "")
    receiver.answers = [501]
    assert _quietly(ledger, sink, 1016) == (0, 2, "HTTP 501")
    assert _quietly(ledger, sink, 1040) == (0, 2, "")
    assert _quietly(ledger, sink, 1047) == (2, 0, "")
    assert [each["title"] for each in receiver.got[4:]] == ["CRITICAL: one", "CRITICAL: two"]


def test_a_receiver_may_ask_for_more_time(receiver: Receiver, tmp_path: Path) -> None:
    sink, ledger = sink_of(f"webhook:{receiver.url}"), Ledger(tmp_path / "ledger")
    noted(ledger, sink, message("one"))
    receiver.answers, receiver.more = [429], {"Retry-After": "120"}
    assert _quietly(ledger, sink, 1000) == (0, 1, "HTTP 429")
    receiver.more = {}
    assert _quietly(ledger, sink, 1119) == (0, 1, "")
    assert _quietly(ledger, sink, 1121) == (1, 0, "")


def test_trouble_is_told_without_the_address(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answers, receiver.more = [302], {"Location": f"{receiver.url}&more"}
    secret = sink_of(f"webhook:{receiver.url}")
    ledger = Ledger(tmp_path / "ledger")
    noted(ledger, secret, message("one"))
    assert "SECRET" not in _quietly(ledger, secret)[2]
    for address in ("http://127.0.0.1:9/SECRET", "http://no-such-host.invalid/SECRET", "https://127.0.0.1:9/SECRET"):
        with pytest.raises(NotSent) as caught:
            sender(sink_of(f"slack:{address}"))(message(), sink_of(f"slack:{address}"))
        assert "SECRET" not in str(caught.value)
        assert caught.value.__suppress_context__
    ledger.close()
    assert b"SECRET" not in (tmp_path / "ledger").read_bytes()


def test_slack_gets_lines_that_nothing_in_a_log_can_turn_into_markup(receiver: Receiver) -> None:
    sink = sink_of(f"slack:{receiver.url}")
    sender(sink)(message("<!channel> & co", "<https://evil.example|click>"), sink)
    (body,) = receiver.got
    assert body == slack_sink.body(message("<!channel> & co", "<https://evil.example|click>"))
    shown = body["blocks"][0]["text"]["text"]
    assert shown == (
        ":rotating_light: *CRITICAL: &lt;!channel&gt; &amp; co*\n&lt;https://evil.example|click&gt;\n"
        "<https://watch.example.com/job?job=job-1|Open the job>"
    )
    assert id_of("<!channel> & co") in body["blocks"][1]["elements"][0]["text"]
    assert len(json.dumps(slack_sink.body(message("x" * 9000, "y" * 9000)))) < 9500


def test_an_address_comes_from_the_environment_or_a_file(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", f"{receiver.url}\n")
    (tmp_path / "hook").write_text(receiver.url, encoding="utf-8")
    for text in ("slack:env:HOOK", f"webhook:file:{tmp_path / 'hook'}"):
        sender(sink_of(text))(message(), sink_of(text))
    assert len(receiver.got) == 2
    monkeypatch.setenv("WRONG", "SECRET")
    monkeypatch.setenv("EMPTY", " ")
    for text in ("slack:env:NOT_SET", "slack:env:EMPTY", "slack:env:WRONG", "webhook:file:/nonexistent/SECRETS"):
        with pytest.raises(BadCall) as caught:
            address_of(sink_of(text))
        assert "SECRET." not in str(caught.value)


def test_a_program_gets_json(tmp_path: Path) -> None:
    out = tmp_path / "out put"
    sink = sink_of(f"exec:{sys.executable} -c 'import sys; open(sys.argv[1], \"w\").write(sys.stdin.read())' '{out}'")
    sender(sink)(message("one"), sink)
    assert json.loads(out.read_text(encoding="utf-8")) == message("one").document()


@pytest.mark.parametrize(
    ("command", "words", "soon"),
    [("false", "exited with 1", True), ("/nonexistent/program", "cannot be started", False)],
)
def test_a_program_that_fails(command: str, words: str, soon: bool) -> None:
    sink = sink_of(f"exec:{command}")
    with pytest.raises(NotSent, match=words) as caught:
        sender(sink)(message(), sink)
    assert caught.value.try_soon is soon


def test_a_program_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitor.alert.sinks import exec_sink

    monkeypatch.setattr(exec_sink, "LONGEST_S", 0.2)
    sink = sink_of("exec:sleep 60")
    with pytest.raises(NotSent, match="did not finish"):
        sender(sink)(message(), sink)


def test_a_publication_on_sns() -> None:
    plain = sns_sink.publication(message("gr\u00fc\u00dfe\n" + "x" * 200), sink_of(f"sns:{TOPIC}"))
    assert plain["TopicArn"] == TOPIC
    assert plain["Subject"].isascii()
    assert len(plain["Subject"]) == 100
    by_protocol = json.loads(plain["Message"])
    assert json.loads(by_protocol["lambda"])["id"] == message("gr\u00fc\u00dfe\n" + "x" * 200).id
    assert by_protocol["default"].endswith("https://watch.example.com/job?job=job-1")
    assert plain["MessageAttributes"]["severity"] == {"DataType": "String", "StringValue": "critical"}
    assert "MessageDeduplicationId" not in plain
    fifo = sns_sink.publication(message("one"), sink_of(f"sns:{TOPIC}.fifo"))
    assert (fifo["MessageDeduplicationId"], fifo["MessageGroupId"]) == (id_of("one"), "job-1")


_SEND = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from monitor.alert.delivery import deliver
    from monitor.alert.ledger import Ledger
    from monitor.alert.sinks.names import sink_of

    deliver(Ledger(Path(sys.argv[1])), sink_of(sys.argv[2]))
    """
)


def _process(ledger: Path, sink: Sink) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _SEND, str(ledger), sink.text], cwd=Path(__file__).parents[2])


def test_a_process_killed_between_sending_and_noting_it_leads_to_one_repeat_under_the_same_id(tmp_path: Path) -> None:
    taken, kill, script = tmp_path / "taken", tmp_path / "kill", tmp_path / "take"
    kill.touch()
    # Takes the message and, while the file is there, kills who sent it.
    script.write_text(
        f"#!/bin/sh\ncat >> {taken}; echo >> {taken}\nif [ -e {kill} ]; then rm {kill}; kill -9 $PPID; sleep 5; fi\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    sink, path = sink_of(f"exec:{script}"), tmp_path / "ledger"
    noted(Ledger(path), sink, message("one"), message("two"))
    assert _process(path, sink).wait() == -9
    assert _process(path, sink).wait() == 0
    assert _process(path, sink).wait() == 0
    ids = [json.loads(line)["id"] for line in taken.read_text(encoding="utf-8").splitlines()]
    assert ids == [id_of("one"), id_of("one"), id_of("two")]


def test_processes_that_send_at_once_send_each_message_once(tmp_path: Path) -> None:
    taken, script = tmp_path / "taken", tmp_path / "take"
    script.write_text(f"#!/bin/sh\nsleep 0.02\ncat >> {taken}; echo >> {taken}\n", encoding="utf-8")
    script.chmod(0o755)
    sink, path = sink_of(f"exec:{script}"), tmp_path / "ledger"
    names = [f"message {number}" for number in range(12)]
    noted(Ledger(path), sink, *map(message, names))
    running = [_process(path, sink) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    ids = [json.loads(line)["id"] for line in taken.read_text(encoding="utf-8").splitlines()]
    assert ids == [id_of(name) for name in names]


def test_the_ledger_is_its_owners_alone(tmp_path: Path) -> None:
    Ledger(tmp_path / "state" / "ledger")
    assert (tmp_path / "state" / "ledger").stat().st_mode & 0o077 == 0
    assert os.access(tmp_path / "state" / "ledger", os.W_OK)


def test_a_clock_that_is_set_back_changes_neither_order_nor_wait(receiver: Receiver, tmp_path: Path) -> None:
    sink, ledger = sink_of(f"webhook:{receiver.url}"), Ledger(tmp_path / "ledger")
    for name, at in (("beginning", 90_000.0), ("end", 89_000.0)):
        with ledger.change():
            ledger.add(message(name), key_of(sink), at)
    receiver.answers = [501]
    assert _quietly(ledger, sink, 90_000) == (0, 2, "HTTP 501")
    # A day back: nobody waits until the clock is there again.
    assert _quietly(ledger, sink, 3_600) == (2, 0, "")
    assert [each["id"] for each in receiver.got[1:]] == [id_of("beginning"), id_of("end")]
