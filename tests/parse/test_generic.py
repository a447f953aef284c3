"""The recognizers for dialects that nobody has seen: what a line says does not hang on how it is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.parse.fields.keys import key_of, unit_of
from monitor.parse.formats import jsonlines, keyvalue
from monitor.parse.rows import Reading
from tests.parse.read import parse


def read(line: str) -> list[Reading]:
    return list(jsonlines.read(line)) or list(keyvalue.read(line))


def one(line: str) -> Reading:
    found = read(line)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("line", "step", "time_s", "loss"),
    [
        ("step=7 loss=2.5 step_time_ms=250.0", 7, 0.25, 2.5),
        ("STEP=7 STEP_TIME_MS=250.0 LOSS=2.5", 7, 0.25, 2.5),
        ("Step=7;Loss=2.5;StepTime=0.25", 7, 0.25, 2.5),
        ("[rank1] step 7/90 loss=2.5 dt=250.0ms tok/s=8,192", 7, 0.25, 2.5),
        ("step 7/90 | loss 2.5 | lr 3e-4 | 0.25 s/step", 7, 0.25, 2.5),
        ("step: 7/90 - loss: 2.5 - 250ms/step", 7, 0.25, 2.5),
        ("[Step 7] train_loss: 2.5 time: 0.25s", 7, 0.25, 2.5),
        ("Iteration 7: loss = 2.5 (0.25 sec/step)", 7, 0.25, 2.5),
        ("I0304 08:12:20.123456 14023 loop.py:52] Step 7 per-step time 0.250s loss=2.5", 7, 0.25, 2.5),
        ("iter: 7  loss: 2.5 (2.75)  batch_time: 0.25 (0.5)  data_time: 0.1 (0.2)", 7, 0.25, 2.5),
        ("Epoch: [0][  7/90]\tTime  0.250 ( 0.500)\tData  0.1 ( 0.2)\tLoss 2.5e+00 (2.75e+00)", 7, 0.25, 2.5),
        ("Train: 0 [   7/90 (  8%)]  Loss: 2.50 (2.75)  Time: 0.250s,  512.0/s  (0.5s,  256.0/s)", 7, 0.25, 2.5),
        ("| epoch   1 |     7/   90 batches | lr 2.0 | ms/batch 250.00 | loss  2.50 | ppl 12.18", 7, 0.25, 2.5),
        ("7 | loss 2.5000 | lr 5.0e-05 | 250.00ms | mfu 21.30%", 7, 0.25, 2.5),
        ("[7/90] loss=2.5, lr=1e-4, 0.25s/it", 7, 0.25, 2.5),
        ("Train | Epoch 1 | 7/90 | 4.00 it/sec | loss 2.5", 7, 0.25, 2.5),
        ("(step=0000007) Train Loss: 2.5, Train Steps/Sec: 4.00", 7, 0.25, 2.5),
        ("iter_dt 250.00ms; iter 7: train loss 2.50000", 7, 0.25, 2.5),
        ("train step 7 finished in 0.25s, loss=2.5", 7, 0.25, 2.5),
        ("Loss at step 7: 2.5 (250.0 ms)", 7, 0.25, 2.5),
        ("Average loss at step 7/90: 2.5", 7, None, 2.5),
        ("Average loss at step (7/90): 2.5", 7, None, 2.5),
        ("Training loss at iteration 7 of 90: 2.5 (250.0 ms)", 7, 0.25, 2.5),
        ("steps: 7 loss: 2.5000 iter time (s): 0.250 samples/sec: 256.0", 7, 0.25, 2.5),
        ("step 7 loss 2.5 seconds/step 0.25", 7, 0.25, 2.5),
        ("loop - Step 7/90 :: ce_loss 2.5 :: 0.25s per step :: 9.1k tok/s", 7, 0.25, 2.5),
        ("step 7: 250ms: loss 2.5, lr: 0.001", 7, 0.25, 2.5),
        ("step 7 : loss 2.5 : s/it : 0.25", 7, 0.25, 2.5),
        ("global step 7, epoch: 0, batch: 6, loss: 2.5, speed: 4.00 step/s", 7, 0.25, 2.5),
        ("epoch: 1, iter: 7/90, loss: 2.5, batch_cost: 0.25, reader_cost: 0.1, ips: 256.0 samples/sec", 7, 0.25, 2.5),
        ("step:7 - actor/lr:0.001 - timing_s/gen:9.0 - timing_s/step:0.25 - train/loss:2.5", 7, 0.25, 2.5),
        ("{'step': 7, 'loss': tensor(2.5000, device='cuda:0'), 'batch_time': 0.25}", 7, 0.25, 2.5),
        ('{"message": "step 7 | loss 2.5 | 0.25 s/step", "level": "INFO", "lineno": 12}', 7, 0.25, 2.5),
        ('{"globalStep": 7, "loss": "2.5", "stepTimeMs": 250.0}', 7, 0.25, 2.5),
        ('INFO {"step": 7, "train": {"loss": 2.5, "time_per_step": "0.25s"}}', 7, 0.25, 2.5),
        ('{"step": [1, 7], "data": {"train_loss": 2.5, "it_per_sec": 4.0}}', 7, 0.25, 2.5),
        ("- {timestamp: 2026-03-04T08:01:02.548758+00:00, step: 7, s_per_it: 0.25, loss: 2.5}", 7, 0.25, 2.5),
        ("{step: 7, loss: 2.5, it_per_s: 4.0}", 7, 0.25, 2.5),
        ("step 7: loss=nan, 0.25 s/it", 7, 0.25, float("nan")),
        ("Epoch 1 Batch 7 Loss 2.5 Accuracy 0.1", 7, None, 2.5),
        ("0: 7/90 loss: 2.5 time: 0.25s", 7, 0.25, 2.5),  # srun's task in front
        ("0: (7) loss=2.5, 0.25 s/it", 7, 0.25, 2.5),
        ("iter 7/90, loss: 2.5, time: 240 steps/min", 7, None, 2.5),
        ("step=7 loss=2.5 step_time=24.0 it/min", 7, None, 2.5),
        (
            "epoch=1 step=7 {'train_loss': 2.5, 'val_loss': 2.75}",
            7,
            None,
            2.5,
        ),  # the newest of each, as a callback prints them
        ("(5/8) Epoch 0, batch 7, batch avg ctc loss 5.2, batch avg loss 2.5", 7, None, 2.5),
        ("[2026-03-04 08:12:20,123][root][INFO] - train, epoch: 0/50, step_in_epoch: 7, loss: 2.5", 7, None, 2.5),
    ],
)
def test_a_dialect_is_read(line: str, step: int, time_s: float | None, loss: float) -> None:
    found = one(line)
    assert (found.step, found.time_s) == (step, pytest.approx(time_s) if time_s else None)
    assert found.loss == pytest.approx(loss, nan_ok=True)


@pytest.mark.parametrize(
    "line",
    [
        "validation at step 12: val_loss=0.5 elapsed=0.31s",
        "[Epoch 1 640/640][Iteration 12][Wall Clock 184.41s] Validate the model",
        "I0807 15:36:14.204 2567 caffe.cpp:313] Batch 12, loss = 0.51",
        "INFO train: eval: step=80 val_loss=0.5 eval_time=0.31s",
        "Test: [ 10/40]\tTime  0.610 ( 0.800)\tLoss 6.9 (7.0)",
        "step 250: train loss 2.31, val loss 2.40",
        "epoch=1 step=7 {'loss': 2.5, 'val_loss': 2.75}",
        "Eval 10/100 | step 5 | loss 2.1 | 0.5 s/step",
        "step 12: saving checkpoint took 3.2s",
        "Early stopping at step 300, best loss 0.12",
        "Loaded checkpoint at step 1200, loss=2.31",
        "Namespace(batch=32, steps=1000, time=5.0, lr=0.1)",
        "Config: {'steps': 100, 'batch': 32, 'loss': 'mse', 'time': 30}",
        "        if step % 100 == 0: print('step %d loss %.3f (%.2f sec)' % (step, loss, 0.5))",
        "self.step = 0; self.loss = 0.0",
        "{step: d} of {total: d}: loss {loss: .4f}, step 7 loss 2.5",
        "  avg_reward=-4.002  avg_steps=300.0  success=0.0%  time=309.9s",
        "Sampling 2 chains for 500 tune and 500 draw iterations (1000 + 1000 draws total) took 1 seconds.",
        "Overall training speed: 90 iterations in 0:01:30 (1.0000 s / it)",
        "data loading: batch 10/100 time 0.5s",
        "prefetch step 5 throughput 123 MB/s",
        "global_step/sec: 7.73",
        "time (ms) | forward: 652.00 | step: 1172.00",
        "train.py:train_step:145 - loss 2.3",
        "| epoch 010 | train loss 1.44 | s/checkpoint 7747 | words/s 961 | words/batch 906",
        "Epoch 12/100 - loss: 0.51 - time: 12.1s",
        '{"type": "eval", "global_step": 40, "val_loss": 0.5, "eval_time": 0.3}',
        '{"event": "checkpoint_saved", "step": 100, "duration_s": 2.1}',
        '{"step": 100, "eval": {"loss": 2.3}, "elapsed": 3.1}',
        '{"train_runtime": 919.1, "step": 213, "train_loss": 2.3, "train_steps_per_second": 0.23}',
        '{"event": "epoch_end", "epoch": 1, "step": 500, "loss": 2.1, "time": 300}',
        '{"max_steps": 1000, "batch": 8, "lr": 0.1, "time": 3}',
        '{"step": 5}',
    ],
)
def test_a_look_alike_is_no_step(line: str) -> None:
    assert read(line) == []


@pytest.mark.parametrize(
    ("line", "throughput", "unit"),
    [
        ("step=1 loss=2 tok/s=8,662", 8662.0, "tokens/s"),
        ("step=1 loss=2 12.3k tok/s/GPU", 12300.0, "tokens/s/GPU"),
        ("step=1 loss=2 tokens_per_second_per_gpu=512.5", 512.5, "tokens/s/GPU"),
        ("step=1 loss=2 (1250.5 examples/sec; 0.1 sec/batch)", 1250.5, "examples/s"),
        ("Iter #1: 234.5 img/sec per GPU", 234.5, "images/s/GPU"),
        ("step=1 loss=2 throughput=512.5 tok/s", 512.5, "tokens/s"),
        ("step=1 loss=2 throughput=512.5", 512.5, ""),
        ("step=1 loss=2 2.50 it/s", 2.5, "it/s"),
        ("step=1 loss=2 RunningAvgSamplesPerSec=9.5, CurrSamplesPerSec=8.5", 8.5, "samples/s"),
    ],
)
def test_throughput_is_as_printed(line: str, throughput: float, unit: str) -> None:
    found = one(line)
    assert (found.throughput, found.throughput_unit) == (pytest.approx(throughput), unit)


@pytest.mark.parametrize(
    ("line", "gib"),
    [
        ("step=1 loss=2 mem=34.5GB", 34.5),
        ("step=1 loss=2 max_mem 2048 MiB", 2.0),
        ("step=1 loss=2 memory(GiB)=12.5", 12.5),
        ("step=1 loss=2 allocated 1024MB reserved 3072MB", 3.0),
        ("step=1 loss=2 mem=2962", None),  # of what?
        ("step=1 loss=2 cpu_mem=64GB", None),
        ("step=1 loss=2 mem: 45%", None),
    ],
)
def test_memory_needs_a_unit_and_is_the_gpu_s(line: str, gib: float | None) -> None:
    assert one(line).gpu_memory_gib == gib


def test_a_clock_is_left_to_the_series_or_named_one() -> None:
    assert one("step 5 loss 2.5 elapsed 12.5s").meaning == "either"
    behind = one("iter 250 | train loss 2.5 | val loss 2.4 | 169s elapsed")
    assert (behind.time_s, behind.meaning) == (169.0, "either")
    clock = one("step 5 | loss 2.5 | elapsed 00:01:23 | ETA 0:10:00")
    assert (clock.time_s, clock.clock_s, clock.clock_tick_s) == (None, 83.0, 1.0)
    start = one("step 0 loss 2.5 elapsed 0.0s")
    assert (start.time_s, start.meaning) == (None, "either")
    day = one("step 5 loss 2.5 elapsed 1 day, 0:00:10")
    assert day.clock_s == 86410.0
    own = one("step 5 loss 2.5 step_time 0.5s elapsed 00:01:23")
    assert (own.time_s, own.clock_s) == (0.5, None)


def test_a_batch_of_an_epoch_behind_a_stamp_is_the_second_fraction() -> None:
    (found,) = read("2026-03-04 08:12:20 [3/10][50/1583] Loss_D: 1.2 Loss_G: 2.5 D(x): 0.5")
    assert (found.step, found.epoch) == (50, 3)


def test_who_and_which_epoch_are_taken_from_the_line() -> None:
    assert one("[rank3] step 5/90 loss=2").rank == 3
    assert one('{"rank": 3, "step": 5, "loss": 2}').rank == 3
    assert one("local_rank=3 step=5 loss=2").rank is None
    assert (one("step 5/90 loss 2").total, one("step=5 max_steps=90 loss=2").total) == (90, 90)
    local = one("Epoch [2/3], Step [5/90], Loss: 2.5")
    assert (local.epoch, local.total) == (2, None)  # steps of an epoch are no planned steps


def test_the_time_of_an_iteration_beside_a_step_waits_for_the_other_lines() -> None:
    found = one("iter 8 step 2: loss 2.5, iter time: 125.0ms")
    assert (found.step, found.counter, found.time_s, found.meaning) == (2, 8, 0.125, "iteration")


@pytest.mark.parametrize(
    "text",
    [
        "[it 0003] step={steps} | EpRew=-1.5 EpCost=0.0 | PiLoss=0.25 | dt=4.0s",
        "Iteration: 3 | Global step: {steps:,} | Reward: 1.5 | Loss: 0.25 | Step time: 4.0s",
        "global_step {steps} | Update 3 | return 1.5 | loss 0.25 | took 4.00s",
        "upd=3 env_steps={steps} ep_ret=1.5 loss=0.25 sec_per_update=4.0",
        "update 3 | {k:.1f}k steps | return 1.50 | loss 0.25 | 4.00s",
        "ITER 3 STEP {steps} REWARD 1.5 LOSS 0.25 TIME 4.00s",
        '{{"update": 3, "global_step": {steps}, "mean_reward": 1.5, "loss": 0.25, "update_time": 4.0}}',
        "{{'iteration': 3, 'env_steps': {steps}, 'reward_mean': 1.5, 'loss': 0.25, 'time_this_iter_s': 4.0}}",
    ],
)
def test_the_steps_of_an_agent_are_no_updates(text: str) -> None:
    found = one(text.format(steps=6144, k=6.144))
    assert (found.step, found.time_s, found.loss, found.total) == (3, 4.0, 0.25, None)


@pytest.mark.parametrize(
    "text",
    [
        "iteration 3 | step 48 | reward 1.5 | loss 0.25",  # so many may be an optimizer's
        "iteration 3 | step 6144 | loss 0.25",  # no agent gains
        "iteration 3 | optimizer step 6144 | loss 0.25",
    ],
)
def test_the_steps_of_an_optimizer_are(text: str) -> None:
    assert one(text).step == (48 if "48" in text else 6144)


def test_records_glued_together_are_each_read() -> None:
    found = read("[rank0] step 1/9 loss=2.5 dt=10.0ms[rank1] step 1/9 loss=2.25 dt=20.0ms")
    assert [(reading.rank, reading.time_s) for reading in found] == [(0, 0.01), (1, 0.02)]
    assert len(read("step 9/9 loss=2.5 dt=10.0msvalidation at step 9: val_loss=2.25 elapsed=0.31s")) == 1
    assert [reading.loss for reading in read('{"step": 1, "loss": 2.5}{"step": 1, "loss": 2.25}')] == [2.5, 2.25]


@pytest.mark.parametrize(
    "name",
    [
        "data_time",
        "eval_time",
        "eta",
        "time_left",
        "ckpt_time",
        "fwd_time",
        "optim_step_time",
        "remaining",
        "loss_scale",
    ],
)
def test_names_of_other_things_mean_no_time_and_no_loss(name: str) -> None:
    key = key_of(name)
    assert key is None or key.what not in {"time", "loss"}


_FIELDS = {"step": 12, "loss": 2.5, "step_time_ms": 250.5, "tokens_per_sec": 8192.0, "rank": 3, "max_steps": 90}
_NAMES = st.text("abcdefgh_", min_size=1, max_size=8).filter(
    lambda name: key_of(name) is None and unit_of(name) is None
)
_EXTRA = st.dictionaries(_NAMES, st.integers(0, 999) | st.floats(0.001, 999, allow_nan=False), max_size=4)
_WRITTEN = st.sampled_from(
    [
        json.dumps,
        lambda fields: " ".join(f"{key}={value}" for key, value in fields.items()),
        lambda fields: ", ".join(f"{key}: {value}" for key, value in fields.items()),
        lambda fields: " | ".join(f"{key} {value}" for key, value in fields.items()),
        lambda fields: "\t".join(f'{key}="{value}"' for key, value in fields.items()),
        repr,
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.permutations(sorted(_FIELDS)), _EXTRA, _WRITTEN)
def test_neither_order_nor_unknown_names_nor_the_way_of_writing_matter(order, extra, write) -> None:  # type: ignore[no-untyped-def]
    fields = {name: _FIELDS[name] for name in order}
    found = one(write({**extra, **fields}))
    assert found[1:] == one(json.dumps(_FIELDS))[1:]
    assert (found.step, found.total, found.time_s, found.rank) == (12, 90, pytest.approx(0.2505), 3)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**7), st.sampled_from(["step=3 step_time={}", "step 3 | loss 2.0 | {}", "Step 3 took {}"]))
def test_milliseconds_microseconds_and_seconds_say_the_same(us: int, form: str) -> None:
    written = [f"{us / 1e6!r}s", f"{us / 1e3!r} ms", f"{us}us", f"{us / 1e6:.7f} seconds"]
    times = [one(form.format(text)).time_s for text in written]
    assert times == pytest.approx([us / 1e6] * 4, rel=1e-6)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**12), st.integers(0, 10**9))
def test_thousands_separators_say_the_same(rate: int, step: int) -> None:
    with_commas = one(f"step {step:,} loss 2.0 tok/s {rate + 1:,}")
    assert with_commas == one(f"step {step} loss 2.0 tok/s {rate + 1}")


_PIECES = st.sampled_from(
    [
        *(
            "step",
            "Step 7",
            "iter=",
            "batch:",
            "loss",
            "=",
            ": ",
            " | ",
            "/",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            '"',
            "'",
            ",",
        ),
        *(
            "ms",
            "s/it",
            "it/s",
            "tok/s",
            "%",
            "k",
            "nan",
            "inf",
            "-",
            "1e308",
            "9" * 40,
            "0",
            "1:02:03",
            "7d",
            "tensor(",
        ),
        *(
            '{"step": ',
            '"loss": NaN}',
            "elapsed ",
            "rank",
            "\\t",
            "\x00",
            "µs",
            "of",
            "at step",
            "1 day, ",
            "1h 2m",
            ".5",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(_PIECES | st.integers(-9, 999).map(str) | st.text(max_size=5), max_size=24).map("".join))
def test_no_text_raises_and_times_are_durations(text: str) -> None:
    for found in (*jsonlines.read(text), *keyvalue.read(text)):
        assert found.step is not None
        assert found.step >= 0
        assert found.time_s is None or 0 < found.time_s < 31 * 86400


@pytest.mark.parametrize(
    "piece", ["(", "[", "{", '{"a":', " ", "step ", "step 1 ", "a/b ", '"', "1,", "x", "is ", "loss at "]
)
def test_long_lines_pass_quickly(piece: str) -> None:
    text = "step 1 loss 2.0 " + piece * (262_144 // len(piece))
    list(jsonlines.read(text))
    list(keyvalue.read(text))


@pytest.mark.parametrize(
    ("form", "format"),
    [
        ("{epoch}th epoch, {step}th mini-batch, loss is 0.{n}", "key-value"),
        ("The {step}th iteration of the training, loss 0.{n}", "key-value"),
        ("第{epoch}轮 第{step}步 loss: 0.{n}", "key-value"),
        ("第 {epoch} 个epoch的第 {step} 个batch, loss为0.{n}", "learned"),
        ("训练次数：{step}，Loss：0.{n}", "learned"),
        ("第{step}次迭代, 损失: 0.{n}", "learned"),
    ],
)
def test_a_count_may_stand_before_its_name_or_inside_it(form: str, format: str) -> None:
    lines = [form.format(epoch=epoch, step=step, n=900 - 7 * step - epoch) for epoch in range(2) for step in range(30)]
    found = parse(lines).steps
    assert set(found["format"]) == {format}
    assert list(found["step"]) == 2 * list(range(30))
    assert found["loss"].iloc[0] == pytest.approx(0.9)


def test_the_time_of_a_chinese_report_is_read() -> None:
    assert one("第3步 loss: 0.5 用时 0.53s").time_s == pytest.approx(0.53)
