"""Events are known by their line alone; look-alikes are none."""

from __future__ import annotations

import pytest

from monitor.model import LogPage
from monitor.parse.events.marks import GATES, MARKS
from monitor.parse.recognise import RawRows
from tests.parse.read import parse


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Saving model checkpoint to /opt/ml/checkpoints/checkpoint-500", "checkpoint-begin"),
        ("saving checkpoint at iteration     200 to /fsx/run", "checkpoint-begin"),
        ("  successfully saved checkpoint at iteration     200 to /fsx/run", "checkpoint-end"),
        ("Finished checkpointing after 100 steps: /opt/ml/checkpoints", "checkpoint-end"),
        ("Model weights saved in /opt/ml/checkpoints/checkpoint-500/pytorch_model.bin", "checkpoint-end"),
        ("  successfully saved checkpoint from iteration     200 to /fsx/run [ t 1/2, p 1/1 ]", "checkpoint-end"),
        ("Finished checkpointing to /opt/ml/checkpoints/llama-900steps.", "checkpoint-end"),
        ("Checkpointing to /opt/ml/checkpoints/llama-900steps ...", "checkpoint-begin"),
        ("[titan] Finished saving the checkpoint (or staging if async is enabled) in 4.20 seconds.", "checkpoint-end"),
        ("[titan] Saving the checkpoint (or staging if async is enabled).", "checkpoint-begin"),
        ("[torch_checkpoint_engine.py:23:save] [Torch] Saving /fsx/g/mp_rank_00_states.pt...", None),
        ("[torch_checkpoint_engine.py:25:save] [Torch] Saved /fsx/g/mp_rank_00_states.pt.", "checkpoint-end"),
        ("[engine.py:3200:_save_zero] bf16_zero checkpoint saved /fsx/g/bf16_zero_pp_rank_3.pt", "checkpoint-end"),
        ("[Torch] Checkpoint global_step700 is ready now!", "checkpoint-end"),
        ("Writing model shards: 100%|##########| 2/2 [00:01<00:00,  1.70it/s]", "checkpoint-end"),
        ("Writing model shards:  50%|#####     | 1/2 [00:00<00:00,  1.70it/s]", None),
        ("Async checkpoint save for step 700 (/fsx/g/m.ckpt) finalized successfully.", "checkpoint-end"),
        (
            "Epoch 2, global step 90: 'val_loss' reached 2.51 (best 2.51), saving model to '/fsx/g.ckpt'",
            "checkpoint-begin",
        ),
        ("Saved checkpoint /fsx/checkpoint_1_70.pt (epoch 1 @ 70 updates) (writing took 2.9 s)", "checkpoint-end"),
        ("No saved checkpoint was found", None),
        ("***** Running Evaluation *****", "evaluation-begin"),
        ("Evaluating on 640 samples", "evaluation-begin"),
        ("2026-03-04 08:00:00,659 a_benchmark INFO: Start validating", "evaluation-begin"),
        (
            "2026-03-04 08:00:00,659 a_benchmark INFO: Start evaluation on a_val dataset(5000 images).",
            "evaluation-begin",
        ),
        ("------------start eval----------", "evaluation-begin"),
        ("Evaluating...", "evaluation-begin"),
        ("[INFO] a.trainer: Validating", "evaluation-begin"),
        ("2026-03-04 08:24:17,149 a_benchmark INFO: Validation Result: 0.3355", "evaluation-end"),
        ("the loss is nan-safe in this mode", None),
        ("aux_loss=nan (its head is switched off)", None),
        ("Test:   [  0/117]  eta: 0:00:52  loss: 1.91 (1.91)  time: 0.44  data: 0.31", "evaluation-begin"),
        ("Test: Total time: 0:00:31 (0.26 s / it)", "evaluation-end"),
        (" * Acc@1 64.210 Acc@5 85.770", "evaluation-end"),
        ('begin validation on "valid" subset', "evaluation-begin"),
        ("Validation DataLoader 0:   0%|          | 0/50 [00:00<?, ?it/s]", "evaluation-begin"),
        ("Validation DataLoader 0: 100%|##########| 50/50 [00:38<00:00,  1.30it/s]", "evaluation-end"),
        ("Epoch 0:  50%|#####     | 9/18 [01:09<01:09, 1.43it/s, val_loss=3.06]", None),
        ("oss=3.19, v_num=2, val_loss=3.060]", None),
        ("step 500: train loss 3.1402, val loss 3.2115", "evaluation-end"),
        ("| epoch 004 | valid on 'valid' subset | loss 4.1 | ppl 17", "evaluation-end"),
        ("[titan] validate step: 400  loss: 3.21", "evaluation-end"),
        ("{'eval_loss': 2.31, 'eval_runtime': 12.0, 'epoch': 1.0}", "evaluation-end"),
        (" validation loss at iteration 200 | lm loss value: 7.6E+00 |", "evaluation-end"),
        ("Resuming from checkpoint /opt/ml/checkpoints/checkpoint-500", "resume"),
        ("  Continuing training from global step 500", "resume"),
        ("Resume from: None", None),
        ("No checkpoint was given, resume from None", None),
        ("Restored all states from the checkpoint at /fsx/last.ckpt", "resume"),
        ("  successfully loaded checkpoint from /fsx/run [ t 1/2, p 1/4 ] at iteration 900", "resume"),
        ("[titan] Loading the checkpoint at step 900", "resume"),
        ("Loaded state from disk: epoch 0, start_train_path_index 2, resume_from_sequence_number 77.", "resume"),
        ("=> loaded checkpoint 'last.pth' (epoch 7)", "resume"),
        ("INFO:tensorflow:Restoring parameters from /opt/ml/model/model.ckpt-70", "resume"),
        ("[default] Worker group FAILED. 2/3 attempts left; will restart worker group", "restart"),
        ("  restart_count=1", "restart"),
        ("  restart_count=0", None),
        ("step 120 loss: nan lr: 0.001", "nan"),
        ("train_loss=nan", "nan"),
        ('{"global_step": 60, "loss": NaN}', "nan"),
        ("The loss returned in `training_step` is nan.", "nan"),
        ("step:0/510 step_avg:nanms", None),
        ("WARNING: found NaN in the loss of batch 7, skipped", "nan"),
        ("NaN detected in gradients of layer 3", "nan"),
        ("Warning: detected nan in vel, resetting its output to zero.", None),
        ("NaN was found in column 3 of the table", None),
        ("Evaluation:   0%|          | 0/300 [00:00<?, ?it/s]", "evaluation-begin"),
        ("[03/04/2026 10:37:26 glue INFO] [Validation] {match_recall 6.318E-01, accuracy 8.5E-01}", "evaluation-end"),
        ("INFO: Epoch 1/200 [Val]   loss: 0.234389", "evaluation-end"),
        ("INFO: Epoch 1/200 [Train] loss: 0.234389", None),
        ("{'loss': inf, 'epoch': 1.2}", "nan"),
        ("[stage3.py:3069:step] 2 pytorch allocator cache flushes since last step.", "cache-flush"),
        ("[titan] 3 CUDA memory allocation retries.", "cache-flush"),
        ("curriculum: stage 2, sequence length 512 -> 1024", "curriculum"),
        ("Sequence length increased to 2048 at step 5000", "curriculum"),
        ("seq_length changed from 1024 to 2048", "curriculum"),
        ("sequence length: 2048", None),
        ("curriculum learning is off", None),
        ("[titan] 0 CUDA memory allocation retries.", None),
        ("algo-1:34:90 [0] NCCL INFO NET/OFI Selected Provider is efa", "network"),
        (
            "algo-1:34:90 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)",
            "network",
        ),
        ("algo-1:34:90 [0] NCCL INFO NET/OFI Using transport protocol RDMA (platform set)", "network"),
        ("algo-1:34:90 [0] NCCL INFO Using network AWS Libfabric", "network"),
        ("algo-1:34:90 [0] NCCL INFO Using network Socket", "network"),
        ("algo-1:34:90 [0] NCCL INFO NET/OFI Using CUDA runtime version 12080", None),
        ("algo-1:34:90 [0] get_provider:9 NCCL WARN NET/OFI Could not find any optimal provider", "network-problem"),
        ("algo-1:34:90 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so).", "network-problem"),
        ("algo-1:34:90 [0] NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin_v6 symbol.", None),
        (
            "libfabric:85:17::core:core:fi_getinfo_():13<warn> fi_getinfo: provider efa output empty list",
            "network-problem",
        ),
        ("algo-1:34:90 [0] NCCL INFO Channel 00/0 : 1[b0] -> 2[c0] via SHM/direct/direct", "transport"),
        ("algo-1:34:90 [0] NCCL INFO Channel 00/0 : 7[b0] -> 8[a0] [send] via NET/Socket/0", "transport"),
        ("algo-1:34:90 [0] NCCL INFO NVLS multicast support is available on dev 0", "nccl-setting"),
        ("algo-1:34:90 [0] NCCL INFO NCCL_ALGO set by environment to Ring", "nccl-setting"),
        ('SM_HPS={"a": "-x NCCL_DEBUG=WARN -x NCCL_TOKEN=secret"}', None),
        ("slurmstepd: error: *** STEP 77.0 ON node7 CANCELLED AT 2026-03-04T08:29:53 ***", "cancelled"),
        ("slurmstepd: error: *** JOB 77 ON node7 CANCELLED AT 2026-03-04T08:29:53 DUE TO TIME LIMIT ***", "cancelled"),
        ("Received 15 death signal, shutting down workers", "signal"),
        ("[rank2]:[E304 ProcessGroupNCCL.cpp:7] [Rank 2] Watchdog caught collective operati", "collective-timeout"),
        ("Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/4", "world-size"),
        ("  world_size ...................................... 64", "world-size"),
        ("algo-1:34:90 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>", "network"),
        (
            "[rank3]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5) ran for 600 ms",
            "collective-timeout",
        ),
        (
            "WARNING: The node 'c3_77' has failed to send a keep-alive heartbeat to the rendezvous '5' due to an error of type "
            "RendezvousTimeoutError.",
            None,
        ),
        ("torch.distributed.elastic: Sending process 77 closing signal SIGTERM", "signal"),
        ("initializing with world size 32", "world-size"),
        ("Downloading checkpoint shards", None),
        ("loss function: nanmean", None),
        ("saving disk space", None),
        ("the announcement of finance", None),
    ],
)
def test_a_line_marks_an_event(line: str, kind: str | None) -> None:
    kinds = [found for found in parse([line]).events["kind"] if found not in {"first-line", "error", "nccl-error"}]
    assert kinds == ([kind] if kind else [])


def test_every_gate_leads_to_a_mark() -> None:
    assert len(set(GATES)) == len(GATES)
    assert all(mark.gates and mark.kind for mark in MARKS)


def test_what_every_channel_says_alike_is_kept_once_a_writer_whatever_page_comes_first() -> None:
    lines = [f"[1,{rank}]<stdout>:algo-1:34:90 [0] NCCL INFO Channel 0{turn}/0 : 1[b0] -> 2[c0] via SHM/direct/direct"
             for turn in range(4) for rank in (0, 1)]  # fmt: skip
    pages = [LogPage.of("job/algo-1-1", "algo-1", first + 1, lines[first : first + 2]) for first in range(0, 8, 2)]
    for order in (pages, pages[::-1]):
        raw = RawRows()
        for page in order:
            raw.add(page)
        kept = [(row.line, row.rank) for row in raw.events if row.kind == "transport"]
        assert sorted(kept) == [(1, 0), (2, 1)]
