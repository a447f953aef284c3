"""An account that is not the demo: 64 nodes and more, logs of many pages, quotas; and what a finished, a failed, a restarted
and a running job write. Without Streamlit and playwright, which the stub's process has no use for.
"""

from __future__ import annotations

import time

from benchmarks.account import Account, Job, LineSpan

_MINUTE_MS = 60_000
FINISHED, RUNNING, FAILED, RESTARTED, HUGE = (
    f"stranger-{kind}-{place}" for place, kind in enumerate(("finished", "running", "failed", "restarted", "huge"))
)


def training(span: LineSpan) -> list[str]:
    """A step each tenth line, checkpoints and evaluations now and then; a restarted one goes on from its checkpoint."""
    done = 100 * span.attempt
    lines = [] if span.attempt == 0 else [f"resuming from checkpoint at step {done}: /opt/ml/checkpoints"]
    for line in range(span.count - len(lines)):
        step = done + line // 10
        if line % 10 == 0:
            lines.append(f"step {step}/4000 | loss {2 + 5 / (1 + step):.4f} | step time {0.9 + line % 7 / 50:.3f} s")
        elif line % 500 == 5:
            lines.append(f"Saving checkpoint to /opt/ml/checkpoints/step-{step}")
        elif line % 500 == 8:
            lines.append(f"Saved checkpoint /opt/ml/checkpoints/step-{step} in 2.1 s")
        elif line % 900 == 12:
            lines.append(f"Running evaluation at step {step}")
        else:
            lines.append(f"DEBUG worker {line % 16} fetched sample {line} of shard {span.node}")
    return lines


def out_of_memory(span: LineSpan) -> list[str]:
    """The same, and in the end node 2 runs out of GPU memory."""
    lines = training(span)
    if span.node == 2:
        lines[-4:] = [
            "Traceback (most recent call last):",
            '  File "/opt/ml/code/train.py", line 212, in forward',
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of "
            "39.39 GiB of which 1.02 GiB is free.",
            "ERROR:root:the training ended with exit code 1",
        ]
    return lines


def account(page_events: int = 400) -> Account:
    """As of now; its clock goes on."""
    now_ms = round(time.time() * 1000)

    def ago(minutes: float) -> int:
        return now_ms - round(minutes * _MINUTE_MS)

    jobs = (
        Job(name=FINISHED, started_ms=ago(200), nodes=64, minutes=25.0, lines_per_minute=30.0, text=training),
        Job(name=RUNNING, started_ms=ago(30), nodes=64, minutes=60.0, lines_per_minute=30.0, text=training),
        Job(
            name=FAILED,
            started_ms=ago(120),
            nodes=2,
            minutes=40.0,
            lines_per_minute=120.0,
            text=out_of_memory,
            status="Failed",
            failure_reason='AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "CUDA out of memory"',
        ),
        Job(
            name=RESTARTED,
            started_ms=ago(90),
            nodes=4,
            minutes=45.0,
            lines_per_minute=120.0,
            text=training,
            restarts=(15.0, 30.0),
        ),
        Job(name=HUGE, started_ms=ago(10), nodes=256, minutes=60.0, lines_per_minute=20.0, text=training),
    )
    return Account(jobs=jobs, now_ms=now_ms, clock_rate=1.0, page_events=page_events, latency_ms=20.0)
