"""How do everyday trainers print? Bars, dicts, nanoGPT, key=value, vision loops, and those that print nothing of use."""

from __future__ import annotations

from benchmarks.planted.dialect import Dialect, Said, bar, span
from benchmarks.planted.plan import Plan
from benchmarks.planted.reports import Moment, Report

_FOLDER = "/opt/ml/checkpoints"


def _hf_step(plan: Plan, report: Report) -> list[str]:
    drawn = bar(report.step, plan.steps, report.elapsed_s, report.smoothed_s)
    if report.node:
        return [drawn]
    epoch = report.step / (plan.steps_an_epoch or plan.steps)
    told = {"loss": round(report.loss, 4), "grad_norm": round(1.7 / report.step**0.2, 4), "learning_rate": 2e-05}
    return [drawn, str({**told, "epoch": round(epoch, 2)})]


def _hf_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    batches = max(int(moment.seconds * 2.3), 4)
    each = moment.seconds / batches
    drawn = [(k * each, bar(k, batches, k * each, each)) for k in range(0, batches, max(batches // 6, 1))]
    epoch = round(moment.step / (plan.steps_an_epoch or plan.steps), 2)
    told = {"eval_loss": round(moment.loss * 1.02, 4), "eval_runtime": round(moment.seconds, 4), "epoch": epoch}
    return [(0.0, "***** Running Evaluation *****"), *drawn, (moment.seconds - 0.1, str(told))]


def _hf_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    folder = f"{_FOLDER}/checkpoint-{moment.step}"
    return [
        (0.0, f"Saving model checkpoint to {folder}"),
        (0.1, f"Configuration saved in {folder}/config.json"),
        (moment.seconds * 0.8, f"Model weights saved in {folder}/model.safetensors"),
        (moment.seconds * 0.9, f"tokenizer config file saved in {folder}/tokenizer_config.json"),
    ]


def _hf_opening(plan: Plan) -> list[str]:
    return [
        "***** Running training *****",
        f"  Num examples = {plan.steps * plan.batch:,}",
        f"  Total train batch size (w. parallel, distributed & accumulation) = {plan.batch}",
        f"  Total optimization steps = {plan.steps:,}",
        f"  Number of trainable parameters = {int(plan.parameters):,}",
        bar(0, plan.steps, 0, 1).rpartition(",")[0] + ", ?it/s]",
    ]


HF = Dialect(_hf_step, _hf_evaluation, _hf_checkpoint, _hf_opening)


def _nanogpt_step(plan: Plan, report: Report) -> list[str]:
    # The script's constant is the peak of an A100, whatever it runs on.
    mfu = plan.mfu * plan.hardware.peak_tflops / 312 * plan.pace.step_s * report.tokens / report.last_wall_s * 100
    return [f"iter {report.step}: loss {report.loss:.4f}, time {report.last_wall_s * 1000:.2f}ms, mfu {mfu:.2f}%"]


def _nanogpt_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    text = f"step {moment.step}: train loss {moment.loss:.4f}, val loss {moment.loss * 1.02:.4f}"
    return [(moment.seconds - 0.1, text)]


def _nanogpt_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    return [(0.0, f"saving checkpoint to {_FOLDER}")]


def _nanogpt_opening(plan: Plan) -> list[str]:
    return [
        f"tokens per iteration will be: {plan.batch * plan.sequence:,}",
        f"number of parameters: {plan.parameters / 1e6:.2f}M",
        "compiling the model... (takes a ~minute)",
    ]


NANOGPT = Dialect(_nanogpt_step, _nanogpt_evaluation, _nanogpt_checkpoint, _nanogpt_opening)


def _pairs_step(plan: Plan, report: Report) -> list[str]:
    took = report.own_s if plan.printing == "own" else report.mean_s
    rate = plan.batch * report.tokens / report.mean_s
    rank = "" if plan.printing == "rank0" else f"rank={report.rank} "
    tokens = f" tokens={int(plan.batch * plan.sequence * report.tokens)}" if report.tokens != 1 else ""
    return [f"{rank}step={report.step} loss={report.loss:.4f} step_time_s={took:.4f} samples_per_s={rate:.2f}{tokens}"]


def _pairs_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    return [
        (0.0, f"starting evaluation at step {moment.step}"),
        (
            moment.seconds - 0.1,
            f"validation at step {moment.step}: val_loss={moment.loss:.4f} elapsed={moment.seconds:.1f}s",
        ),
    ]


def _pairs_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    path = f"{_FOLDER}/step_{moment.step}.pt"
    return [
        (0.0, f"saving checkpoint {path}"),
        (moment.seconds - 0.05, f"saved checkpoint {path} ({moment.seconds:.1f}s)"),
    ]


def _pairs_opening(plan: Plan) -> list[str]:
    return [f"config: max_steps={plan.steps} batch_size={plan.batch} seq_len={plan.sequence} lr=0.0003"]


PAIRS = Dialect(_pairs_step, _pairs_evaluation, _pairs_checkpoint, _pairs_opening)


def _lightning_step(plan: Plan, report: Report) -> list[str]:
    length = plan.steps_an_epoch or plan.steps
    epoch, inside = divmod(report.step - 1, length)
    mean = report.elapsed_s / report.step
    behind = f", v_num=0, train_loss={report.loss:.3g}"
    return [bar(inside + 1, length, mean * (inside + 1), mean, f"Epoch {epoch}: ", behind)]


def _lightning_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    batches = max(int(moment.seconds * 1.7), 4)
    each = moment.seconds / batches
    front = "Validation DataLoader 0: "
    return [(k * each, bar(k, batches, k * each, each, front)) for k in {0: 0, batches // 2: 0, batches: 0}]


def _lightning_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    epoch = (moment.step - 1) // (plan.steps_an_epoch or plan.steps)
    path = f"{_FOLDER}/epoch={epoch}-step={moment.step}.ckpt"
    text = f"Epoch {epoch}, global step {moment.step}: 'train_loss' reached {moment.loss:.5f}, saving model to '{path}' as top 1"
    return [(0.0, text)]


LIGHTNING = Dialect(_lightning_step, _lightning_evaluation, _lightning_checkpoint)


def _vision_step(plan: Plan, report: Report) -> list[str]:
    length = plan.steps_an_epoch or plan.steps
    epoch, inside = divmod(report.step - 1, length)
    left = span((length - inside) * report.mean_s)
    return [
        f"Epoch: [{epoch}]  [{inside:5d}/{length}]  eta: {left if left.count(':') == 2 else '0:' + left}  lr: 0.1"
        f"  img/s: {plan.batch / plan.world / report.mean_s:.3f}  loss: {report.loss:.4f} ({report.loss * 1.1:.4f})"
        f"  time: {report.mean_s:.4f}  data: {report.mean_s * 0.01:.4f}"
        f"  max mem: {int(plan.hardware.gpu_gib * plan.levels.memory * 10.24)}"
    ]


def _vision_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    batches = max(int(moment.seconds * 3.1), 4)
    each = moment.seconds / batches
    drawn = [
        (k * each, f"Test:   [{k:3d}/{batches}]  eta: 0:{span((batches - k) * each)}  loss: 1.1  time: {each:.4f}")
        for k in range(0, batches, max(batches // 5, 1))
    ]
    return [*drawn, (moment.seconds - 0.1, f"Test:  Acc@1 {70 - 8 * moment.loss:.3f} Acc@5 90.112")]


def _vision_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    return [(0.0, f"Saving checkpoint to {_FOLDER}/model_{moment.step}.pth")]


VISION = Dialect(_vision_step, _vision_evaluation, _vision_checkpoint)


def _quiet_step(plan: Plan, report: Report) -> list[str]:
    return (
        [f"[{report.clock:%H:%M:%S}] objective now {report.loss:.3f}"]
        if report.step % (plan.log_every * 5) == 0
        else []
    )


def _quiet_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    return [(0.0, "starting validation"), (moment.seconds - 0.1, f"validation loss: {moment.loss:.4f}")]


def _quiet_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    return [(0.0, f"saving checkpoint to {_FOLDER}/last"), (moment.seconds - 0.1, "checkpoint saved")]


QUIET = Dialect(_quiet_step, _quiet_evaluation, _quiet_checkpoint)
