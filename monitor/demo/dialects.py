"""The steps of a sample job as its log has them. One function a dialect: a span goes in, lines come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from monitor.demo.story import Attempt, SampleJob, SlowNode, Story, StorySpan

Speak = Callable[[StorySpan], Iterable[str]]
CHECKPOINTS = "/opt/ml/checkpoints"


def speaker(job: SampleJob, attempt: Attempt, node: str) -> Speak | None:
    """Turns a step or a checkpoint into the lines that this node's stream gets at the span's end; None: it is mute."""
    story = job.story
    if node in story.data_nodes:
        return None
    match story.dialect:
        case "smp-v1":
            return _smp_v1(story) if node == story.leader else None
        case "cumulative":
            return _cumulative(story) if node == story.leader else None
        case "smp-v2":
            return _smp_v2(story, attempt) if node == story.leader else None
        case "logging":
            return _logging(story, attempt, node)
        case "tqdm":
            return TqdmBar(story).lines


def _smp_v1(story: Story) -> Speak:
    """The GPT sample of SMP v1: whole seconds since training began, and the speed of the last step alone."""
    per_node = story.processes_per_node

    def speak(span: StorySpan) -> Iterable[str]:
        if span.kind == "checkpoint":
            yield from (rank_line(0, text, per_node) for text in _saved(span))
        elif (span.step + 1) % story.log_every == 0:
            speed = story.units_per_step / span.seconds
            tflops = f", TFLOPS/GPU: {story.tflops_factor / span.seconds}" if story.tflops_factor else ""
            clock = int(span.end_s - story.setup_s)
            text = f"({clock}s), Batch {span.step} Loss: {_half(span.loss)}, Speed: {speed} samples/sec{tflops}"
            yield rank_line(0, text, per_node)

    return speak


def _cumulative(story: Story) -> Speak:
    """A loop that never resets its t0: each value is the time since the beginning."""
    per_node = story.processes_per_node
    printed_s: list[float] = []

    def speak(span: StorySpan) -> Iterable[str]:
        if span.kind == "checkpoint":
            yield from (rank_line(0, text, per_node) for text in _saved(span))
        elif (span.step + 1) % story.log_every == 0:
            printed_s.append(span.end_s - story.setup_s)
            yield rank_line(0, f"step: {span.step + 1}: step time is {printed_s[-1]}", per_node)
        if span.step + 1 == story.steps:
            yield rank_line(0, f"average step time: {sum(printed_s) / len(printed_s)}", per_node)

    return speak


def _smp_v2(story: Story, attempt: Attempt) -> Speak:
    """The samples of SMP v2: a logger's clock, speed and learning rate."""

    def speak(span: StorySpan) -> Iterable[str]:
        at = attempt.began + timedelta(seconds=span.end_s)
        head = f"{at:%Y-%m-%d %H:%M:%S} I [logging_utils.py:137]"
        if span.kind == "checkpoint":
            yield from (f"{head} {text}" for text in _saved(span))
        elif (span.step + 1) % story.log_every == 0:
            speed = story.units_per_step / span.seconds
            warm = min(1.0, (span.step + 1) / 500)
            yield (
                f"{head} Batch {span.step} Loss: {span.loss:.5f}, Speed: {speed:.2f} samples/sec, Model TFLOPS/GPU: "
                f"{story.tflops_factor / span.seconds:.2f}, lr: {0.0003 * warm:.6f}, gradnorm: {0.4 + 1 / warm:.4f}"
            )

    return speak


def _logging(story: Story, attempt: Attempt, node: str) -> Speak:
    """Python's logging with the node's own time for its share of the step."""
    slow = isinstance(story.fault, SlowNode) and story.fault.node == node
    share = story.units_per_step / len(story.training_nodes)

    def speak(span: StorySpan) -> Iterable[str]:
        at = attempt.began + timedelta(seconds=span.end_s)
        if span.kind == "checkpoint":
            if node == story.leader:
                yield from (script_line(at, text) for text in _saved(span))
        elif (span.step + 1) % story.log_every == 0:
            step_s = span.seconds if slow else span.own_s
            # The nodes of one step differ by a little: each has its own data.
            step_s *= 1 + 0.004 * ((span.step * 7 + int(node[5:]) * 13) % 11 - 5) / 5
            speed = f"throughput={share / step_s:.1f} {story.unit}"
            yield script_line(at, f"step={span.step + 1} step_time_s={step_s:.4f} loss={span.loss:.4f} {speed}")

    return speak


class TqdmBar:
    """A progress bar with tqdm's arithmetic: the rate is a mean that forgets, and the last one is over everything."""

    BLOCKS = " ▏▎▍▌▋▊▉█"
    SMOOTHING = 0.3

    def __init__(self, story: Story) -> None:
        self._story = story
        self._seconds_a_step = 0.0
        self._weight = 1.0

    def lines(self, span: StorySpan) -> Iterable[str]:
        story, done = self._story, span.step + 1
        if span.kind != "step":
            yield f"Saving model checkpoint to {CHECKPOINTS}/checkpoint-{span.step}"
            return
        self._weight *= 1 - self.SMOOTHING
        self._seconds_a_step += self.SMOOTHING * (span.seconds - self._seconds_a_step)
        elapsed_s = span.end_s - story.setup_s
        last = done == story.steps
        step_s = elapsed_s / done if last else self._seconds_a_step / (1 - self._weight)
        rate = f"{step_s:.2f}s/it" if step_s > 1 else f"{1 / step_s:.2f}it/s"
        eighths = round(done / story.steps * 80)
        bar = "█" * (eighths // 8) + (self.BLOCKS[eighths % 8] if eighths % 8 else "")
        left = _clock((story.steps - done) * step_s)
        yield f"{done / story.steps:.0%}|{bar:<10}| {done}/{story.steps} [{_clock(elapsed_s)}<{left}, {rate}]"
        if done % story.log_every == 0:
            rate_left = 5e-05 * (1 - done / story.steps)
            epoch = 3 * done / story.steps
            values = {"loss": f"{span.loss:.4g}", "learning_rate": f"{rate_left:.4g}", "epoch": f"{epoch:.4g}"}
            yield str(values)
        if last:
            yield str({"train_runtime": f"{elapsed_s:.4g}", "train_steps_per_second": f"{done / elapsed_s:.4g}"})


def _saved(span: StorySpan) -> list[str]:
    return [f"Saved checkpoint to {CHECKPOINTS}/step_{span.step} in {span.seconds:.2f}s"]


def _half(loss: float) -> float:
    """As a half-precision loss prints: a multiple of a 64th."""
    return round(loss * 64) / 64


def rank_line(rank: int, text: str, per_node: int, channel: str = "stdout") -> str:
    """A line of one rank as mpirun forwards it and the toolkit rewrites it; the host is arithmetic."""
    return f"[1,mpirank:{rank},algo-{rank // per_node + 1}]<{channel}>:{text}"


def script_line(moment: datetime, text: str) -> str:
    """A line of the user's own logger."""
    return f"{timestamp(moment, ',')} INFO train: {text}"


def timestamp(moment: datetime, point: str) -> str:
    """To the millisecond, behind a comma or a dot."""
    return f"{moment:%Y-%m-%d %H:%M:%S}{point}{moment.microsecond // 1000:03d}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
