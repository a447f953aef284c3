"""``monitor plan``: what is typed, what comes back, what is refused, and what a person reads."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from monitor.cli.main import main
from monitor.cli.output import bar, draw
from monitor.cli.plan import lanes, plan_tree, values_of
from monitor.predict.presets import preset
from monitor.predict.setup import setup_from
from monitor.review.planning import plan, start_from
from tests.review.test_planning import check_form

SMP = str(Path(__file__).parents[1] / "data" / "formats" / "smp_v1_two_nodes_mpi.log")
PIPELINE = ("pipeline_parallel_degree=4", "microbatches=8", "active_microbatches=2")


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _set(*values: str) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def _json(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main(["plan", *argv, "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    document: dict[str, Any] = json.loads(printed.out)
    check_form(document)
    return document


def test_the_reference_of_sixty_billion(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "--preset", "gpt2-60b", "--change", "active_microbatches=4")
    low, middle, high = found["prediction"]["step_time_change_percent"]
    assert -7 < low < middle == high == 0
    assert found["prediction"]["fits"] == "borderline"
    assert found["prediction"]["gpu_memory_gib"]["limit"] == 40
    assert found["prediction"]["bubble_fraction"] == {"start": pytest.approx(0.2), "change": pytest.approx(0.2)}
    assert found["start"]["active_microbatches"] == 2
    assert found["start"]["prescaled_batch"] is True
    assert found["change"] == {"active_microbatches": 4}
    assert {point["value"] for point in found["curve"]} == {1, 2, 3, 4}
    assert found["problems"] == []
    corrected = _json(capsys, "--preset", "gpt2-60b", *_set("microbatches=8"), "--change", "active_microbatches=4")
    assert corrected["start"]["microbatches"] == 8


def test_without_a_shape_the_time_is_said_and_the_memory_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, *_set(*PIPELINE), "--change", "active_microbatches=4")
    assert found["prediction"]["step_time_change_percent"][1] == pytest.approx(-35.3, abs=0.1)
    assert found["prediction"]["gpu_memory_gib"] is None
    assert found["prediction"]["fits"] == "unknown"
    assert {problem["id"] for problem in found["problems"]} == {"incomplete-configuration"}
    measured = _json(
        capsys,
        *_set(*PIPELINE, "gpu_memory_utilization=41", "gpu_memory_gib=40"),
        "--change",
        "active_microbatches=4",
    )
    assert measured["prediction"]["gpu_memory_gib"]["change"] == pytest.approx(0.82 * 40)
    assert measured["prediction"]["fits"] == "yes"
    assert measured["prediction"]["basis"] == "measured"
    states = _json(
        capsys, *_set("parameters_billion=20", "tensor_parallel_degree=2", "microbatches=1", "gpu_memory_gib=40")
    )
    memory = states["prediction"]["gpu_memory_gib"]
    assert (memory["start"], memory["change"], memory["limit"]) == (None, None, 40)
    assert memory["components"] == {"model states": pytest.approx(160e9 / 2**30)}
    assert states["prediction"]["fits"] == "no"


def test_a_window_without_a_pipeline_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    one_stage = _set("pipeline_parallel_degree=1", "microbatches=8", "active_microbatches=2")
    found = _json(capsys, *one_stage, "--change", "active_microbatches=4")
    assert found["prediction"]["step_time_change_percent"] == [0, 0, 0]
    assert {point["step_time_relative"] for point in found["curve"]} == {1.0}
    assert main(["plan", *one_stage, "--change", "active_microbatches=4"]) == 0
    text = capsys.readouterr().out
    assert "Flat: active_microbatches does not change" in text
    assert "unchanged" in text


@pytest.mark.parametrize(
    ("values", "id", "parameter"),
    [
        ((*PIPELINE[:2], "active_microbatches=9"), "invalid-configuration", "active_microbatches"),
        (("tensor_parallel_degree=6",), "tensor-parallel-degree", "tensor_parallel_degree"),
        (("batch_size=30", "microbatches=4"), "batch-not-divisible", "batch_size"),
        (("microbatches=abc",), "invalid-configuration", "microbatches"),
        (("mp_parameters=nonsense",), "invalid-configuration", "mp_parameters"),
        (('mp_parameters={"microbatches": 4, "zero_infinity": true}',), "invalid-configuration", "zero_infinity"),
        (("pipeline_parallel_degree=0",), "invalid-configuration", "pipeline_parallel_degree"),
    ],
)
def test_an_invalid_configuration_is_answered_and_listed(
    values: tuple[str, ...], id: str, parameter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _json(capsys, *_set(*values))
    said = [problem for problem in found["problems"] if problem["id"] == id]
    assert any(problem["evidence"][0]["what"].startswith(parameter) for problem in said), found["problems"]
    assert main(["plan", *_set(*values)]) == 0
    text = capsys.readouterr().out
    rejected = "SMP v1 rejects" in text
    assert rejected == ("The library rejects this: fix the problems" in text)
    assert main(["plan", *_set(*values), "--format", "markdown"]) == 0


def test_a_plan_starts_from_logs(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, f"logs:{SMP}", "--change", "active_microbatches=1")
    assert found["start"]["microbatches"] == 4
    assert found["start"]["instance_count"] == 2
    assert found["start"]["step_time_s"] == pytest.approx(2.0)
    assert found["prediction"]["step_time_change_percent"][1] > 10
    assert _json(capsys, "--logs", SMP, "--change", "active_microbatches=1") == found
    corrected = _json(capsys, f"logs:{SMP}", *_set("microbatches=8"))
    assert corrected["start"]["microbatches"] == 8
    assert corrected["prediction"]["step_time_change_percent"] is None


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], ["nothing to start a plan from", "--set", "--preset"]),
        (["--set", "microbatches"], ["microbatches", "for example --set active_microbatches=4"]),
        (["--change", "=4"], ["--change =4"]),
        (["--set", "microbatches="], ["no value"]),
        (["--set", "active_microbatch=4"], ["no such parameter", "nearest is active_microbatches"]),
        (["--set", "zzz=4"], ["no such parameter", "hidden_size"]),
        (["--set", "microbatches=4", "--set", "microbatches=4"], ["given twice"]),
        (["--set", "partitions=4", "--set", "pipeline_parallel_degree=2"], ["given twice", "partitions"]),
        (["--preset", "gpt5"], ["no preset gpt5", "gpt2-60b"]),
        (["some-job", "--preset", "gpt2-60b"], ["Both a job and --preset"]),
    ],
)
def test_a_wrong_call_is_one_sentence(argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["plan", *argv])
    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    for word in words:
        assert word in printed.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("microbatches=4", 4),
        ("microbatches=4.0", 4),
        ("microbatches= 4 ", 4),
        ("microbatches=4.5", 4.5),
        ("microbatches=1e999", "1e999"),
        ("microbatches=NaN", "NaN"),
        ("memory_weight=1.0", 1.0),
        ("ddp=True", True),
        ("ddp=false", False),
        ("batch_size=null", None),
        ("optimize=speed", "speed"),
        ('optimize="speed"', "speed"),
        ("sdp_reduce_bucket_size=5e8", 500_000_000),
        ('fsdp_config={"sharding_strategy": "FULL_SHARD"}', {"sharding_strategy": "FULL_SHARD"}),
    ],
)
def test_values_are_json_where_they_are_that(text: str, value: Any) -> None:
    (found,), readable = values_of("--set", [text])[0].values(), values_of("--set", [text])[1]
    assert found == value
    assert type(found) is type(value)
    assert readable


def test_mp_parameters_are_several_values() -> None:
    written = 'mp_parameters="{\\"partitions\\": 2, \\"microbatches\\": \\"4\\"}"'
    assert values_of("--set", [written, "batch_size=8"]) == (
        {"partitions": 2, "microbatches": "4", "batch_size": 8},
        True,
    )
    assert values_of("--set", ["mp_parameters=partitions=2,ddp=True"]) == ({"partitions": 2, "ddp": True}, True)
    assert values_of("--set", ["mp_parameters={}"]) == ({}, True)
    assert values_of("--set", ["mp_parameters=s3://a/b"]) == ({}, False)


def test_the_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--preset", "list"]) == 0
    assert "vit-630m" in capsys.readouterr().out
    assert main(["plan", "--preset", "list", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["presets"]) == 4


def test_a_person_reads_the_answer_first_and_can_copy_the_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--preset", "gpt2-60b", "--change", "active_microbatches=4"]) == 0
    text = capsys.readouterr().out
    head = text[: text.index("Start and change")]
    for needed in ("active_microbatches 2 → 4", "Step time", "28.4 → 35.3 of 40 GiB", "Model-based, not measured."):
        assert needed in head
    assert re.search(r"^2 +1\.000 .*today, advised$", text, re.MULTILINE)
    assert re.search(r"^4 +1\.000 .*change$", text, re.MULTILINE)
    assert "  stage 1   12···aaa3bbb4ccc·ddd" in text
    written = text[text.index("distribution=") : text.index("Also for the estimator:")]
    found: dict[str, Any] = {}
    exec(written, found)
    assert found["distribution"]["smdistributed"]["modelparallel"]["parameters"]["active_microbatches"] == 4
    assert all(len(line) <= 110 for line in text.splitlines())


def test_narrow_paper_keeps_names_and_figures_whole() -> None:
    out = StringIO()
    found = preset("gpt2-60b")
    draw(plan_tree("x", plan(start_from({}, found), {"active_microbatches": 4})), Console(file=out, width=64))
    text = out.getvalue()
    assert re.search(r"^activation_checkpointing +True", text, re.MULTILINE)
    assert re.search(r"^change +35\.3 +█+", text, re.MULTILINE)
    assert re.search(r"^2 +1\.000 +█+\S* +28\.4 GiB  today, advised", text, re.MULTILINE)
    assert all(len(line) <= 64 for line in text.splitlines() if "arXiv" not in line)


def test_markdown_has_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--preset", "gpt2-60b", "--change", "active_microbatches=4", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# gpt2-60b")
    assert "| **active_microbatches** | 2 | 4 |" in text
    assert "```python\ndistribution={" in text


def test_lanes_are_as_long_as_the_schedule_and_cut_to_the_paper() -> None:
    setup = setup_from(
        {"pipeline_parallel_degree": 2, "microbatches": 2, "active_microbatches": 2, "activation_checkpointing": True}
    )
    assert lanes(setup, 40) == ["12···aaa·bbb", "·1aaa2bbb···"]
    assert [len(lane) for lane in lanes(setup, 8)] == [8, 8]
    assert all(lane.endswith("…") for lane in lanes(setup, 8))
    assert lanes(setup_from({"microbatches": 4}), 40) == []
    assert lanes(setup_from({"pipeline_parallel_degree": 4}), 40) != []
    assert lanes(setup_from({"pipeline_parallel_degree": 64, "microbatches": 8}), 40) == []


@given(st.floats(0, 3), st.integers(1, 60))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    drawn = bar(share, width)
    assert len(drawn) <= width
    assert drawn if share > 0 else not drawn
    assert abs(len(drawn) - min(1.0, share) * width) <= 1


_WORDS = st.one_of(
    st.integers(-3, 100).map(str),
    st.sampled_from(
        ["true", "null", "abc", "[1]", "{}", "1e400", "9" * 5000, "ml.p4d.24xlarge", "=", "[red]", "\u00e9"]
    ),
    st.text(max_size=5),
)
_PARAMETERS = st.sampled_from(
    ["microbatches", "batch_size", "hidden_size", "instance_type", "mp_parameters", "fsdp_config", "precision", "ddp"]
)


# Every example is a whole command.
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(_PARAMETERS, _WORDS, max_size=3), st.dictionaries(_PARAMETERS, _WORDS, max_size=2))
def test_whatever_is_typed_is_answered_or_refused_in_words(start: dict[str, str], change: dict[str, str]) -> None:
    words = [f"--set={name}={value}" for name, value in start.items()]
    words += [f"--change={name}={value}" for name, value in change.items()]
    assert main(["plan", *words, "--quiet"]) in (0, 2)
