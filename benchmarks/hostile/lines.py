"""Real log lines, damaged: bit flips, digits that explode, cuts, splices, nesting, other alphabets, NULs, huge lines.

All of it follows from a seed, so that a run that fails can be run again.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[2]
#: So many lines of a log are mutated at a time.
WINDOW = 120
_HUGE = 100_000
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")

#: Numbers that break what reads them without a bound.
EXTREMES = (
    *(
        "3000000000",
        "-3000000000",
        "2147483648",
        "9223372036854775808",
        "18446744073709551616",
        "-1",
        "0",
        "00",
        "1e400",
    ),
    *(
        "-1e400",
        "1e-400",
        "nan",
        "inf",
        "-Infinity",
        "9" * 15,
        "9" * 16,
        "9" * 30,
        "9" * 320,
        "9" * 5000,
        "0." + "0" * 400,
    ),
    *("1_000", "1,2,3", "0x1F", "٣٤٥", "²", "1" + "." * 50, "99:99:99", "9" * 400 + ":00", "1/0", "0/0", "", "%", "{}"),
)
#: Whole lines that once cost a review, or that are made to.
PLANTED = (
    '{"rank": 3000000000, "step": 5, "loss": 1.0, "step_time": 0.5}',
    '{"rank": -3, "step": 5, "loss": 1.0, "step_time": 0.5}',
    '{"rank": 1e300, "step": 1e300, "loss": 1e308, "step_time": 1e308}',
    "step=5 step_time_s=0.5 rank=3000000000",
    "step=5 step_time_s=0.5 rank=99999999999999999999999",
    '{"step": 5, "loss": 1, "' + "a/" * 1200 + 'time": 2}',
    '{"step": 5, "loss": 1, "' + "l_" * 1200 + 'x": 2}',
    '{"step": 5, "loss": 1, "' + "a (" * 1200 + 's)": 2}',
    f'{{"step": {"9" * 320}, "loss": 1.0, "step_time": 0.5}}',
    f'{{"step": 5, "loss": {"9" * 320}, "step_time": {"9" * 320}}}',
    f"step {'9' * 320}/{'9' * 320} loss=1.0 dt=96.1ms",
    "18446744073709551616it [00:10, 2.1it/s, loss=1.0]",
    " 50%|#####     | 18446744073709551616/18446744073709551617 [00:10<00:10, 2.1it/s]",
    f" 50%|##| 1/2 [{'9' * 300}:00:00<00:10, 2.1it/s]",
    '{"step": ' + "[" * 5000 + "]" * 5000 + ', "loss": 1}',
    '{"step": 1, "loss": ' * 3000,
    "{" * 5000 + '"step": 1' + "}" * 5000,
    "[1,mpirank:999999999,algo-999999999]<stdout>:step=5 step_time_s=0.5",
    "[rank999999999]: step=5 step_time_s=0.5",
    "[task999999999]: step=5 step_time_s=0.5",
    "[default999999999:999999999]:step=5 step_time_s=0.5",
    'SM_TRAINING_ENV={"hosts": [1, {}], "num_gpus": 1e999, "instance_groups": [{"hosts": [[]], "instance_type": {}}]}',
    'SM_TRAINING_ENV={"hosts": ["algo-1"], "num_gpus": 99999999999999999999, "current_host": 5}',
    'SM_TRAINING_ENV={"instance_groups": [{"hosts": "algo-1", "instance_type": 5, "instance_group_name": []}]}',
    'SM_RESOURCE_CONFIG={"current_host": true, "hosts": ["a", "a"], "num_cpus": -1}',
    'SM_HPS={"mp_parameters": [], "' + "9" * 400 + '": ' + "9" * 400 + "}",
    'SM_HPS={"batch_size": ' + "9" * 400 + ', "mp_parameters": {"pipeline_parallel_degree": ' + "9" * 400 + "}}",
    'SM_HPS={"batch_size": 1e400, "world_size": -1, "mp_parameters": {"partitions": 0, "microbatches": NaN}}',
    "mpirun --host algo-1:999999,algo-2:999999 -np 9 python train.py",
    "torchrun --nnodes=999999 --nproc_per_node=999999 --node_rank=999998 train.py",
    "torchrun --nnodes=0 --nproc_per_node=0 --node_rank=0 train.py",
    "Process rank: 999999999",
    "***** Total optimization steps = 999,999,999,999,999,9",
    "2026-03-04 99:39:26 Training - x",
    "9999-12-31 23:59:59 Failed - x",
    "2026-03-04 08:39:26 Completed - Training job completed",
    "Training seconds: 999999999999",
    "Billable seconds: 999999999999",
    f"exits with return code = {'9' * 5000}",
    f"ExitCode -{'9' * 5000}",
    f"  rank      : {'9' * 5000} (local_rank: {'9' * 5000})",
    f"failed (exitcode: -{'9' * 400}) local_rank: {'9' * 400}",
    f"noticed that process rank {'9' * 400} with PID 1 on node algo-1 exited on signal {'9' * 400}",
    f"srun: error: algo-1: tasks {'9' * 400}: Exited with exit code {'9' * 400}",
    f"MPI_ABORT was invoked on rank {'9' * 400}",
    "[Rank 999999] (after 1 iterations) memory (MB) | allocated: 999999999.0 | max allocated: 999999999.0",
    f"CUDA out of memory. Tried to allocate {'9' * 300} GiB. GPU 0 has {'9' * 300} GiB total capacity",
    f"Timed out waiting {'9' * 400} ms for send operation to complete",
    f"  world_size ................................ {'9' * 400}",
    f"modelparallel/backend/config.py:1]  pipeline_parallel_degree: {'9' * 400}",
    f"modelparallel/backend/config.py:1]  microbatches: -{'9' * 400}",
    "modelparallel/backend/config.py:1]  partitions: 1e400",
    f"  global_batch_size ................. {'9' * 40}",
    f"number of parameters: {'9' * 400}",
    f"model size: {'9' * 400}B parameters",
    "loss: nan",
    "Traceback (most recent call last):",
    'File "train.py", line 9999999, in main',
    "RuntimeError: " + "x" * 5000,
    "\x1b[31m\x1b[A\x1b]0;title\x07step=1 step_time_s=1\r\r\r",
    "\x00" * 300,
    "\u202estep=1 step_time_s=1\u202c",
    "step=١٢ step_time_s=٣",
    "﻿step=1 step_time_s=1",
    '{"_aws": {"Timestamp": 1e400}, "step": 1, "loss": 1}',
    ":::MLLOG {" + '"a":' * 500 + "1",
    "| step | loss |\n| 1 | 2 |",
    "step,loss,time\n1,2,3",
)


@cache
def logs() -> dict[str, tuple[bytes, ...]]:
    """Lines of each log of the project's own data and, where it is there, of the shared corpus, by name."""
    found = [*_ROOT.glob("tests/data/formats/*.log"), *_ROOT.parent.glob("shared/corpus/logs/*.log")]
    return {path.name: tuple(path.read_bytes().split(b"\n")) for path in sorted(found)}


def mutated(seed: int) -> list[bytes]:
    """A window of a real log with a few of its lines damaged and a few planted."""
    rng = random.Random(seed)
    lines = rng.choice(list(logs().values()))
    start = rng.randrange(max(1, len(lines) - WINDOW))
    out = list(lines[start : start + WINDOW])
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(out))
        out[at] = rng.choice(MUTATIONS)(rng, out[at])
    for _ in range(rng.randint(0, 3)):
        out.insert(rng.randrange(len(out) + 1), rng.choice(PLANTED).encode())
    return [line.replace(b"\n", b" ") for line in out]


def _flip(rng: random.Random, line: bytes) -> bytes:
    out = bytearray(line or b" ")
    for _ in range(rng.randint(1, 8)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _explode(rng: random.Random, line: bytes) -> bytes:
    """One number, or all of them, become an extreme one."""
    share = rng.choice((0.2, 1.0))
    return _NUMBER.sub(lambda m: rng.choice(EXTREMES).encode() if rng.random() < share else m[0], line)


def _cut(rng: random.Random, line: bytes) -> bytes:
    a, b = sorted((rng.randint(0, len(line)), rng.randint(0, len(line))))
    return rng.choice((line[:b], line[a:], line[a:b]))


def _splice(rng: random.Random, line: bytes) -> bytes:
    other = rng.choice(rng.choice(list(logs().values())))
    return _cut(rng, line) + rng.choice((b"", b" ", b"\r", b"\x1b[A")) + _cut(rng, other)


def _nest(rng: random.Random, line: bytes) -> bytes:
    opening, closing = rng.choice(
        ((b"{", b"}"), (b"[", b"]"), (b"(", b")"), (b'{"a": ', b"}"), (b'"', b'"'), (b"a/", b""))
    )
    depth = rng.choice((3, 50, 1500))
    at = rng.randint(0, len(line))
    return line[:at] + opening * depth + line[at:] + closing * depth


def _letters(rng: random.Random, line: bytes) -> bytes:
    strange = rng.choice(
        ("\u202e", "٣", "²", "\u0085", "\u2028", "😀", "e\u0301" * 20, "\ufeff", "\u00a0", "ﬁ", "İ", "ß")
    )
    at = rng.randint(0, len(line))
    return line[:at] + rng.choice((strange.encode(), strange.encode()[:1], b"\xff\xfe", b"\xed\xa0\x80")) + line[at:]


def _controls(rng: random.Random, line: bytes) -> bytes:
    at = rng.randint(0, len(line))
    sign = rng.choice(
        (b"\x00", b"\r", b"\b", b"\x1b[", b"\x1b]8;;", b"\x0b", b"\x1c", b"#033[A", b"#015", b"\x7f", b"\x9b")
    )
    return line[:at] + sign * rng.choice((1, 1, 40)) + line[at:]


def _huge(rng: random.Random, line: bytes) -> bytes:
    piece = _cut(rng, line) or b"1 "
    return (piece * (_HUGE // len(piece) + 1))[: rng.choice((9_000, _HUGE))]


def _swap(rng: random.Random, line: bytes) -> bytes:
    """Its words in another order, or one of them many times."""
    words = line.split(b" ")
    rng.shuffle(words)
    return b" ".join(words[: rng.randint(1, len(words))] * rng.choice((1, 1, 9)))


Mutation = Callable[[random.Random, bytes], bytes]
MUTATIONS: tuple[Mutation, ...] = (_flip, _explode, _explode, _cut, _splice, _nest, _letters, _controls, _huge, _swap)


def first_seed() -> int:
    """Where seeds begin: ``ATTACK_SEED``, else 0."""
    return int(os.environ.get("ATTACK_SEED", "0"))
