"""Of several progress bars the training's are the steps, wherever a log ends: loops are made up, and cut at any redraw."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parse.made_up import redraw
from tests.parse.read import parse

Redraw = tuple[bool, str]
"""Whether it is the training's, and the text."""


def _run(total: int, each_s: float, is_training: bool, until: int | None = None) -> list[Redraw]:
    steps = range(1, (total if until is None else until) + 1)
    return [(is_training, redraw(step, total, step * each_s, each_s)) for step in steps]


def _nested(steps: int, every: int, evaluation: int, each_s: float) -> list[Redraw]:
    """A trainer's bar that stands still while an evaluation's runs, and at the end of all another evaluation."""
    out: list[Redraw] = []
    for step in range(1, steps + 1):
        out.append((True, redraw(step, steps, step * each_s, each_s)))
        if step % every == 0:
            out += _run(evaluation, each_s / 20, False)
    return out + _run(evaluation, each_s / 20, False)


def _alternating(epochs: int, steps: int, validation: int, each_s: float) -> list[Redraw]:
    """A bar an epoch, each with two validation sets behind it."""
    out: list[Redraw] = []
    for _ in range(epochs):
        out += _run(steps, each_s, True)
        out += _run(validation, each_s * steps / validation / 5, False) * 2
    return out


def _restarted(steps: int, at: int, evaluation: int, each_s: float) -> list[Redraw]:
    """Started again from a checkpoint: the bar goes on from there, with a clock of its own."""
    out = _run(steps, each_s, True, at)
    for step in range(at - 2, steps + 1):
        out.append((True, redraw(step, steps, (step - at + 3) * each_s, each_s)))
    return out + _run(evaluation, each_s / 20, False)


def _alike(epochs: int, steps: int, sets: int, each_s: float, share: float) -> list[Redraw]:
    """Train and validation draw bars of one total."""
    out: list[Redraw] = []
    for _ in range(epochs):
        out += _run(steps, each_s, True)
        out += _run(steps, each_s * share, False) * sets
    return out


def _times(shown: Sequence[Redraw]) -> list[float]:
    return sorted(float(text.rpartition(", ")[2].partition("s/it")[0]) for trains, text in shown if trains)


loops = st.one_of(
    st.builds(_nested, st.integers(8, 40), st.integers(3, 9), st.integers(41, 90), st.sampled_from([1.5, 6.0, 20.0])),
    st.builds(_alternating, st.integers(2, 4), st.integers(8, 25), st.integers(30, 90), st.sampled_from([1.5, 6.0])),
    st.builds(_restarted, st.integers(20, 40), st.integers(5, 15), st.integers(41, 90), st.sampled_from([1.5, 6.0])),
)
LOADING = "Loading the training set: 100%|##| 3/3 [00:00<00:00, 40.1it/s]"


@settings(deadline=None, max_examples=100)
@given(loops, st.floats(0.0, 1.0))
def test_steps_are_the_trainings_wherever_the_log_ends(loop: list[Redraw], share: float) -> None:
    cut = max(1, int(share * len(loop)))
    found = parse([LOADING, "\r".join(text for _, text in loop[:cut])]).steps
    assert sorted(found["step_time_s"]) == pytest.approx(_times(loop[:cut]))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 4),
    st.integers(5, 25),
    st.integers(1, 2),
    st.sampled_from([1.5, 6.0]),
    st.floats(0.1, 0.6),
    st.floats(0, 1),
)
def test_of_bars_that_look_alike_the_slow_ones_train(
    epochs: int, steps: int, sets: int, each_s: float, faster: float, share: float
) -> None:
    # Two bars alone may be two epochs, of which the first warms up.
    loop = _alike(epochs, steps, sets, each_s, faster)
    cut = max(steps * (2 + sets), int(share * len(loop)))
    found = parse(["\r".join(text for _, text in loop[:cut])]).steps
    assert sorted(found["step_time_s"]) == pytest.approx(_times(loop[:cut]))


def _draw(what: str, total: int, each_s: float, rest: str = "", until: int | None = None) -> list[str]:
    """A run of a bar with its first redraw, a line each."""
    texts = [f"  0%|          | 0/{total} [00:00<?, ?it/s]", *(text for _, text in _run(total, each_s, True, until))]
    return [f"{what}{text[:-1]}{rest}]" if number else f"{what}{text}" for number, text in enumerate(texts)]


def _said(first: int, last: int, every: int = 10) -> list[str]:
    return [f"Epoch [1/10], Step [{step}/500], Loss: 0.5" for step in range(first, last + 1, every)]


BEGINS = "Starting the training loop"
PIPELINE = "Loading pipeline components...: 100%|##########| 7/7 [00:01<00:00,  4.00it/s]"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(_draw("Processed prompts: ", 300, 0.5, ", est. speed input: 30.00 toks/s"), id="prompts"),
        pytest.param(_draw("Batches: ", 1081, 0.5), id="texts that are embedded"),
        pytest.param(["Training", *_draw("calc outs before quantization: ", 300, 0.5)], id="a quantization"),
        pytest.param([*_draw("Processed prompts: ", 8, 0.5), *_draw("", 40, 4.0)], id="a bar around prompts"),
        pytest.param([PIPELINE, *_draw("", 50, 0.1), *_draw("", 50, 0.1)], id="pictures"),
        pytest.param(_draw("Adding requests: ", 300, 0.01), id="requests"),
        pytest.param(_draw("Capturing CUDA graphs (decode): ", 35, 0.4), id="CUDA graphs"),
        pytest.param(_draw("Preloading the data: ", 2000, 0.005), id="data"),
        pytest.param(_draw("", 100, 0.002), id="over in an instant"),
        pytest.param(['  "finetuning_task": null,', *_draw("", 300, 1.5)], id="a model's configuration"),
        pytest.param(["Loaded a trained model", *_draw("", 300, 1.5)], id="one run, and no word of training"),
        pytest.param(_draw("", 1_000_000, 0.0005, until=400), id="too fast for steps"),
        pytest.param(
            ["Training", *(line.replace("it]", "ba]").replace("it/s", "ba/s") for line in _draw("", 300, 0.5))],
            id="batches of a map over data",
        ),
        pytest.param(["loads model/epoch=12-step=36.ckpt", *_draw("", 300, 0.5)], id="a model's file"),
        pytest.param(_draw("Epochs: ", 30, 9.0), id="epochs by name"),
        pytest.param(_draw("Epoch: ", 30, 9.0, ", loss=0.5"), id="one name, one count"),
        pytest.param([f"Epoch {step}: {redraw(step, 30, step * 9, 9.0)}" for step in range(31)], id="epochs by number"),
        pytest.param(
            [
                line
                for step in range(30)
                for line in (redraw(step, 30, step * 9, 9.0), "Train Acc: 3%", "Val Loss: 0.5")
            ],
            id="an evaluation at each count",
        ),
        pytest.param(["***** Running Evaluation *****", *_draw("", 90, 0.5)], id="nothing but an evaluation"),
        pytest.param(["***** Running Prediction *****", *_draw("", 90, 0.5)], id="nothing but a prediction"),
        pytest.param(
            _draw("      Class     Images  Instances      Box(P          R: ", 40, 0.5), id="a detector's validation"
        ),
        pytest.param(_draw("Calculating perplexities: ", 60, 0.09), id="a measure"),
        pytest.param(
            ["A train leaves at noon.", redraw(0, 200, 0, 20.0), *["Let me think."] * 12, redraw(32, 200, 640, 20.0)],
            id="seen once, in the middle",
        ),
        pytest.param(
            [
                line
                for epoch in range(0, 40, 2)
                for line in (
                    f"Epoch: {epoch + 1}",
                    f"Epoch: {epoch + 2}",
                    f"Progress: {redraw(epoch + 1, 500, epoch + 1, 1.0)}Progress: {redraw(epoch + 2, 500, epoch + 2, 1.0)}",
                )
            ],
            id="epochs by their heads",
        ),
    ],
)
def test_bars_of_other_work_are_no_steps(lines: list[str]) -> None:
    assert parse(lines).steps.empty
    # Nor are they while they run.
    assert parse(lines[: max(12, 2 * len(lines) // 3)]).steps.empty


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        pytest.param(_draw("", 50, 0.5) * 2, 100, id="no words at all"),
        pytest.param(
            [*_draw("", 50, 0.5, until=1), *_draw("d: -0.01; gen: 0.02: ", 50, 0.5)[2:]],
            50,
            id="named after its first step",
        ),
        pytest.param(
            _draw("Discriminator Loss: 0.5 Generator Loss: 10.6: ", 50, 0.5), 50, id="of a generator the loss"
        ),
        pytest.param([BEGINS, "  2%|2         | 1/50 [00:01<00:49,  1.00s/it]"], 1, id="just begun"),
        pytest.param(
            [*_draw("", 3, 0.4), "{'loss': 0.5, 'epoch': 1.0}", redraw(3, 3, 1.2, 0.4)], 3, id="a very short one"
        ),
        pytest.param([*_draw("", 90, 0.001), "{'loss': 0.5, 'epoch': 1.0}"], 1, id="losses behind a loading bar"),
        pytest.param([PIPELINE, *_draw("Steps: ", 50, 0.5, ", loss=0.4")], 50, id="pictures while it trains"),
        pytest.param([*_draw("Epoch 1: ", 50, 0.5), *_draw("Epoch 2: ", 51, 0.5)], 101, id="one batch more"),
        pytest.param(
            [
                line
                for epoch in range(20)
                for line in (
                    *_draw(f"Epoch {epoch}: ", 1, 3.0, ", loss=0.4, val_loss=0.5"),
                    "Validation: 100%|#| 1/1 [00:00<?]",
                )
            ],
            20,
            id="one batch an epoch",
        ),
        pytest.param(
            [f"{redraw(n, 50, n, 1.0)}step {n}: train loss 2.5, val loss 2.6" for n in range(0, 51, 5)],
            10,
            id="an evaluation printed behind it",
        ),
        pytest.param([*_draw("", 30, 0.5, ", loss=0.4"), *_draw("", 30, 0.3)] * 2, 60, id="a loss in training alone"),
        pytest.param(
            [*_draw("", 30, 0.5), "***** Running Evaluation *****", *_draw("", 30, 0.2), "eval_loss: 0.5"],
            30,
            id="announced",
        ),
        pytest.param([*_draw("Training: ", 50, 0.5), *_draw("", 5000, 0.02)], 50, id="a word against a longer bar"),
        pytest.param(
            [*_draw("", 50, 0.5), "{'loss': 0.5, 'epoch': 1.0}", *_draw("", 30, 0.1)], 50, id="a trainer's losses"
        ),
    ],
)
def test_bars_of_a_training_are_steps(lines: list[str], count: int) -> None:
    assert len(parse(lines).steps) == count


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([*_draw("", 90, 0.05), *_said(10, 100)], {"key-value": 10}, id="a bar before the reports"),
        pytest.param(
            [line for first in (1, 101, 201) for line in (*_said(first, first + 99), *_draw("", 30, 0.3))],
            {"key-value": 30},
            id="an evaluation's bar between reports",
        ),
        pytest.param(
            [line for step in range(1, 9) for line in (*_draw("", 30, 0.3), *_said(step, step))],
            {"key-value": 8},
            id="a bar inside each step",
        ),
        pytest.param(
            [line for epoch in range(1, 9) for line in (*_said(10, 100), redraw(epoch, 10, epoch * 30, 30.0))],
            {"key-value": 80},
            id="a bar around the reports",
        ),
        pytest.param(
            [line for step in range(1, 41) for line in (redraw(step, 500, step * 2, 2.0), *_said(step, step))],
            {"tqdm": 40},
            id="the same steps, timed by the bar alone",
        ),
        pytest.param(
            [
                line
                for step in range(1, 41)
                for line in (redraw(step, 500, step * 2, 2.0), f"step {step} loss 0.5 step time 2.1 s")
            ],
            {"key-value": 40},
            id="the same steps, timed by both",
        ),
        pytest.param(
            [
                line
                for step in range(1, 41)
                for line in (
                    *(redraw(4 * step + n, 500, 8 * step, 2.0) for n in range(4)),
                    f"step {step} loss 0.5 step time 8 s",
                )
            ],
            {"key-value": 40},
            id="a bar of micro-batches",
        ),
        pytest.param(
            [line for _ in range(3) for line in (*_draw("", 30, 0.5), *_said(1, 30, 1))],
            {"tqdm": 90},
            id="standard output behind the bar",
        ),
        pytest.param([*_draw("Training: ", 90, 0.5), "global_step = 90, loss = 0.25"], {"tqdm": 90}, id="a last word"),
        pytest.param(
            [*_draw("", 100, 0.002), "epoch,lr-Adam,step,train_loss,val_loss", "0,,49,2.5,", "0,,99,2.25,"],
            {"csv": 2},
            id="a table behind a loading bar",
        ),
    ],
)
def test_of_bars_and_reports_one_is_told(lines: list[str], expected: dict[str, int]) -> None:
    assert parse(lines).steps["format"].value_counts().to_dict() == expected


def test_the_losses_of_reports_go_to_the_steps_of_the_bar() -> None:
    lines = [
        line
        for step in range(1, 41)
        for line in (redraw(step, 500, step * 2, 2.0), *(_said(step, step) if step % 10 == 0 else ()))
    ]
    steps = parse(lines).steps
    assert list(steps.loc[steps["loss"].notna(), "step"]) == [10, 20, 30, 40]


@pytest.mark.parametrize("what", ["rank {}: ", "[Rank {}] Training: ", "Epoch 1 (rank={}): ", "global_rank {} "])
def test_a_rank_in_a_description_is_the_writer(what: str) -> None:
    lines = [f"{what.format(rank)}{redraw(step, 60, step * 2, 1.5 + rank)}" for step in range(1, 31) for rank in (0, 1)]
    steps = parse([BEGINS, *lines]).steps
    assert steps.groupby("rank")["step_time_s"].agg(["size", "median"]).to_numpy().tolist() == [[30, 1.5], [30, 2.5]]


@pytest.mark.parametrize("what", ["[GPU{}] Epoch 3: ", "cuda:{} ", "local_rank {}: "])
def test_a_device_in_a_description_tells_writers_apart(what: str) -> None:
    lines = [f"{what.format(gpu)}{redraw(step, 60, step * 2, 1.5 + gpu)}" for step in range(1, 31) for gpu in (0, 1)]
    assert len(parse([BEGINS, *lines]).steps) == 60


def test_memory_of_a_device_is_no_writer() -> None:
    lines = [f"GPU {step}.{step}G {redraw(step, 60, step * 2, 1.5)}" for step in range(1, 31)]
    assert len(parse([BEGINS, *lines]).steps) == 30


def test_reports_of_all_ranks_are_worth_more_than_a_bar_of_one() -> None:
    tag = "[1,mpirank:{},algo-1]<stdout>:"
    lines = [
        line
        for step in range(1, 41)
        for line in (
            redraw(step, 500, step * 2, 2.0),
            *(f"{tag.format(r)}step {step} loss 0.5 step time 2.1 s" for r in (0, 1)),
        )
    ]
    assert parse(lines).steps["rank"].value_counts().to_dict() == {0: 40, 1: 40}


def _keras(steps: int, each_ms: int) -> list[str]:
    return [f"{step}/{steps} ━━━━━━━━━━ 4s {each_ms}ms/step - loss: 0.8125" for step in range(1, steps + 1)]


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        pytest.param(_keras(40, 101) * 3 + _keras(90, 11), {40}, id="at the end"),
        pytest.param((_keras(40, 101) + _keras(90, 11)) * 3, {40}, id="after each epoch"),
        pytest.param(_keras(40, 101) * 3 + _keras(90, 11)[:30], {40}, id="cut"),
        pytest.param(_keras(40, 101) * 3 + _keras(80, 90) * 3, {40, 80}, id="fitted twice"),
    ],
)
def test_an_evaluation_of_keras_is_no_step(lines: list[str], counts: set[int]) -> None:
    assert set(parse(lines).steps.groupby("segment")["step"].max()) == counts


@pytest.mark.parametrize("begin", ["Training...", "  0%|          | 0/46 [00:00<?, ?it/s]Training..."])
def test_of_each_epoch_the_last_redraw_may_be_all_there_is(begin: str) -> None:
    lines = [
        line
        for epoch in range(1, 13)
        for line in (
            "",
            f"100%|##########| 46/46 [00:02<00:00, 17.{epoch}it/s]",
            f"EPOCH {epoch} ... Accuracy = 0.{epoch}",
        )
    ]
    steps = parse([begin, *lines[1:]]).steps
    assert list(steps["step"]) == [46] * 12
    assert steps["step_time_s"].median() == pytest.approx(1 / 17.4, rel=0.05)


@pytest.mark.parametrize("what", ["Frames: ", "Running requests: ", "Measuring "])
def test_a_bar_with_a_name_of_its_own_in_a_log_without_a_word_of_training_is_none(what: str) -> None:
    assert parse([f"{what}{redraw(n, 50, n * 1.0, 1.0)}" for n in range(0, 51, 5)]).steps.empty


def test_ends_of_bars_without_a_total_are_a_run_each() -> None:
    ends = [f"Loss: 0.{digit}: : 11it [00:0{digit},  1.{digit}it/s]" for digit in (5, 6, 4)]
    found = parse(ends).steps
    assert found["step"].tolist() == [11, 11, 11]
    assert found["segment"].tolist() == [0, 1, 2]
    assert found["loss"].tolist() == [0.5, 0.6, 0.4]
    live = parse([f"Loss: 0.5: : {count}it [00:0{count},  1.0it/s]" for count in (1, 2, 3, 3)]).steps
    assert live["step"].tolist() == [1, 2, 3]
    assert not live["segment"].any()


def test_a_training_that_begins_again_with_other_batches_is_one() -> None:
    first = [f"Epoch {epoch}: {redraw(n, 64, n * 1.5, 1.5)}" for epoch in range(3) for n in range(65)]
    second = [f"Epoch {epoch}: {redraw(n, 128, n * 5.0, 5.0)}" for epoch in range(2) for n in range(129)]
    steps = parse(first + second).steps
    assert steps.groupby("total").size().to_dict() == {64: 3 * 64, 128: 2 * 128}
    assert steps["segment"].nunique() == 5
    # Where they take turns one of them is the evaluation.
    turns = [
        f"Epoch {epoch}: {redraw(n, of, n * 1.5, 1.5)}" for epoch in range(3) for of in (64, 16) for n in range(of + 1)
    ]
    assert set(parse(turns).steps["total"]) == {64}


def test_the_last_redraw_of_each_epoch_counts_also_where_the_newest_epoch_was_cut_off() -> None:
    lines = ["Start training"]
    for epoch in range(12):
        lines += [redraw(90, 90, 45 + epoch % 3, 0.5), f"Finished epoch: {epoch} | Average Training Loss: 2.{epoch}"]
        lines += [f"Validation: {redraw(9, 9, 2, 0.2)}", f"Validation Loss: 2.{epoch}"]
    for cut in ([], [redraw(31, 90, 16, 0.5)]):
        steps = parse([*lines, *cut]).steps
        assert list(steps["step"]) == [90] * 12 + [31] * len(cut)
        assert steps["step_time_s"].median() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("end", "time_s"),
    [
        *[(end, 2.48) for end in ("2.48s", "2.48s/", "2.48s/i", "2.48s/it", "2.48s/it]")],
        *[(end, 0.4) for end in ("2.50i", "2.50it", "2.50it/", "2.50it/s", "2.50it/s]")],
        # What is left of it is no rate: the clock tells.
        *[(end, 1.0) for end in ("", "2", "2.", "2.48", "213")],
    ],
)
def test_a_bar_that_a_narrow_screen_cut_off_is_one(end: str, time_s: float) -> None:
    bars = [f"\rIteration:  {2 * at}%|▍ | {at}/50 [00:{at:02}<00:{50 - at:02},  {end}\x1b[A" for at in range(1, 50)]
    found = parse(bars).steps
    assert found["step"].tolist() == list(range(1, 50))
    times_s = found["step_time_s"].dropna().tolist()
    assert times_s == pytest.approx([time_s] * len(times_s))
    assert len(times_s) >= 47
    assert parse([bar.replace("Iteration", "Downloading") for bar in bars]).steps.empty


@pytest.mark.parametrize(
    "bar",
    [
        "Epoch {epoch}:  {share}%|##  | {step}/40 [{clock}<00:09, {pace}Batch/s, loss=2.5]",
        "Epoch {epoch}:  {share}%|##  | {step}/40 [{clock}<00:09, {time}s/Batch, loss=2.5]",
        "{share}%|##  | {step}/40 [{clock}<00:09, {time}s/ steps, loss=2.5]",
        "Train:  {share}%|##  | {step}/40 [{clock}<00:09, {pace} steps/s, loss=2.5]",
        "Epoch {epoch}:  {share}%|##  | {step}/40 [{clock}<00:09, {time}s/it, loss=tensor(2.5, device='cuda:0')]",
        "Epoch {epoch}:  {share}%|##  | {step}/40 [{clock}<00:09]",
        "Epoch {epoch}:  {share}%|##  | {step}/40 [{clock}<00:09, loss=2.5]",
        "Training  {share}%|##  | {step}/40 [{clock}, loss=2.5]",
        "|##  | {step}/40 [{clock}<00:09, {time}s/it, loss=2.5]",
        "Epoch {epoch} |##  | {step}/40 [{clock}<00:09, {pace}it/s, loss=2.5]",
        "Epoch {epoch} |##  | {step}/40 [{clock}<00:09, {time}s/Batch, loss=2.5]",
    ],
)
@pytest.mark.parametrize("sign", ["\n", "\r"])
def test_a_bar_is_read_whatever_its_unit_and_its_format(bar: str, sign: str) -> None:
    redraws = []
    for epoch, step in product((1, 2), range(1, 41)):
        clock = f"{step * 5 // 120:02}:{step * 5 // 2 % 60:02}"
        redraws.append(bar.format(epoch=epoch, step=step, share=5 * step // 2, clock=clock, time="2.50", pace="0.40"))
    steps = parse(["Start training", *sign.join(redraws).split("\n"), "Done"]).steps
    assert steps["step"].tolist() == [*range(1, 41)] * 2
    assert steps["step_time_s"].median() == pytest.approx(2.5, abs=0.05)
    assert steps["loss"].notna().all() == ("loss" in bar)


def _nameless(total: int) -> str:
    """Two in a second."""
    return "\r".join(
        f"{100 * at // total}%|## | {at}/{total} [00:{at // 2:02}<00:09, 2.00it/s]" for at in range(1, total + 1)
    )


def test_bars_of_many_lengths_in_a_log_without_a_word_of_training_are_none() -> None:
    videos = [line for total in (49, 46, 41, 50, 49) for line in (f"sent_{total}.mp4", _nameless(total), "saved")]
    assert parse(videos).steps.empty
    assert len(parse(["training on 2 GPUs", *videos]).steps)
    assert len(parse([_nameless(49), "saved"] * 3).steps) == 3 * 49


def test_a_bar_that_is_called_training_trains_whatever_was_evaluated_before_it() -> None:
    lines = []
    for each_s in (10.0, 4.0, 4.0):
        lines += [f"Training: {redraw(step, 40, step * each_s, each_s)}" for step in range(1, 41)]
        lines += ["Evaluating ...", *(redraw(step, 8, float(step), 1.0) for step in range(1, 9)), "Perplexity: 8.9"]
    assert len(parse(lines).steps) == 120


@pytest.mark.parametrize(("until", "steps"), [(20, 300), (300, 2000)], ids=["given up", "evaluated"])
def test_a_bar_that_was_given_up_is_outweighed_by_one_behind_it(until: int, steps: int) -> None:
    first, then = _run(2000, 0.25, True, until), _run(300, 0.5, True)
    lines = ["training", *(redraw for _, redraw in first), "stopped", *(redraw for _, redraw in then)]
    found = parse(lines).steps
    assert set(found["total"].dropna()) == {steps}


def test_a_bar_that_is_called_training_is_none_inside_of_those_that_say_nothing() -> None:
    """Calibration and caching count as many batches before and behind it."""
    before = [redraw for _, redraw in _run(32, 2.0, False)]
    training = [f"Training: {redraw}" for _, redraw in _run(32, 16.0, True)]
    found = parse([*before, *training, *before, *training, *before]).steps
    assert found["step"].tolist() == list(range(1, 33)) * 2
    assert found["step_time_s"].median() == 16.0


@pytest.mark.parametrize(("example", "steps"), [("Writing example {} of 3000", 0), ("words of no kind {}", 200)])
def test_a_bar_before_data_that_are_prepared_is_none(example: str, steps: int) -> None:
    bar = "\r".join(redraw for _, redraw in _run(200, 0.05, False))
    assert (
        len(parse(["Config: do_train = True", bar, *(example.format(at) for at in range(0, 3000, 1000))]).steps)
        == steps
    )


def test_a_bar_without_a_total_that_says_so_is_the_training_beside_one_that_says_nothing() -> None:
    lines = []
    for epoch in range(3):
        lines += [f"Epoch {epoch}: {at}it [00:{at:02},  1.00s/it]" for at in range(1, 31)] + [_nameless(40)]
    found = parse(lines).steps
    assert found["step"].tolist() == list(range(1, 31)) * 3
    assert set(found["step_time_s"]) == {1.0}


@pytest.mark.parametrize(("answers", "steps"), [(True, 0), (False, 20)])
def test_a_bar_over_answers_that_a_model_writes_is_no_training(answers: bool, steps: int) -> None:
    lines = ["Loading the model for training", "loss: see below"]
    said = "Setting `pad_token_id` to `eos_token_id`:7 for open-end generation."
    behind = said if answers else ""
    lines += [f"  0%|          | {n}/50 [00:{2 * n:02}<01:42,  2.00s/it]{behind}" for n in range(21)]
    lines += [] if answers else [said] * 5
    assert len(parse(lines).steps) == steps


@pytest.mark.parametrize(
    "report",
    [
        "Epoch {n}, step {n}, loss {loss}, time 0.5s/it",
        "eta: 0:09:27  epoch: 1  step: {n}  loss: {loss}  data: 0.0196  batch: 0.5000  lr: 0.000100  max_mem: 6107",
        "2026-03-04 08:01:{half:04.1f}00 - INFO - step {n} loss {loss}",
        "{{'loss': {loss}, 'step': {n}, 'step_time': 0.5}}",
    ],
)
@pytest.mark.parametrize(
    "bar", ["Validation: 100%|{bars}| 9/9 [00:01<00:00,  9.1it/s]", "  0%|{none}| 0/438 [00:00<?, ?s/it]"]
)
def test_a_report_behind_a_bar_that_was_left_without_an_end_of_its_line_is_read(bar: str, report: str) -> None:
    lines = [
        bar.format(bars="█" * 10, none=" " * 10) + report.format(n=n, half=n / 2, loss=f"{3 / n:.3f}")
        for n in range(1, 30)
    ]
    steps = parse(lines).steps
    assert list(steps["step"]) == list(range(1, 30))
    assert steps["step_time_s"].median() == pytest.approx(0.5)
    assert steps["loss"].iloc[0] == 3.0
