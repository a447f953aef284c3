"""What may be written where a user chooses: names that the grammar of the command line and those who work with them share.

It imports nothing: every start of the command line reads it, also one that only asks for help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

#: Before the path of a job that is read from log files, or from an archive.
LOGS, ARCHIVE = "logs:", "archive:"
#: Of jobs in an account, as AWS writes them.
STATUSES = ("InProgress", "Completed", "Failed", "Stopping", "Stopped")

RuleSeverity = Literal["warning", "critical"]
SEVERITIES: tuple[RuleSeverity, ...] = ("warning", "critical")

Framework = Literal["smp1", "smp2", "fsdp", "deepspeed", "megatron", "ddp"]
#: As they are called in sentences.
FRAMEWORK_NAMES: Mapping[str, str] = {
    "smp1": "SMP v1",
    "smp2": "SMP v2",
    "fsdp": "FSDP",
    "deepspeed": "DeepSpeed",
    "megatron": "Megatron-LM",
    "ddp": "DDP",
}

#: Whose hours a fleet's report is by.
BY = ("team", "project", "account")
#: The address that is listened on unless another is named: reached from this machine alone.
HERE = "127.0.0.1"
