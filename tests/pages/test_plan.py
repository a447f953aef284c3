"""The Plan page: the answer first, for any start; inputs, address and start follow each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from monitor.model import Parameter, Report
from tests import situations
from tests.builders import nodes_of, report, steps
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

JOB = "gpt-60b-run-7"


def _plan(open_page: Open, *reports: Report, **parameters: str) -> AppTest:
    account = FakeAccount(reports or (situations.low_utilization(),))
    return open_page(account, "plan", **{name.replace("__", "."): value for name, value in parameters.items()})


def _charts(page: AppTest) -> list[str]:
    return [str(chart.proto.alt) for chart in page.get("vega_lite_chart")]


@pytest.mark.parametrize(
    ("preset", "change", "said", "charts"),
    [
        ("gpt2-10b", {}, ("Nothing changed yet; GPU memory 24.0 of 40 GiB: fits", "24.0 GiB are 25.8 GB"), 3),
        ("gpt2-30b", {}, ("Nothing changed yet; GPU memory 33.1 of 40 GiB: fits", "33.1 GiB are 35.6 GB"), 3),
        (
            "gpt2-60b",
            {"change.active_microbatches": "4"},
            (
                "Step time about the same (-7 to 0 %); GPU memory 28.4 → 35.3 of 40 GiB: borderline",
                "35.3 GiB are 37.9 GB",
                "Changed: active_microbatches 2 → 4.",
                '"active_microbatches": 4,',
            ),
            4,
        ),
        ("gpt2-60b", {}, ("GPU memory 28.4 of 40 GiB: fits", "28.4 GiB are 30.5 GB"), 4),
        (
            "vit-630m",
            {"change.sharded_data_parallel_degree": "4"},
            (
                "The change in step time is not known; GPU memory 4.0 → 6.2 of 16 GiB: fits",
                "groups inside a node take less time than groups across nodes",
                "about 14 % faster than one of 32",
            ),
            2,
        ),
    ],
)
def test_presets_come_out_as_published(
    open_page: Open, preset: str, change: dict[str, str], said: tuple[str, ...], charts: int
) -> None:
    page = _plan(open_page, **{"from": preset, **change})
    for words in (*said, "Model-based, not measured."):
        assert words in texts(page)
    assert len(_charts(page)) == charts


def test_without_an_address_a_published_question_is_answered(open_page: Open) -> None:
    page = _plan(open_page)
    assert dict(page.query_params) == {"from": "gpt2-60b", "change.active_microbatches": "4"}
    assert "Step time about the same" in page.warning[0].proto.title


def test_a_job_brings_its_configuration_its_measurements_and_the_advice(open_page: Open) -> None:
    page = _plan(open_page, job=JOB)
    said = texts(page)
    assert dict(page.query_params) == {"from": "job", "of": JOB}
    assert "Nothing changed yet; GPU memory" in said
    assert "Advised: 4 (raise-active-microbatches)." in said
    assert "No breakdown without layers, hidden_size" in said
    page.button(key="plan-advice").click().run()
    assert page.query_params["change.active_microbatches"] == "4"
    said = texts(page)
    assert "Step time -35 %" in said
    assert "stages wait 27 % of the time, 53 % at the start." in said
    assert "upper bound, as if all measured memory grew" in said
    assert page.button(key="plan-advice").disabled
    page.button(key="plan-undo").click().run()
    assert "change.active_microbatches" not in page.query_params
    assert "Nothing changed yet" in texts(page)


def test_an_input_that_moves_is_a_change_in_the_address_and_one_that_is_moved_back_is_none(open_page: Open) -> None:
    page = _plan(open_page, **{"from": "gpt2-60b"})
    active = "plan-change-active_microbatches"
    assert page.number_input(key=active).value == 2
    page.number_input(key=active).set_value(3).run()
    assert page.query_params["change.active_microbatches"] == "3"
    assert "Changed: active_microbatches 2 → 3." in texts(page)
    page.number_input(key=active).set_value(2).run()
    assert dict(page.query_params) == {"from": "gpt2-60b"}
    assert page.info[-1].proto.title.startswith("Nothing changed yet")


def test_an_input_that_nobody_moved_follows_the_start(open_page: Open) -> None:
    page = _plan(open_page, **{"from": "gpt2-60b", "change.microbatches": "8"})
    page.number_input(key="plan-set-active_microbatches").set_value(3).run()
    assert page.number_input(key="plan-change-active_microbatches").value == 3
    assert page.selectbox(key="plan-change-microbatches").value == "8"
    assert page.query_params["set.active_microbatches"] == "3"


def test_an_address_restores_every_input(open_page: Open) -> None:
    page = _plan(
        open_page,
        **{
            "from": "nothing",
            "framework": "megatron",
            "knob": "micro_batch_size",
            "set.layers": "48",
            "set.pipeline_parallel_degree": "4",
            "set.gradient_accumulation_steps": "16",
            "set.micro_batch_size": "2",
            "set.activation_checkpointing": "true",
            "change.micro_batch_size": "4",
        },
    )  # fmt: skip
    assert page.selectbox(key="plan-framework").value == "megatron"
    assert page.selectbox(key="plan-knob").value == "micro_batch_size"
    assert page.number_input(key="plan-set-layers").value == 48
    assert page.selectbox(key="plan-set-pipeline_parallel_degree").value == "4"
    assert page.selectbox(key="plan-set-activation_checkpointing").value == "on"
    assert page.number_input(key="plan-change-micro_batch_size").value == 4
    assert "active_microbatches" not in {each.key.rpartition("-")[2] for each in page.number_input}
    assert "Step time" in texts(page)


def test_another_start_begins_anew(open_page: Open) -> None:
    page = _plan(open_page, **{"from": "gpt2-60b", "change.active_microbatches": "4", "set.layers": "24"})
    page.get("button_group")[0].set_value("vit-630m").run()
    assert dict(page.query_params) == {"from": "vit-630m", "change.sharded_data_parallel_degree": "4"}
    page.get("button_group")[0].set_value("job").run()
    assert dict(page.query_params) == {"from": "job"}
    page.get("button_group")[1].set_value(JOB).run()
    assert not page.exception
    assert page.selectbox(key="plan-job").value == JOB
    assert "GPU memory" in texts(page)


def test_from_nothing_what_is_not_known_is_said_and_never_zero(open_page: Open) -> None:
    page = _plan(open_page, **{"from": "nothing"})
    said = texts(page)
    assert "missing layers, hidden_size, attention_heads, vocabulary_size, sequence_length, batch_size" in said
    assert page.number_input(key="plan-set-layers").value is None
    assert page.number_input(key="plan-set-layers").placeholder == "not known"
    assert page.selectbox(key="plan-set-precision").value is None
    assert not _charts(page)
    shape = {
        "layers": 24,
        "hidden_size": 2048,
        "attention_heads": 16,
        "vocabulary_size": 50_000,
        "sequence_length": 512,
    }
    for name, value in shape.items():
        page.number_input(key=f"plan-set-{name}").set_value(value)
    page.number_input(key="plan-set-batch_size").set_value(8)
    page.selectbox(key="plan-set-instance_type").set_value("ml.p4d.24xlarge")
    page.run()
    assert "of 40 GiB" in texts(page)
    assert page.query_params["set.hidden_size"] == "2048"
    assert any(alt.startswith("GPU memory by component") for alt in _charts(page))


@pytest.mark.parametrize(
    ("change", "title", "words"),
    [
        ({"microbatches": "5"}, "Batch not divisible by microbatches", "A batch of 56 does not divide into 5 microbatches"),
        ({"microbatches": "0"}, "The library rejects this", "microbatches=0 is below 1"),
        ({"microbatches": "99999999999999999999"}, "", ""),
        ({"tensor_parallel_degree": "3"}, "The library rejects this", "does not divide the 256 processes"),
        ({"fp16": "maybe"}, "The library rejects this", "fp16"),
        ({"no_such_parameter": "1"}, "The library rejects this", 'knows no parameter "no_such_parameter"'),
        ({"active_microbatches": "8"}, "The library rejects this", "active_microbatches=8 is above microbatches=4"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said_and_the_rest_is_answered(
    open_page: Open, change: dict[str, str], title: str, words: str
) -> None:
    page = _plan(open_page, **{"from": "gpt2-60b", **{f"change.{name}": value for name, value in change.items()}})
    said = texts(page)
    assert title in said
    assert words in said
    assert "distribution={" in said
    assert any(alt.startswith("GPU memory by component") for alt in _charts(page)), "the start is drawn all the same"


def test_a_window_without_a_pipeline_is_a_flat_curve_and_says_so(open_page: Open) -> None:
    page = _plan(
        open_page,
        **{
            "from": "gpt2-10b",
            "set.microbatches": "8",
            "set.active_microbatches": "2",
            "change.active_microbatches": "4",
        },
    )
    said = texts(page)
    assert "Step time unchanged" in said
    assert "Flat: active_microbatches does not change the step time here." in said
    assert "One pipeline stage: there is no schedule to fill" in said


def test_a_job_of_log_files_alone_can_be_planned_for(open_page: Open) -> None:
    names = [node.name for node in nodes_of(2)]
    alone = report("from-logs-1", nodes=(), step_frame=steps(names, 300, 2.0))
    alone = replace(alone, run=replace(alone.run, job=replace(alone.job, source="logs", instance_groups=())))
    page = _plan(open_page, alone, **{"from": "job", "of": "from-logs-1", "change.active_microbatches": "4"})
    said = texts(page)
    assert "Step time -35 %" in said
    assert "GPU memory is not known" in said
    assert "A step of 2.00 s becomes" in said


def test_a_job_whose_library_is_not_known_asks_for_it(open_page: Open) -> None:
    plain = report("plain-1", configuration={"epochs": Parameter(3, "hyperparameters")})
    plain = replace(plain, run=replace(plain.run, job=replace(plain.job, smp_version=None)))
    page = _plan(open_page, plain, **{"from": "job", "of": "plain-1"})
    assert page.selectbox(key="plan-framework").value is None
    assert "The parallelism library is not known." in texts(page)
    page.selectbox(key="plan-framework").set_value("fsdp").run()
    assert page.query_params["framework"] == "fsdp"
    assert page.selectbox(key="plan-change-sharding_strategy").value == "full_shard"


def test_a_job_that_does_not_exist_or_is_still_read_is_said(open_page: Open) -> None:
    page = _plan(open_page, **{"from": "job", "of": "no-such-job-1"})
    assert 'There is no training job "no-such-job-1"' in texts(page)
    waiting = open_page(FakeAccount((situations.healthy(),), under_way={"slow-1"}), "plan", job="slow-1")
    assert "reading logs: 12,000 lines" in texts(waiting)
    assert waiting.query_params["of"] == "slow-1"


def test_finding_and_job_lead_to_their_plan(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.low_utilization(),)), "job", job=JOB)
    links = {link.proto.label: link.proto.query_string for link in page.get("page_link")}
    assert links["Plan this change"] == f"from=job&of={JOB}&change.active_microbatches=4"
    assert links["Plan a change"] == f"from=job&of={JOB}"


def test_text_of_a_configuration_is_no_markup(open_page: Open) -> None:
    evil = "![x](https://evil.example/a.png)"
    hostile = report("hostile-2", configuration={"pipeline_parallel_degree": Parameter(evil, "hyperparameters")})
    page = _plan(open_page, hostile, **{"from": "job", "of": "hostile-2", "change.placement_strategy": evil})
    raw = "\n".join(str(each.value) for kind in ("markdown", "caption") for each in page.get(kind))
    assert "![x](https" not in raw
