"""How do trainers of large models print? Megatron, DeepSpeed, torchtitan and the model-parallel samples."""

from __future__ import annotations

from benchmarks.planted.dialect import Dialect, Said, stamp
from benchmarks.planted.plan import Plan
from benchmarks.planted.reports import Moment, Report

_FOLDER = "/opt/ml/checkpoints"


def _megatron_step(plan: Plan, report: Report) -> list[str]:
    tflops = plan.mfu * plan.hardware.peak_tflops * plan.pace.step_s * report.tokens / report.mean_s
    bad = int(report.loss != report.loss)
    return [
        f" [{report.clock:%Y-%m-%d %H:%M:%S}.{report.clock.microsecond:06d}] iteration {report.step:8d}/{plan.steps:8d} |"
        f" consumed samples: {report.step * plan.batch:12d} |"
        f" elapsed time per iteration (ms): {report.mean_s * 1000:.1f} |"
        f" throughput per GPU (TFLOP/s/GPU): {tflops:.1f} | learning rate: {_rate_of(plan, report.step):.6E} |"
        f" global batch size: {plan.batch:5d} | lm loss: {report.loss:.6E} | loss scale: 1.0 |"
        f" grad norm: {1.9 / report.step**0.2:.3f} | number of skipped iterations: {bad:3d} |"
        f" number of nan iterations: {bad * report.steps:3d} |"
    ]


def _rate_of(plan: Plan, step: int) -> float:
    return 3e-4 * min(1.0, 20 * step / plan.steps)


_WELL_FILLED_PCT = 70.0


def _megatron_opening(plan: Plan) -> list[str]:
    told = {
        "global_batch_size": plan.batch,
        "log_interval": plan.log_every,
        "seq_length": plan.sequence,
        "pipeline_model_parallel_size": plan.pipeline_parallel,
        "tensor_model_parallel_size": plan.tensor_parallel,
        "train_iters": plan.steps,
        # Who fills the memory shares out the optimizer state.
        "use_distributed_optimizer": plan.levels.memory > _WELL_FILLED_PCT,
        "world_size": plan.world,
    }
    parts = plan.tensor_parallel * plan.pipeline_parallel
    held = int(plan.parameters / parts)
    return [
        f"using world size: {plan.world}, data-parallel size: {plan.world // parts},"
        f" tensor-model-parallel size: {plan.tensor_parallel},"
        f" pipeline-model-parallel size: {plan.pipeline_parallel}",
        "------------------------ arguments ------------------------",
        *(f"  {name} {'.' * (47 - len(name))} {value}" for name, value in told.items()),
        "-------------------- end of arguments ---------------------",
        *(
            f" > number of parameters on (tensor, pipeline) model parallel rank ({tensor}, {stage}): {held}"
            for stage in range(plan.pipeline_parallel)
            for tensor in range(plan.tensor_parallel)
        ),
        "[before the start of training step] datetime: 2026-01-01 00:00:00",
    ]


def _megatron_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    loss = moment.loss * 1.03
    text = f" validation loss at iteration {moment.step} | lm loss value: {loss:.6E} | lm loss PPL: {2.718**loss:.6E} |"
    line = "-" * len(text)
    return [(moment.seconds - 0.1, line), (moment.seconds - 0.1, text), (moment.seconds - 0.1, line)]


def _megatron_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    return [
        (0.0, f"saving checkpoint at iteration {moment.step:7d} to {_FOLDER}/gpt in torch_dist format"),
        (moment.seconds - 0.2, f"  successfully saved checkpoint from iteration {moment.step:7d} to {_FOLDER}/gpt"),
    ]


MEGATRON = Dialect(_megatron_step, _megatron_evaluation, _megatron_checkpoint, _megatron_opening)


def _deepspeed_head(moment: Report | Moment, where: str) -> str:
    return f"[{stamp(moment.clock)}] [INFO] [{where}]"


def _deepspeed_step(plan: Plan, report: Report) -> list[str]:
    held = plan.hardware.gpu_gib * plan.levels.memory / 100
    lines = [
        f"{_deepspeed_head(report, 'logging.py:96:log_dist')} [Rank 0] step={report.step}, skipped=0,"
        f" lr=[{_rate_of(plan, report.step):.8f}], mom=[(0.9, 0.95)]",
        f"{_deepspeed_head(report, 'timer.py:260:stop')} epoch=0/micro_step={report.step * 4}/global_step={report.step},"
        f" RunningAvgSamplesPerSec={plan.batch * report.step / report.elapsed_s:.4f},"
        f" CurrSamplesPerSec={plan.batch / report.last_s:.4f}, MemAllocated={held * 0.7:.2f}GB,"
        f" MaxMemAllocated={held * 0.96:.2f}GB",
        f"step {report.step}/{plan.steps} | loss {report.loss:.4f} | {report.mean_s:.3f} s/step",
    ]
    if report.flushes:
        lines.append(
            f"[{stamp(report.clock)}] [WARNING] [stage3.py:1850:step] {report.flushes} pytorch allocator cache flushes"
            " since last step. this happens when there is high memory pressure and is detrimental to performance."
        )
    return lines


def _deepspeed_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    loss = moment.loss * 1.02
    return [
        (0.0, f"***** Running evaluation at step {moment.step} *****"),
        (moment.seconds - 0.1, f"eval_loss: {loss:.4f}, perplexity: {2.718**loss:.3f}"),
    ]


def _deepspeed_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    tag = f"{_FOLDER}/global_step{moment.step}"
    return [
        (0.0, f"{_deepspeed_head(moment, 'logging.py:96:log_dist')} [Rank 0] Saving model checkpoint: {tag}"),
        (0.4, f"{_deepspeed_head(moment, 'torch_checkpoint_engine.py:21:save')} [Torch] Saving {tag}/shard_0.pt..."),
        (moment.seconds - 0.3, f"[INFO] [torch_checkpoint_engine.py:23:save] [Torch] Saved {tag}/shard_0.pt."),
        (moment.seconds - 0.2, f"[INFO] [engine.py:3221:_save_zero_checkpoint] zero checkpoint saved {tag}/shard_0.pt"),
    ]


def _deepspeed_opening(plan: Plan) -> list[str]:
    return [
        "[INFO] [config.py:987:print] DeepSpeedEngine configuration:",
        f"[INFO] [config.py:991:print]   train_batch_size ............. {plan.batch}",
        f"[INFO] [config.py:991:print]   world_size ................... {plan.world}",
        "[INFO] [config.py:991:print]   zero_optimization_stage ...... 3",
    ]


DEEPSPEED = Dialect(_deepspeed_step, _deepspeed_evaluation, _deepspeed_checkpoint, _deepspeed_opening)


def _titan_head(plan: Plan, report: Report | Moment, node: int) -> str:
    return f"[rank{plan.first_rank(node)}]:[titan] {stamp(report.clock)} - root - INFO -"


def _titan_step(plan: Plan, report: Report) -> list[str]:
    tokens = plan.batch * plan.sequence * report.tokens / plan.world
    held = plan.levels.memory
    mfu = plan.mfu * 100 * plan.pace.step_s * report.tokens / report.wall_mean_s
    return [
        f"{_titan_head(plan, report, report.node)} step: {report.step:2d}  loss: {report.loss:7.4f}"
        f"  grad_norm: {2 / report.step**0.2:7.4f}"
        f"  memory: {plan.hardware.gpu_gib * held / 100:5.2f}GiB({held:.2f}%)  tps: {tokens / report.wall_mean_s:,.0f}"
        f"  tflops: {mfu * plan.hardware.peak_tflops / 100:,.2f}  mfu: {mfu:.2f}%"
    ]


def _titan_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    end = f"validate step: {moment.step}  loss: {moment.loss * 1.02:7.4f}"
    return [(moment.seconds - 0.1, f"{_titan_head(plan, moment, 0)} {end}")]


def _titan_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    head = _titan_head(plan, moment, 0)
    return [
        (0.0, f"{head} Saving the checkpoint (or staging if async is enabled)."),
        (moment.seconds - 0.1, f"{head} Finished saving the checkpoint (or staging) in {moment.seconds:.2f} seconds."),
    ]


def _titan_each_node(plan: Plan, node: int) -> list[str]:
    head = f"[rank{plan.first_rank(node)}]:[titan] - root - INFO -"
    return [
        f"{head} Model llama size: {int(plan.parameters):,} total parameters",
        f"{head} Training starts at step 1, with local batch size {max(plan.batch // plan.world, 1)}, global batch size"
        f" {plan.batch}, sequence length {plan.sequence}, total steps {plan.steps}",
    ]


TORCHTITAN = Dialect(_titan_step, _titan_evaluation, _titan_checkpoint, each_node=_titan_each_node)


def _smp_step(plan: Plan, report: Report) -> list[str]:
    speed = plan.batch * report.tokens / report.last_s
    tflops = 8 / 6 * plan.mfu * plan.hardware.peak_tflops * plan.pace.step_s * report.tokens / report.last_s
    return [
        f"({int(report.elapsed_s)}s), Batch {report.step - 1} Loss: {report.loss:.4f}, Speed: {speed:.2f} samples/sec,"
        f" TFLOPS/GPU: {tflops:.2f}"
    ]


def _smp_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    return [
        (0.0, "Running evaluation"),
        (moment.seconds - 0.1, f"Batch {moment.step - 1} Validation loss: {moment.loss * 1.02:.4f}"),
    ]


def _smp_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    return [
        (0.0, f"Saving checkpoint at step {moment.step} to {_FOLDER}/trained_gpt-{moment.step}"),
        (moment.seconds - 0.1, f"Finished checkpointing after {moment.step} steps: {_FOLDER}"),
    ]


SMP = Dialect(_smp_step, _smp_evaluation, _smp_checkpoint)


def _vit_step(plan: Plan, report: Report) -> list[str]:
    return [f"step: {report.step}: step time is {report.elapsed_s:.4f}"]


def _vit_evaluation(plan: Plan, moment: Moment) -> list[Said]:
    return [(0.0, "start validation"), (moment.seconds - 0.1, f"validation loss: {moment.loss:.4f}")]


def _vit_checkpoint(plan: Plan, moment: Moment) -> list[Said]:
    return [(0.0, f"saving checkpoint {moment.step}"), (moment.seconds - 0.1, f"checkpoint saved to {_FOLDER}")]


VIT = Dialect(_vit_step, _vit_evaluation, _vit_checkpoint)
