"""A message that a receiver refuses for good is set aside, said, kept and can be sent again; the others go on, in order."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError
from hypothesis import given
from hypothesis import strategies as st

from monitor.alert import delivery
from monitor.alert.delivery import DeliveryResult, deliver, key_of
from monitor.alert.ledger import ASIDE_KEPT_S, Ledger
from monitor.alert.message import Message, id_of
from monitor.alert.sinks import NotSent, Refused, sender, sns_sink
from monitor.alert.sinks.names import Sink, sink_of
from monitor.aws.errors import CallContext, explained
from monitor.cli.main import main
from tests.alert.receiver import Receiver, receiving
from tests.alert.test_delivery import TOPIC, message, noted
from tests.cli.commands import SMP

DAY_S = 86400.0
FIRES = ("--logs", SMP, "--when", "step_time > 1")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with receiving() as running:
        yield running


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


def _delivered(ledger: Ledger, sink: Sink, at: float = 1000.0) -> DeliveryResult:
    return deliver(ledger, sink, sleep=lambda seconds: None, clock=lambda: at)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 413, 415, 422, 423, 451, 499])
def test_one_message_that_is_refused_stops_no_other(receiver: Receiver, ledger: Ledger, status: int) -> None:
    sink = sink_of(f"webhook:{receiver.url}")
    noted(ledger, sink, message("one"), message("two"), message("three"))
    receiver.judge = lambda body: status if body["title"] == "CRITICAL: two" else 200
    outcome = _delivered(ledger, sink)
    assert (outcome.sent, outcome.waiting, outcome.trouble) == (2, 0, "")
    assert [aside.message for aside in outcome.refused] == [message("two")]
    # It was asked once, in its turn, and never again.
    assert [body["title"][10:] for body in receiver.got] == ["one", "two", "three"]
    assert _delivered(ledger, sink, 9e8) == DeliveryResult(sink)
    assert len(receiver.got) == 3


@pytest.mark.parametrize("status", [408, 425, 429, 500, 501, 502, 503, 504, 599])
def test_what_is_refused_for_now_waits_and_so_do_the_others(receiver: Receiver, ledger: Ledger, status: int) -> None:
    sink = sink_of(f"webhook:{receiver.url}")
    noted(ledger, sink, message("one"), message("two"))
    receiver.judge = lambda body: status
    outcome = _delivered(ledger, sink)
    assert (outcome.sent, outcome.waiting, outcome.trouble) == (0, 2, f"HTTP {status}")
    assert not outcome.refused
    receiver.judge = lambda body: 200
    assert _delivered(ledger, sink, 1e5).sent == 2
    assert [body["title"][10:] for body in receiver.got[-2:]] == ["one", "two"]


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_an_answer_that_points_nowhere_refuses_and_one_that_points_elsewhere_is_not_followed(
    receiver: Receiver, ledger: Ledger, status: int
) -> None:
    sink = sink_of(f"webhook:{receiver.url}")
    noted(ledger, sink, message("one"))
    receiver.answers, receiver.more = [status], {"Location": "https://login.example.com/?next=SECRET"}
    waits = _delivered(ledger, sink)
    assert (waits.waiting, waits.refused) == (1, ())
    assert waits.trouble == f"HTTP {status}: it points to another address, which is not followed"
    receiver.answers, receiver.more = [status], {}
    assert [aside.why for aside in _delivered(ledger, sink, 2000).refused] == [f"HTTP {status}"]


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n", 1),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 500\r\n\r\nshort", 1),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 1),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100_000, 1),
        (b"I am no web server\r\n\r\n", 0),
        (b"HTTP/1.1 2", 0),
        (b"HTTP/1.1 99999 OK\r\n\r\n", 0),
        (b"", 0),
    ],
)
def test_only_the_first_line_of_an_answer_counts(receiver: Receiver, ledger: Ledger, answer: bytes, sent: int) -> None:
    sink = sink_of(f"webhook:{receiver.url}")
    noted(ledger, sink, message("one"))
    receiver.answers = [answer] * 3
    outcome = _delivered(ledger, sink)
    assert (outcome.sent, outcome.waiting, outcome.refused) == (sent, 1 - sent, ())


def test_a_program_refuses_with_65(ledger: Ledger, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    program = f"import json, sys; m = json.load(sys.stdin); open({str(taken)!r}, 'a').write(m['title'] + chr(10))"
    program += "; sys.exit(65 if m['title'].endswith('one') else 0)"
    sink = sink_of(f"exec:{sys.executable} -c {shlex.quote(program)}")
    noted(ledger, sink, message("one"), message("two"))
    outcome = _delivered(ledger, sink)
    assert (outcome.sent, [aside.why for aside in outcome.refused]) == (1, ["the program exited with 65"])
    assert taken.read_text(encoding="utf-8") == "CRITICAL: one\nCRITICAL: two\n"
    for code in (1, 64, 66, 75, 127):
        with pytest.raises(NotSent, match=f"exited with {code}"):
            sender(sink_of(f"exec:sh -c 'exit {code}'"))(message(), sink_of(f"exec:sh -c 'exit {code}'"))


def _answered(code: str, status: int) -> Exception:
    return ClientError({"Error": {"Code": code, "Message": "No."}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Publish")  # type: ignore[typeddict-item]  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "for_good"),
    [
        (_answered("InvalidParameter", 400), True),
        (_answered("NotFound", 404), True),
        (_answered("AuthorizationError", 403), True),
        (_answered("EndpointDisabled", 400), True),
        (_answered("KMSDisabled", 400), True),
        (_answered("KMSAccessDenied", 400), True),
        (_answered("ValidationException", 400), True),
        (ParamValidationError(report="Invalid type"), True),
        (_answered("Throttling", 400), False),
        (_answered("KMSThrottling", 400), False),
        (_answered("ExpiredToken", 403), False),
        (_answered("InvalidClientTokenId", 403), False),
        (_answered("RequestTimeout", 408), False),
        (_answered("InternalError", 500), False),
        (_answered("ServiceUnavailable", 503), False),
    ],
    ids=lambda value: value.response["Error"]["Code"] if isinstance(value, ClientError) else "",
)
def test_what_a_topic_refuses_for_good_is_what_aws_blames_on_the_call(
    monkeypatch: pytest.MonkeyPatch, cause: Exception, for_good: bool
) -> None:
    class Refusing:
        def call(self, *_: Any, **__: Any) -> None:
            told = explained(cause, CallContext(region="us-east-1", service="sns"))
            assert told is not None
            raise told from cause

    monkeypatch.setattr(sns_sink, "_clients", lambda region: Refusing())
    with pytest.raises(Refused if for_good else NotSent):
        sender(sink_of(f"sns:{TOPIC}"))(message(), sink_of(f"sns:{TOPIC}"))


def test_nothing_is_in_the_way_of_the_others_for_ever(receiver: Receiver, ledger: Ledger) -> None:
    sink, at = sink_of(f"webhook:{receiver.url}"), 1000.0
    noted(ledger, sink, message("one"), message("two"))
    receiver.judge = lambda body: 500 if body["title"] == "CRITICAL: one" else 200
    outcomes = []
    while not outcomes or outcomes[-1].waiting:
        outcomes.append(_delivered(ledger, sink, at))
        at += 3600.0
    assert at == pytest.approx(7 * DAY_S, rel=0.02)
    assert outcomes[-1].sent == 1
    (aside,) = outcomes[-1].refused
    assert aside.why.startswith("HTTP 500, tried ")
    assert aside.why.endswith(" times in 7 days")


def test_a_bug_on_one_message_is_that_messages_alone(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    sent: list[str] = []

    def send(each: Message, sink: Sink) -> None:
        if each.title.endswith("one"):
            raise KeyError("oops")
        sent.append(each.title)

    monkeypatch.setattr(delivery, "sender", lambda sink: send)
    sink = sink_of("exec:true")
    noted(ledger, sink, message("one"), message("two"))
    (aside,) = _delivered(ledger, sink).refused
    assert "Sending an alert failed because of an error in Trainwatch itself (KeyError: 'oops')" in aside.why
    assert sent == ["CRITICAL: two"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["taken", "refused", "later"])), max_size=12),
)
def test_the_messages_of_a_job_arrive_in_their_order(plan: list[tuple[str, str]]) -> None:
    names = [f"{job}{number}" for number, (job, _) in enumerate(plan)]
    fate = {name: what for name, (_, what) in zip(names, plan, strict=True)}
    got: list[str] = []

    def send(each: Message, sink: Sink) -> None:
        name = each.title.removeprefix("CRITICAL: ")
        what, fate[name] = fate[name], "taken" if fate[name] == "later" else fate[name]
        if what == "refused":
            raise Refused("no")
        if what == "later":
            raise NotSent("not now", try_soon=False)
        got.append(name)

    ledger, sink = Ledger(), sink_of("exec:true")
    noted(ledger, sink, *(message(name, job=name[0]) for name in names))
    asides = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "sender", lambda _: send)
        for turn in range(len(plan) + 1):
            asides += [aside.message.title[10:] for aside in _delivered(ledger, sink, 1e4 * turn).refused]
    assert got == [name for name, (_, what) in zip(names, plan, strict=True) if what != "refused"]
    assert asides == [name for name, (_, what) in zip(names, plan, strict=True) if what == "refused"]
    assert ledger.count_pending(key_of(sink)) == 0


def test_it_is_kept_for_three_months_and_by_a_ledger_of_before(receiver: Receiver, tmp_path: Path) -> None:
    import sqlite3

    path, sink = tmp_path / "ledger", sink_of(f"webhook:{receiver.url}")
    with sqlite3.connect(path) as db:
        db.execute(
            "create table deliveries (id text, sink text, message text, created real, tries integer default 0, next_try real "
            "default 0, sent real, trouble text default '', primary key (id, sink))"
        )
        db.execute(
            "insert into deliveries (id, sink, message, created) values (?, ?, ?, 1)",
            (id_of("one"), key_of(sink), json.dumps(message("one").document())),
        )
    db.close()
    receiver.answers = [400]
    assert [aside.message for aside in _delivered(Ledger(path), sink, 1000.0).refused] == [message("one")]
    ledger = Ledger(path)
    for at, left in ((1000.0 + ASIDE_KEPT_S - 1, 1), (1000.0 + ASIDE_KEPT_S + 1, 0)):
        ledger.forget(at)
        assert len(ledger.set_aside()) == left


def _alert(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 1) -> tuple[str, str]:
    assert main(["alert", *argv]) == code
    printed = capsys.readouterr()
    return printed.out, printed.err


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, receiver: Receiver) -> str:
    """A state folder of its own, and a sink that refuses until it is told otherwise."""
    for kind in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("HOOK", receiver.url)
    receiver.judge = lambda body: 400
    return "webhook:env:HOOK"


def test_it_is_said_once_listed_always_and_sent_again(
    at_home: str, receiver: Receiver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = _alert(capsys, *FIRES, "--notify", at_home)
    (line,) = err.splitlines()
    assert line == (
        "trainwatch: webhook:env:HOOK did not accept an alert and will not (HTTP 400): WARNING: step_time-above-1 on algo-2, job "
        "smp_v1_two_nodes_mpi. It is set aside; alert --resend sends it again."
    )
    assert f"1 alert that was refused is set aside in {tmp_path / 'state'}/trainwatch/alerts.sqlite" in out
    document, err = _alert(capsys, *FIRES, "--notify", at_home, "--format", "json")
    assert err == ""
    (aside,) = json.loads(document)["set_aside"]
    assert {name: aside[name] for name in ("sink", "job", "why")} == {
        "sink": at_home, "job": "smp_v1_two_nodes_mpi", "why": "HTTP 400",
    }  # fmt: skip
    assert json.loads(document)["not_sent"] == 0
    assert len(receiver.got) == 1
    # Nobody is named: a list. The sink is named and still refuses: told, and kept.
    out, err = _alert(capsys, "--resend", code=0)
    assert aside["id"][:8] in out
    assert "--notify" in out
    out, err = _alert(capsys, "--resend", "--notify", at_home, code=3)
    assert "did not accept an alert and will not (HTTP 400)" in err
    receiver.judge = lambda body: 200
    out, err = _alert(capsys, "--resend", "--notify", at_home, code=0)
    assert (out, err) == ("1 alert sent.\n", "")
    assert [body["id"] for body in receiver.got] == [aside["id"]] * 3
    out, _ = _alert(capsys, "--resend", "--notify", at_home, "--format", "json", code=0)
    assert json.loads(out) == {"schema": 1, "sent": 0, "not_sent": 0, "set_aside": []}
    assert _alert(capsys, *FIRES, "--notify", at_home)[1] == ""
    assert len(receiver.got) == 3


def test_one_alert_goes_to_another_sink(
    at_home: str, receiver: Receiver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _alert(capsys, *FIRES, "--when", "step_time > 1.5", "--notify", at_home)
    receiver.judge = lambda body: 200
    monkeypatch.setenv("CORRECTED", receiver.url)
    first, second = (body["id"] for body in receiver.got)
    out, _ = _alert(capsys, "--resend", first[:12], "--notify", "webhook:env:CORRECTED", code=0)
    assert "1 alert sent." in out
    assert [body["id"] for body in receiver.got] == [first, second, first]
    document, _ = _alert(capsys, "--resend", "--notify", "webhook:env:CORRECTED", "--format", "json", code=0)
    assert [aside["id"] for aside in json.loads(document)["set_aside"]] == [second]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--resend", "beef"], "No alert beef is set aside"),
        (["--resend", "--watch"], "--resend looks at no job"),
        (["job-1", "--resend"], "--resend looks at no job"),
        (["--resend", "--notify", "exec:/none"], "The program /none of exec: is not there"),
    ],
)
def test_wrong_calls_of_resend(at_home: str, argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = _alert(capsys, *argv, code=2)
    assert words in err


def test_many_refusals_are_one_sentence(at_home: str, receiver: Receiver, capsys: pytest.CaptureFixture[str]) -> None:
    rules = [word for number in range(12) for word in ("--when", f"step_time > 0.{number + 10}")]
    out, err = _alert(capsys, *FIRES, *rules, "--notify", at_home)
    assert err.count("\n") == 1
    assert "did not accept 13 alerts and will not (HTTP 400)" in err
    assert "and 12 others. They are set aside; alert --resend sends them again." in err
    assert "13 alerts that were refused are set aside" in out
    assert "and 3 more" in out
