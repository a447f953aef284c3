"""The sums of Logs Insights against the lines themselves, on a stub that evaluates the question; and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from benchmarks.account import Faults, Running, running
from monitor.archive.document import report_document
from monitor.aws.clients import Clients
from monitor.cli.main import main
from monitor.cli.report import print_report
from monitor.errors import CannotDo
from monitor.export.layout import markdown
from monitor.fetch.account import AwsSource
from monitor.fetch.logs import aggregate as insights
from monitor.fetch.logs.aggregate import aggregate, estimate, group_bytes, offer, read_samples
from monitor.fetch.source import Aggregated
from monitor.parse.insights.questions import MOST_ROWS
from monitor.review import Reviewer
from tests.fetch.large_account import BEGAN_MS, NOW_MS, account, empty, failed

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@pytest.fixture(scope="module")
def stub() -> Iterator[Running]:
    with running(account(), prepared=False) as aws:
        yield aws


@pytest.fixture
def aws(stub: Running, offline: None, monkeypatch: pytest.MonkeyPatch) -> Running:
    stub.set_faults(Faults())
    stub.reset()
    _use(stub, monkeypatch)
    return stub


def _use(stub: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in stub.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(insights, "_FIRST_PAUSE_S", 0.01)


def summed(name: str, told: list[str], max_usd: float | None = None) -> Aggregated:
    source = AwsSource(Clients())
    return aggregate(source.clients, source.job(name), NOW, told.append, lambda said: None, max_usd)


def lines_read(name: str) -> pd.DataFrame:
    return Reviewer(AwsSource(Clients()), name, metrics=False).review(NOW).run.steps


def test_medians_are_those_of_the_lines(aws: Running) -> None:
    told: list[str] = []
    found = summed("per-node", told)
    assert found.steps is not None
    theirs = lines_read("per-node")
    assert set(found.steps["kind"]) == {"aggregated"}
    assert int(found.steps["reports"].sum()) == len(theirs)
    minute = theirs["timestamp"].dt.floor("min")
    by_minute = theirs.groupby(["node", minute], observed=True).agg(
        step=("step", "max"), time=("step_time_s", "median"), at=("timestamp", "max"), loss=("loss", "last")
    )
    first = found.steps[found.steps["step_time_s"].isna()]
    assert first["timestamp"].tolist() == theirs.groupby("node")["timestamp"].min().tolist()
    timed = found.steps.drop(index=first.index)
    ours = timed.set_index(["node", timed["timestamp"].dt.floor("min")]).sort_index()
    assert list(ours.index) == list(by_minute.index)
    assert ours["step"].astype(int).tolist() == by_minute["step"].astype(int).tolist()
    assert ours["step_time_s"].tolist() == pytest.approx(by_minute["time"].tolist())
    assert ours["loss"].tolist() == pytest.approx(by_minute["loss"].tolist())
    assert (ours["timestamp"].to_numpy() == by_minute["at"].to_numpy()).all()
    for node, times in theirs.groupby("node")["step_time_s"]:
        own = found.steps.loc[found.steps["node"] == node, "step_time_s"]
        assert own.median() == pytest.approx(times.median(), rel=0.03)
    assert len(told) == 1
    assert "$" in told[0]
    assert "an estimate" in told[0]


def test_a_clock_is_differenced_not_averaged(aws: Running) -> None:
    found = summed("vit", [])
    assert found.steps is not None
    times = found.steps["step_time_s"].dropna().tolist()
    assert times[1:9] == pytest.approx([2.0] * 8)
    assert times[12:] == pytest.approx([3.0] * (len(times) - 12))


def test_a_clock_of_seconds_gives_the_speed_its_unit(aws: Running) -> None:
    found = summed("smp", [])
    assert found.steps is not None
    theirs = lines_read("smp")
    assert set(found.steps["node"]) == {"algo-1"}
    assert set(found.steps["rank"]) == {0}
    assert found.steps["step_time_s"].median() == pytest.approx(theirs["step_time_s"].median(), rel=0.01)
    assert found.steps["throughput"].median() == pytest.approx(theirs["throughput"].median(), rel=0.01)


def test_the_report_marks_what_is_aggregated(aws: Running) -> None:
    source = AwsSource(Clients())
    told: list[str] = []
    report = Reviewer(
        source, "per-node", instead=lambda job, now, say: aggregate(source.clients, job, now, told.append, say)
    ).review(NOW)
    assert report.steps is not None
    assert (report.steps.count, report.steps.distinct) == (4 * 900, 900)
    assert any("aggregated" in gap.why for gap in report.run.gaps)
    assert "slow-node" in {finding.id for finding in report.findings}
    assert report.api.calls["StartQuery"] >= 1
    assert report.api.estimated_usd > 0
    assert "GetLogEvents" not in report.api.calls
    out = StringIO()
    print_report(report, Console(file=out, width=110))
    assert "Aggregated by Logs Insights" in out.getvalue()
    assert "aggregated" in markdown(report)
    assert any("aggregated" in warning for warning in report_document(report)["coverage"]["warnings"])


FAULTS = [
    (Faults(denied=("StartQuery",)), "logs:StartQuery"),
    (Faults(denied=("GetQueryResults",)), "logs:GetQueryResults"),
    (Faults(denied=("FilterLogEvents",)), "logs:FilterLogEvents"),
    (Faults(no_group=True), ""),
]


@pytest.mark.parametrize(("faults", "named"), FAULTS, ids=lambda value: str(value)[:40])
def test_what_is_refused_is_a_gap_with_its_reason(aws: Running, faults: Faults, named: str) -> None:
    aws.set_faults(faults)
    told: list[str] = []
    found = summed("per-node", told)
    assert found.steps is None
    assert len(found.gaps) == 1
    assert named in found.gaps[0].why + found.gaps[0].remedy
    assert told[-1].startswith(found.gaps[0].why)


@pytest.mark.parametrize(("answer", "why"), [(failed, "ended as Failed"), (empty, "found no step")])
def test_a_query_that_fails_or_finds_nothing(
    answer: Any, why: str, offline: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(account(answer), prepared=False) as aws:
        _use(aws, monkeypatch)
        found = summed("per-node", [])
        assert found.steps is None
        assert why in found.gaps[0].why


def test_logs_without_steps_are_not_asked_about(aws: Running) -> None:
    found = summed("silent", [])
    assert found.steps is None
    assert "none of its patterns" in found.gaps[0].why
    assert "StartQuery" not in aws.counts().calls


def test_a_budget_is_kept_before_anything_starts(aws: Running) -> None:
    with pytest.raises(CannotDo, match=r"--max-usd 0.*none was started"):
        summed("per-node", [], max_usd=0.0)
    assert "StartQuery" not in aws.counts().calls


class Service:
    """Logs Insights in a script: what each look at a query says."""

    region = "us-east-1"

    def __init__(self, *looks: dict[str, Any] | BaseException) -> None:
        self.looks = list(looks)
        self.stopped: list[str] = []
        self.usd = 0.0

    def call(self, service: str, method: str, **asked: Any) -> dict[str, Any]:
        if method == "start_query":
            return {"queryId": f"q{asked['startTime']}"}
        if method == "stop_query":
            self.stopped.append(asked["queryId"])
            return {}
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, BaseException):
            raise look
        return look

    def add_cost(self, usd: float) -> None:
        self.usd += usd


RUNS = {"status": "Running", "statistics": {"bytesScanned": 2e9}}
ONE = (insights.Slice(0, 60),)


def ask(service: Service, slices: tuple[insights.Slice, ...] = ONE, **more: Any) -> insights.Answered:
    return insights.run_queries(service, "text", slices, sleep=lambda seconds: None, **more)  # type: ignore[arg-type]


def test_a_query_that_costs_more_than_allowed_is_stopped() -> None:
    service = Service(RUNS)
    answered = ask(service, max_usd=0.005)
    assert "--max-usd" in str(answered.trouble)
    assert service.stopped == ["q0"]
    assert service.usd == pytest.approx(0.01)


def test_queries_are_stopped_when_the_user_leaves() -> None:
    service = Service(RUNS, RUNS, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ask(service, (insights.Slice(0, 60), insights.Slice(60, 120)))
    assert service.stopped == ["q0", "q60"]


def test_a_query_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insights, "_LONGEST_QUERY_S", -1.0)
    service = Service(RUNS)
    assert "longer" in str(ask(service).trouble)
    assert service.stopped == ["q0"]


def test_an_answer_that_is_full_is_not_taken_for_whole() -> None:
    rows = [[{"field": "lastStep", "value": "1"}]] * MOST_ROWS
    assert "full" in str(ask(Service({"status": "Complete", "results": rows})).trouble)


CUTS = [
    # writers, hours -> minutes of a bin, slices
    (1, 1, 1, 1),
    (8, 24, 1, 2),
    (64, 24, 1, 12),
    (64, 96, 5, 10),
    (512, 72, 30, 10),
    (20_000, 10, 60, 10),
]


@pytest.mark.parametrize(("writers", "hours", "minutes", "slices"), CUTS)
def test_every_slice_has_room_in_one_answer(writers: int, hours: int, minutes: int, slices: int) -> None:
    cut = insights.time_slices(BEGAN_MS // 1000, BEGAN_MS // 1000 + 3600 * hours, writers)
    assert (cut.bin_minutes, len(cut.slices)) == (minutes, pytest.approx(slices, abs=1))
    assert cut.slices[0].from_s == BEGAN_MS // 1000
    assert cut.slices[-1].to_s == BEGAN_MS // 1000 + 3600 * hours
    for part in cut.slices[:-1]:
        assert part.to_s % (60 * minutes) == 0


def test_long_reading_is_offered_and_short_is_not(aws: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    source = AwsSource(Clients())
    told: list[str] = []
    offer(source.clients, source.job("huge"), NOW, told.append)
    assert told == []
    monkeypatch.setattr("monitor.fetch.logs.aggregate.LONG_S", 0.1)
    offer(source.clients, source.job("huge"), NOW, told.append)
    assert len(told) == 1
    assert "--aggregate" in told[0]
    assert "$" in told[0]
    offer(source.clients, source.job("vit"), NOW, told.append)
    assert len(told) == 1, "a job of an hour is read, not sampled first"


def test_the_estimate_is_of_the_right_size(aws: Running) -> None:
    clients = Clients()
    job = AwsSource(clients).job("huge")
    guess = estimate(clients, job, read_samples(clients, job, NOW), NOW)
    assert guess is not None
    assert not guess.whole_group
    lines = 40 * 60 * 30
    assert guess.pages == pytest.approx(lines / 10_000, rel=0.2)
    assert guess.seconds == pytest.approx(guess.pages / 25.0)
    assert guess.usd == pytest.approx(guess.scanned_bytes / 1e9 * 0.005)


def test_samples_hold_no_line_twice(aws: Running) -> None:
    clients = Clients()
    job = AwsSource(clients).job("vit")
    windows = read_samples(clients, job, NOW)
    lines = [line for window in windows for page in window.pages for line in page.lines]
    assert len(lines) == len(set(lines))
    assert windows[0].pages[0].first_line == 1


def test_what_all_jobs_wrote_is_asked_of_cloudwatch() -> None:
    class Metrics(Service):
        def call(self, service: str, method: str, **asked: Any) -> dict[str, Any]:
            assert method == "get_metric_data"
            assert asked["MetricDataQueries"][0]["MetricStat"]["Stat"] == "Sum"
            return {"MetricDataResults": [{"Values": [1e9, 2e9]}]}

    found = group_bytes(Metrics(), NOW - timedelta(hours=5), NOW, NOW)  # type: ignore[arg-type]
    assert found == 3e9


@pytest.fixture
def command(aws: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return lambda *argv: main(["report", *argv])


def test_the_command_tells_the_cost_first(command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("per-node", "--aggregate", "--max-usd", "1", "--format", "json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["steps"]["count"] == 4 * 900
    assert printed.err.startswith("trainwatch: Logs Insights scans under $0.001 (")


REFUSED = [
    (("per-node", "--aggregate", "--max-usd", "0"), 3, "none was started"),
    (("per-node", "--aggregate", "--step-regex", r"(?P<step>\d+)"), 2, "--step-regex"),
    *(
        (("per-node", "--aggregate", "--max-usd", typed), 2, "is not an amount. Give USD, such as --max-usd 0.50")
        for typed in ("nan", "inf", "1e308", "-1", "1000001", "much", "", "1,5", "$5")
    ),
    (("logs:/dev/null", "--aggregate"), 2, "log files and archives are read locally"),
]


@pytest.mark.parametrize(("argv", "code", "said"), REFUSED, ids=lambda value: str(value)[:50])
def test_what_cannot_be_is_one_sentence(
    command: Any, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], code: int, said: str
) -> None:
    assert command(*argv) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_where_insights_is_denied_the_lines_are_read(
    command: Any, aws: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.set_faults(Faults(denied=("StartQuery",)))
    assert command("vit", "--aggregate", "--format", "json") == 0
    printed = capsys.readouterr()
    # The first line's clock stands at 0: no time, no report.
    assert json.loads(printed.out)["steps"]["count"] == 40 * 30 - 1
    assert "logs:StartQuery" in printed.err
    assert any("logs:StartQuery" in warning for warning in json.loads(printed.out)["coverage"]["warnings"])
