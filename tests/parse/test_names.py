"""What counters, times, losses and ranks are called: many spellings of one thing, and what only looks like it."""

from __future__ import annotations

import pytest

from monitor.parse.family import families
from monitor.parse.formats import jsonlines, keyvalue
from monitor.parse.lines.envelope import fragments
from monitor.parse.rows import Reading
from tests.parse.read import parse


def read(line: str) -> list[Reading]:
    return list(jsonlines.read(line)) or list(keyvalue.read(line))


def one(line: str) -> Reading:
    found = read(line)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("counter", "epoch"),
    [
        *((form, 3) for form in ("Epoch:[3/20](7/120)", "Epoch[3/20](7/120)", "Epoch: [3/20] [7/120]")),
        *((form, 3) for form in ("Epoch 3/20 Batch 7/120", "Epoch(3/20) Step(7/120)", "(epoch 3/20)(step 7/120)")),
        *((form, 3) for form in ("Epoch 3 (7/120)", "Epoch 3/20 (7/120):", "[epoch 3, 7/120]", "[epoch 3][7/120]")),
        *((form, 3) for form in ("Train Epoch: 3 (7/120)", "epoch 3 - 7/120 -", "ep 3 | 7/120 |", "Epoch 3, 7/120:")),
        *((form, 3) for form in ("[Epoch 3][Iter 7/120]", "Epoch [3/20], Itr [7/120]", "Epoch 3 batch 7 of 120,")),
        *((form, None) for form in ("step 7/120", "Itrs 7/120,", "it: 7 of 120,", "Iteration: 7 (of 120)", "itr=7,")),
        *(
            (form, None)
            for form in ("gstep 7", "optim_step: 7", "after 7 steps,", "[step 7]", "step #7:", "step 00007")
        ),
    ],
)
@pytest.mark.parametrize("told", ["loss 2.5 0.25 s/it", "Loss: 2.5, batch_time: 0.25", "loss=2.5 dt=250ms"])
def test_a_counter_and_its_epoch(counter: str, epoch: int | None, told: str) -> None:
    found = one(f"{counter} {told}")
    assert (found.step, found.epoch) == (7, epoch)
    assert (found.loss, found.time_s) == (2.5, pytest.approx(0.25))
    assert found.total in {None, 120}


@pytest.mark.parametrize(
    ("line", "step", "total"),
    [
        ("step:2.0K smpl:16K loss:2.5", 2000, None),
        ("step:31K smpl:245K ep:2K loss:2.5", 31_000, None),
        ("step 1.25M | loss 2.5", 1_250_000, None),
        ("iter: 1.2k/10k loss 2.5", 1200, 10_000),
        ("iter 3K, loss 2.5", 3000, None),
        ('{"step": "2.0K", "loss": 2.5}', 2000, None),
        ("step 2 k=3 loss 2.5", 2, None),
        ("step 2 k 3 loss 2.5", 2, None),
        ("[12/4000] batch 16 loss 2.5", 12, 4000),
        ("[12/4000] batch 16, loss: 2.5, 0.25 s/it", 12, 4000),
        ("epoch 3 [12/400] batch 16 loss 2.5", 12, None),
        ("[3/25] batch 16 loss 2.5", 16, None),
        ("[7/90] batch_size 16 loss=2.5", 7, 90),
        ("[step 7/90] bs 16 | loss 2.5", 7, 90),
        ("TRAIN Batch 4/0 loss 2.5", 0, None),
    ],
)
def test_counts_in_thousands_and_beside_sizes(line: str, step: int, total: int | None) -> None:
    found = one(f"{line} 0.25 s/step" if "s/" not in line and "{" not in line else line)
    assert (found.step, found.total) == (step, total)


def test_the_second_number_of_a_batch_may_be_the_one_that_runs() -> None:
    lines = [f"TRAIN Batch {4 + n // 8}/{n % 8 * 100} loss {2.5 + n} rank 0" for n in range(20)]
    steps = parse(lines).steps
    assert list(steps["step"]) == [n % 8 * 100 for n in range(20)]
    assert steps["total"].isna().all()
    steps = parse([f"Batch {n}/391 loss {2.5 + n}" for n in range(20)]).steps
    assert (list(steps["step"]), set(steps["total"])) == (list(range(20)), {391})


@pytest.mark.parametrize(
    "told",
    [
        *("btime(ms) 250.0", "btime(ms)=250", "updt_s:0.25", "update_s=0.25", "t_iter 0.25", "t_step=0.25"),
        *("t_step[s] 0.25", "t_iter(ms): 250", "timing/step:0.25", "timing_s/step:0.25", "timing_ms/step:250"),
        *("time/iteration=0.25", "timer/iter_ms=250", "perf/step_time_s=0.25", "train/time/step=0.25"),
        *(
            "perf.step_time=0.25",
            "timing.step_ms=250",
            "time_this_iter_s=0.25",
            "time_per_iter=0.25",
            "time_batch=0.25",
        ),
        *("time_step_ms=250", "time_step(s)=0.25", "sec/it 0.25", "secs_per_iter=0.25", "ms/it: 250", "s/iter 0.25"),
        *("step_ms=250", "step(s): 0.25", "iter (ms): 250", "step time in ms: 250", "step-time-ms 250"),
        *("| 250 ms/iter", "| 250ms/batch", "| 0.25 s/update", "| 0.25 sec/iteration", "| 0.25 seconds per step"),
        *("| 4.0 it/s", "| 4 iters/sec", "| 4 batches/s", "| 4.0 steps per second", "iters_per_sec=4.0", "it_s 4.0"),
        *("global_step/sec: 4.0", "optimizer_steps_per_sec 4.0", "opt steps/s: 4", "time spent per step: 0.25"),
        *("step took 250ms", "iteration took 0.25 seconds", "took 0.25s per iteration", "dt: 0.25s", "per step: 0.25s"),
        *("elapsed/step 0.25", "BT 0.25 (0.5) DT 0.01 (0.02)", "speed: 0.25s / iter", "avg_step_time: 0.25"),
        # Of several steps, whose number the name, the unit or the sentence tells.
        *("| 10 iterations took 2.5 s", "Time(1000 iters): 250s", "Time (100 iters): 25.0", "time/1000iters: 250.0s"),
        *("2.5 s / 10 iters", "(2.5 s/10 iters)", "| 100 iter 25.0 s", "elapsed for last 50 steps: 12.5 s"),
        *("last 50 steps took 12.5s", "time for 10 steps: 2.5s", "Time per 100 iterations: 25.0 s"),
        *("2.5 sec / 10 batches", "(25.0 sec per 100 steps)", "time_100_steps=25.0", "time_per_100_steps=25.0"),
        *("seconds_per_10_iters=2.5", "ms_per_10_iters=2500", "last_100_steps_time=25.0", "100 iters in 25.0s"),
        *("(100 steps in 25.0s)", "(25.0s for 100 steps)", "; 25.0 seconds for the last 100 iterations"),
        *("; 20 batches processed in 5.0s", "speed: 25.0s/100iters", "[25.0s/100 batches]", "took 25.0s (100 iters)"),
        *("s/b : 0.25", ", UD 0.25"),
        *(
            "— 10 steps took 2.5s",
            "→ 10 iterations took 2.5s",
            "│ 0.25 s/step │",
            "• 0.25 s/it • x",
            "— 4.0 it/s — lr 1",
        ),
        *("time over the last 100 its: 25s", "100 training steps in 0:25", "240 steps took 1:00", "25000 ms / 100 it"),
    ],
)
@pytest.mark.parametrize("line", ["step 700 loss 2.5 {}", "Epoch 2 iter 700: loss = 2.5, {}, lr 1e-4"])
def test_the_time_of_a_step(line: str, told: str) -> None:
    found = one(line.format(told))
    assert (found.step, found.loss, found.time_s) == (700, 2.5, pytest.approx(0.25))
    assert found.meaning in {"step", "interval"}


@pytest.mark.parametrize(
    "told",
    [
        *("data 0.1", "total 700", "data_time 0.1", "data_s 0.1", "dtime(ms) 100", "load 0.1s", "fwd 0.1s bwd 0.2s"),
        *("ETA 12.3s for 100 steps", "remaining 12.3 s / 100 iters", "data time for 10 steps 0.1 s", "min/epoch 3.1"),
        *("epoch time 100 s", "time/epoch 100 s", "(100 steps left)", "0.25 s (100 steps left)", "timing/gen 0.2"),
        *(
            "timing_s/update_actor 0.2",
            "time_step 7",
            "timestep 7",
            "t=801",
            "t 0.5",
            "reading 2 s / 10 steps",
            "pruned 2 s / 10 steps",
        ),
        *("lr 1e-4", "loss_scale 65536", "tokens 12000000", "time_per_epoch=100", "warm 10 iters", "max 100 iters"),
        *(
            "data_time_100_steps=12.3",
            "every 100 iters",
            "fetch time(100 iters): 2.5s",
            "io 2.5s/100it",
            "3 epochs in 5 s",
        ),
    ],
)
def test_other_times_are_none_of_a_step(told: str) -> None:
    found = one(f"step 700 loss 2.5 {told}")
    assert (found.step, found.loss, found.time_s, found.clock_s) == (700, 2.5, None, None)


@pytest.mark.parametrize(
    ("told", "meaning"),
    [
        *((told, "either") for told in ("Timer: 0.25 sec.", "timer 0.25", "t=0.25s", "Δt 250ms", "time diff 0.25")),
        *((told, "either") for told in ("delta_t 0.25", "total_step_time 0.25", "time 250ms", "tdelta=0.25")),
        *((told, "either") for told in ("fwd 0.1s bwd 0.15s total 0.25s", "total=250ms", "total: 0.25 sec")),
    ],
)
def test_a_time_or_a_clock_is_left_to_the_series(told: str, meaning: str) -> None:
    found = one(f"iter 10 || Loss: 2.5 || {told}")
    assert (found.time_s, found.meaning) == (pytest.approx(0.25), meaning)


@pytest.mark.parametrize(
    ("told", "loss"),
    [
        *((told, 2.5) for told in ("loss_cls 0.5 loss_bbox 0.7 loss 2.5", "loss 2.5 aux_loss 0.1 z_loss 0.01")),
        *((told, 2.5) for told in ("total_loss 2.5 policy_loss 0.5 value_loss 0.2", "aux_loss: 0.1, loss: 2.5")),
        *((told, 2.5) for told in ("loss/total=2.5 loss/ce=1.0", "train/losses/total=2.5 train/losses/kl=0.1")),
        *(
            (told, 2.5)
            for told in ("losses/total_loss 2.5", "a/b/loss=2.5", "loss/train=2.5 loss/ce=1", "Loss(train) 2.5")
        ),
        *((told, 2.5) for told in ("loss 2.5 history loss 2.7", "history loss 2.7 loss 2.5", "loss 2.5 avg loss 2.7")),
        *(
            (told, 2.5)
            for told in ("smooth_loss 2.7 loss 2.5", "loss 2.5 loss1 0.5 loss2 2.0", "mel loss 0.5, loss 2.5")
        ),
        *((told, 2.5) for told in ("pg_loss 2.5", "actor/pg_loss 2.5", "kl_loss=2.5", "nll_loss 2.5", "loss_1 2.5")),
        *((told, 2.5) for told in ("TRAIN obj-val = 2.5", "obj_val: 2.5")),
        *((told, None) for told in ("mel loss 0.5 kl_loss 0.3", "loss1 0.5 loss2 0.7", "Loss_D: 0.5 Loss_G: 0.7")),
        *((told, None) for told in ("actor/pg_loss 0.5 critic/vf_loss 0.2", "loss/ce=1.0 loss/kl=0.1")),
    ],
)
def test_the_loss_is_the_whole_one(told: str, loss: float | None) -> None:
    assert one(f"step 7 {told}").loss == loss


def test_an_exact_format_takes_the_whole_loss_too() -> None:
    line = "Epoch: [0][10/500]\tTime 0.25 (0.50)\tcls loss 0.5 (0.6)\t{} 2.5 (2.6)"
    read = next(family.read for family in families() if family.name == "averagemeter")
    assert [found.loss for found in read(line.format("Loss"))] == [2.5]
    assert [found.loss for found in read(line.format("box loss"))] == [0.5]


@pytest.mark.parametrize(
    "line",
    [
        *("step 12 | reward 0.52 | kl 0.01 | lr 1e-6", "Iteration 12: mean reward 5.2, entropy 1.3"),
        *("iter=0012 reward=520.7 ESS=0.9 entropy=-5.7 explained_variance=-12.4", "step 12 ppl 12.5 grad_norm 0.4"),
        *('{"step": 12, "reward": 0.52, "grad_norm": 0.3}', "iter 12 acc 0.95 lr 1e-3", "iter 12 acc 95.1% lr 1e-3"),
        '{"step": 12, "critic/rewards/mean": 0.52, "actor/grad_norm": 0.3, "actor/entropy": 0.1}',
    ],
)
def test_a_step_without_a_loss_is_told_by_how_it_goes_and_what_only_training_has(line: str) -> None:
    found = one(line)
    assert (found.step, found.loss, found.time_s, found.throughput) == (12, None, None, None)


@pytest.mark.parametrize(
    "line",
    [
        *("step 12 reward 3.5", "step 12 lr 0.001", "step 12 acc 0.9 f1 0.8", "step 12: lr 1e-3 momentum 0.9"),
        *("step=10, skipped=0, lr=[6e-06], mom=[[0.9, 0.95]]", "step 5 action 3 reward 0.1 done False"),
        *("step 12 reward_scale 1.0 entropy_coef 0.01 lr 3e-4", "episode 12 reward 5.2 steps 200 lr 1e-3"),
        *("eval step 100 reward 5 entropy 0.1", "best reward at step 100: 5.2 entropy 0.3"),
        *("lr schedule: step 1000 lr 1e-4, step 2000 lr 1e-5", "scheduler.step at iter 100: lr = 0.0001"),
        *("entropy_coef=0.01 kl_coef=0.1 lr=1e-4 steps=1000 clip=0.2", "saving checkpoint at step 12: acc 0.9 lr 1e-3"),
        *("step 5 tokens 12000000", "tokens 1.2B step 100k", "eta 0:10:00 step 12", "log every 100 steps"),
        *("steps_per_epoch=100 batch=16 lr=1e-3 loss=mse", "checkpoint every 100 iters, keep 5", "timing/step: 3"),
        *("Epoch 3: 5/10 correct, loss 2.5", "Epoch 3, 85/100 accuracy, loss 2.5", "Epoch 3 | 2026/05/06 | loss 2.5"),
        *(
            "Step 3/5: loading data took 12.3s",
            "Epoch 3 (7/120)",
            "epoch 3 loss 2.5 time 100 s",
            "env_step 12 loss 2.5",
        ),
        *("warmup for 100 steps took 3 s", "Training for 1000 steps, batch 16", "100 steps left, 12 s / 10 steps"),
    ],
)
def test_what_tells_no_step(line: str) -> None:
    assert read(line) == []


_VALIDATED = ("{} step 7 loss 2.5", "2026-03-04 08:12:21,100 INFO {} step 7/90 loss 2.5 0.25 s/it")


@pytest.mark.parametrize(
    "word",
    [
        *("CV", "val", "valid", "[VAL]", "Val:", "[Eval]", "Test:", "dev", "[dev]", "Dev:", "DEV", "<dev>", "EVAL |"),
        *("Validation -", "Validating:", "evaluating", "held-out", "heldout", "minival", "eval:", "cv |", "Testing:"),
    ],
)
@pytest.mark.parametrize("line", _VALIDATED)
def test_a_validation_is_no_training(word: str, line: str) -> None:
    assert read(line.format(word)) == []


@pytest.mark.parametrize(
    "line",
    [
        *("DEBUG CV Batch 4/100 loss 2.5 history loss 2.4 rank 2", "step 7 cv_loss 2.5", "step 7 CV loss 2.5"),
        *(
            "step 7 dev_loss 2.5",
            "Dev loss at step 7: 2.5",
            "step 7 loss/val 2.5",
            "step 7 loss_val 2.5",
            "val_step=7 loss=2.5",
        ),
        *("validation_step 7 loss 2.5", "step 7/100 [Valid] loss 2.5", "Epoch 3 [val] step 7/90 loss 2.5"),
        *('{"mode": "cv", "step": 7, "loss": 2.5}', '{"split": "dev", "step": 7, "loss": 2.5}'),
        *('{"phase": "TEST", "step": 7, "loss": 2.5}', '{"dataset": "validation", "step": 7, "loss": 2.5}'),
        *('{"step": 7, "dev/loss": 2.5}', '{"step": 7, "cv/loss": 2.5, "cv/acc": 0.5}', '{"step": 7, "val/loss": 2.5}'),
    ],
)
def test_neither_is_one_by_its_names(line: str) -> None:
    assert read(line) == []


@pytest.mark.parametrize(
    "line",
    [
        *("step 7 loss 2.5 cv: 0.1", "step 7 loss 2.5 CV=0.1", "step 7 loss 2.5 dev 0", "dev0 step 7 loss 2.5"),
        *('{"dataset": "test-corpus", "step": 7, "loss": 2.5}', '{"stage": "dev-1", "step": 7, "loss": 2.5}'),
        *(
            "[dev-node] step 7 loss 2.5",
            "step 7 device 0 loss 2.5",
            "cv2 step 7 loss 2.5",
            "step 7 loss 2.5 valid tokens 12",
        ),
    ],
)
def test_such_words_may_mean_something_else(line: str) -> None:
    assert (one(line).step, one(line).loss) == (7, 2.5)


_RANKED = [
    *(
        "[RANK 3] {}",
        "[Rank 3] {}",
        "(rank 3) {}",
        "rank=3 {}",
        "Rank:3 {}",
        "Rank: 3, {}",
        "[rank=3] {}",
        "[rank:3] {}",
    ),
    *("[rank_3] {}", "[rank-3] {}", "<rank 3> {}", "<rank3> {}", "rank3: {}", "rank 3: {}", "RANK3 {}", "Rank 3 | {}"),
    *("[rank 3/8] {}", "Rank[3/8] {}", "global_rank=3 local_rank=1 {}", "node_rank 1 rank 3 {}", "world_rank: 3 {}"),
    *("{} rank=3", "{} rank 3", "{} (rank 3)", "{} rank:3", "{}, world_size 8, rank 3", "INFO:root:rank 3 {}"),
    *(
        "[2026-03-04 08:12:21,100] [INFO] [train.py:120:log] [Rank 3] {}",
        "(RayTrainWorker pid=41, ip=10.0.0.1) [rank 3] {}",
    ),
]
_UNRANKED = [
    *("{}", "R3| {}", "[R3] {}", "GPU 3: {}", "[GPU3] {}", "worker 3: {}", "Process 3: {}", "[3] {}", "3: {}"),
    *("dp_rank=3 {}", "tp_rank 3 {}", "local_rank 3 {}", "node_rank=3 {}", "(TrainActor pid=3, ip=10.0.0.1) {}"),
    *("I1124 13:15:00.123456 140 train.py:33] {}", "2026-03-04 08:12:21.279 | INFO | a.b:log:20 - {}", "INFO:a.b:{}"),
    *(
        "[ Wed Jun  6 16:02:39 2026 ] {}",
        "[0304 08:12:21 @base.py:280] {}",
        "Mar 04 08:12:21 host train[12]: {}",
        "<6>{}",
    ),
    *("1772611940.5 {}", "train.py:120: {}", "(train_fn pid=4312) {} [repeated 3x across cluster]", "{}, lora_rank 3"),
]


@pytest.mark.parametrize("form", [*_RANKED, *_UNRANKED])
def test_a_rank_is_what_calls_itself_one(form: str) -> None:
    found = one(form.format("step 7 loss 2.5 dt=0.25"))
    assert (found.step, found.loss, found.time_s) == (7, 2.5, 0.25)
    assert found.rank == (3 if form in _RANKED else None)


def test_a_rank_before_an_object_is_its_own() -> None:
    assert one('[rank 3] {"step": 7, "loss": 2.5}').rank == 3
    assert one('INFO rank=3: {"step": 7, "loss": 2.5}').rank == 3
    assert one('rank=3 {"step": 7, "loss": 2.5, "rank": 1}').rank == 1
    assert one('local_rank=3 {"step": 7, "loss": 2.5}').rank is None


@pytest.mark.parametrize(
    ("label", "rank", "local_rank"),
    [
        *(("[default3]:", None, 3), ("[trainer0|0]:", 0, 0), ("[trainer3|19]: ", 19, 3), ("[default-3]:", None, 3)),
        *(("[worker3:11]:", 11, 3), ("[rank3]:", 3, None), ("[Rank 3]: ", 3, None), ("[trainers3]:", None, None)),
    ],
)
def test_labels_of_launchers(label: str, rank: int | None, local_rank: int | None) -> None:
    (piece,) = fragments(f"{label}step 7 loss 2.5")
    assert (piece.rank, piece.local_rank) == (rank, local_rank)


@pytest.mark.parametrize(
    "line",
    [
        "iter {iter} | step {step} | loss 2.5 | iter time 125.0ms",
        '{{"iter": {iter}, "step": {step}, "loss": 2.5, "iter_time": 0.125}}',
    ],
)
@pytest.mark.parametrize(("every", "micro"), [(1, 4), (10, 4), (7, 3), (1, 1), (5, 1), (16, 8)])
def test_the_time_of_an_iteration_is_a_part_of_the_step_s(line: str, every: int, micro: int) -> None:
    numbers = range(every, 60 * every, every)
    steps = parse([line.format(iter=number, step=number // micro) for number in numbers]).steps
    assert list(steps["step"]) == list(dict.fromkeys(number // micro for number in numbers))
    assert list(steps["step_time_s"]) == pytest.approx([0.125 * micro] * len(steps))


def test_counters_in_no_ratio_give_no_time() -> None:
    lines = [f"iter {number**2} | step {number} | loss 2.5 | iter time 125.0ms" for number in range(5, 30)]
    assert parse(lines).steps["step_time_s"].isna().all()


@pytest.mark.parametrize("mangled", ["\0\0{}", "{}\0", "\r\0{}", "[1,0]<stdout>:\0{}"])
def test_nuls_are_part_of_no_line(mangled: str) -> None:
    steps = parse([mangled.format(f"st\0ep {n} lo\0ss 2.\0005 dt=0.2\0005s") for n in range(5)]).steps
    assert list(steps["step"]) == list(range(5))
    assert set(steps["step_time_s"]) == {0.25}
    assert set(steps["loss"]) == {2.5}


@pytest.mark.parametrize(
    "line",
    [
        "After 1001 training step(s), loss on training batch is 2.0632.",
        "step 1001 loss over the last minibatch 2.0632",
        "iteration 1001: loss in this batch was 2.0632",
    ],
)
def test_of_what_a_loss_is_may_stand_behind_its_name(line: str) -> None:
    assert (one(line).step, one(line).loss) == (1001, 2.0632)


def test_a_loss_of_an_evaluation_is_none_of_a_step() -> None:
    assert read("step 1001 loss on validation set 2.0632") == []


def test_a_misspelt_counter_is_one() -> None:
    assert one("Itteration 100/1564 loss 2.5").step == 100
