"""Lines that look like blocks and tables of reports and are something else: none of them gives a step."""

from __future__ import annotations

import pytest

from tests.parse.read import parse

OTHERS = {
    "yaml config": """
trainer:
  max_steps: 1000
  log_every_n_steps: 10
  learning_rate: 0.0003
  loss: mse
  steps: 500
  batch_size: 32
  timeout: 30
model:
  layers: 12
  time: 3600
""",
    "stages of a script": """
Stage 1: reading
Step [1/5] time: 4s
Step [2/5] time: 61s
Step [3/5] time: 12s
Step [4/5] time: 13s
Step [5/5] time: 3s
""",
    "argparse block": """
----- arguments -----
  lr: 0.001
  steps: 1000
  batch: 32
  loss: 0.5
  time: 10
----- end -----
""",
    "aligned options": """
  seed ............................ 1234
  train_iters ..................... 500000
  log_interval .................... 100
  step ............................ 10
  loss_scale ...................... 128
""",
    "nvidia-smi": """
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.85.12    Driver Version: 525.85.12    CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |
| N/A   34C    P0    26W /  70W |   1024MiB / 15360MiB |     12%      Default |
+-------------------------------+----------------------+----------------------+
""",
    "pip list": """
Package      Version
------------ -------
numpy        1.26.4
torch        2.1.0
step         1.0
""",
    "keras summary": """
Layer (type)                 Output Shape              Param #
=================================================================
dense (Dense)                (None, 64)                320
dense_1 (Dense)              (None, 64)                4160
Total params: 4,480
Trainable params: 4,480
""",
    "lightning summary": """
  | Name  | Type   | Params
---------------------------------
0 | model | Net    | 1.2 M
1 | loss  | CrossEntropyLoss | 0
---------------------------------
1.2 M     Trainable params
4.8       Total estimated model params size (MB)
""",
    "eval table": """
| Epoch | Val Loss | Val Acc |
|---|---|---|
| 1 | 2.3 | 0.5 |
| 2 | 2.2 | 0.6 |
""",
    "eval metrics table": """
|    Metric    |  Value |
|--------------|-------|
| test_loss | 0.51 |
| test_acc | 0.8 |
""",
    "lm eval harness": """
|  Tasks  |Version|Filter|n-shot| Metric |   |Value |   |Stderr|
|---------|------:|------|-----:|--------|---|-----:|---|-----:|
|hellaswag|      1|none  |     0|acc     |↑  |0.4325|±  |0.0049|
""",
    "confusion": """
[[120   3]
 [  4 130]]
   0    1
0  120  3
1  4  130
""",
    "classification report": """
              precision    recall  f1-score   support
           0       0.61      0.60      0.61      1000
           1       0.72      0.69      0.71      1000
    accuracy                           0.65      2000
""",
    "torch profiler": """
-------------------------  ------------  ------------  ------------
                     Name    Self CPU %      Self CPU   # of Calls
-------------------------  ------------  ------------  ------------
              aten::conv2d         0.12%      1.234ms            20
           aten::_softmax         1.12%      2.234ms            30
-------------------------  ------------  ------------  ------------
Self CPU time total: 57.549ms
Self CUDA time total: 12.000ms
""",
    "megatron timers": """
(min, max) time across ranks (ms):
    forward-backward ...............................: (2101.23, 2105.44)
    optimizer ......................................: (11.20, 12.30)
time (ms) | forward-compute: 512.10 | backward-compute: 901.20 | optimizer: 10.20
""",
    "disks": """
Filesystem      Size  Used Avail Use% Mounted on
/dev/nvme0n1p1  100G   20G   80G  20% /
tmpfs            32G     0   32G   0% /dev/shm
""",
    "docker ps": """
CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   PORTS   NAMES
0123456789ab   repo:1  "sh"     2 min ago Up 2 minutes     step
""",
    "memory": """
              total        used        free      shared  buff/cache   available
Mem:          64305        1033       60012          10        3259       62566
Swap:             0           0           0
""",
    "processes": """
  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
 1234 root      20   0   10.1g   2.1g   0.1g R 99.9  3.3   1:23.45 python
""",
    "profile of functions": """
   ncalls  tottime  percall  cumtime  percall filename:lineno(function)
       44    0.589    0.013    0.589    0.013 {built-in}
       12    0.351    0.008    0.360    0.008 step.py:78(step)
""",
    "nccl-tests": """
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    56.33   18.62   32.58      0    55.74   18.81   32.92      0
     2097152        524288     float     sum      -1    86.33   24.29   42.51      0    85.74   24.46   42.80      0
""",
    "lr schedule": """
epoch  lr
0  0.001
1  0.0009
2  0.0008
""",
    "vocab table": """
rank | token | count
1 | the | 1234
2 | of | 1000
""",
    "dataset table": """
| split | steps | size |
| train | 1000 | 10 |
| val | 100 | 2 |
""",
    "array dump": """
0.1 0.2 0.3
1 2 3
4 5 6
""",
    "csv data rows": """
id,age,income
1,23,1000
2,24,2000
3,25,3000
""",
    "pandas info": """
 #   Column  Non-Null Count  Dtype  
---  ------  --------------  -----  
 0   step    891 non-null    int64  
 1   loss    891 non-null    float64
""",
    "pandas describe": """
              step         loss
count  1000.000000  1000.000000
mean    500.500000     2.310000
std     288.819436     0.500000
min       1.000000     1.500000
""",
    "recipe steps": """
Step 1/4: install
Step 2/4: download
Step 3/4: build
Step 4/4: run
""",
    "docker build": """
Step 1/12 : FROM python:3.10
 ---> 0123abcd
Step 2/12 : RUN pip install torch
 ---> Running in 4567
Step 3/12 : COPY . .
""",
    "docker buildkit": """
#5 [2/4] RUN pip install
#5 0.512 Collecting torch
#5 DONE 12.3s
#6 [3/4] COPY . .
#6 DONE 0.1s
""",
    "timing of setup": """
data loading time: 3.2s
model build time: 5.1s
compile time: 30.1s
Time: 12.3s
""",
    "evaluation blocks": """
Evaluation step 10
 val loss: 2.3
 val time: 1.2s
Evaluation step 20
 val loss: 2.2
 val time: 1.2s
""",
    "evaluation in a frame": """
----------------------------------
| eval/              |          |
|    mean_ep_length  | 200      |
|    mean_reward     | 12       |
----------------------------------
""",
    "epoch only block": """
Epoch 1/10
----------
train Loss: 0.5 Acc: 0.8
val Loss: 0.4 Acc: 0.81
Epoch 2/10
----------
train Loss: 0.4 Acc: 0.8
val Loss: 0.4 Acc: 0.81
""",
    "checkpoint list": """
step: 1000
path: /ckpt/1000
step: 2000
path: /ckpt/2000
step: 3000
""",
    "slurm table": """
JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)
12345 gpu train me R 1:23:45 4 node[1-4]
""",
    "hyperopt trials": """
| trial | loss | time |
| 1 | 0.5 | 10.2 |
| 2 | 0.4 | 11.2 |
""",
    "bayes opt": """
|   iter    |  target   |     x     |
-------------------------------------
|  1        |  -7.135   |  2.834    |
|  2        |  -7.78    |  2.0      |
""",
    "ray status table": """
+--------------+----------+-------+--------+------------------+
| Trial name   | status   | loc   |   iter |   total time (s) |
|--------------+----------+-------+--------+------------------|
| PPO_00000    | RUNNING  | 1:2   |      1 |            4.123 |
+--------------+----------+-------+--------+------------------+
+--------------+----------+-------+--------+------------------+
| Trial name   | status   | loc   |   iter |   total time (s) |
|--------------+----------+-------+--------+------------------|
| PPO_00000    | RUNNING  | 1:2   |      2 |            8.123 |
+--------------+----------+-------+--------+------------------+
""",
    "json config pretty": """
{
  "steps": 1000,
  "lr": 0.001,
  "loss": 1.0,
  "time": 5
}
""",
    "gpu poll": """
timestamp, index, utilization.gpu [%], memory.used [MiB]
2024/01/01 10:00:00.000, 0, 99 %, 1024 MiB
2024/01/01 10:00:01.000, 0, 98 %, 1024 MiB
""",
    "vmstat": """
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 123456  12345 234567    0    0     1     2    3    4  5  6 89  0  0
 2  0      0 123456  12345 234567    0    0     1     2    3    4  5  6 89  0  0
""",
    "download blocks": """
Download step 1
speed: 12.3 MB/s
time: 3s
Download step 2
speed: 11.2 MB/s
time: 3s
""",
    "benchmark latency": """
batch: 1
latency: 3.2 ms
batch: 2
latency: 3.9 ms
batch: 4
latency: 5.0 ms
""",
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("times", [1, 4])
def test_what_is_no_report_gives_no_step(name: str, times: int) -> None:
    lines = OTHERS[name].strip("\n").splitlines() * times
    assert parse(lines).steps.empty


def test_none_of_it_disturbs_a_report_between() -> None:
    lines = [
        line
        for place, text in enumerate(OTHERS.values())
        for line in [f"step {place} loss 2.5 dt 250.0ms", *text.splitlines()]
    ]
    steps = parse(lines).steps
    assert list(steps["step"]) == list(range(len(OTHERS)))
    assert (steps["step_time_s"] == 0.25).all()
