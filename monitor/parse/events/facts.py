"""Lines that tell about the job and not about a step: where ranks run, what was configured, how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from monitor.parse.events import configured, failures, gpu_memory, model_size
from monitor.parse.events.reader import EventTable, captured, event

_SLOTS = re.compile(r"([\w.-]{1,255}):(\d{1,6})(?!\d)")
_TORCHRUN_OPTION = re.compile(r"--(?P<name>nnodes|nproc[-_]per[-_]node|node[-_]rank)[= ](?P<count>\d{1,6})(?![\d:])")
# Of the environment that the toolkit prints only these are kept: the rest may hold secrets.
_ENV_KEYS = ("current_host", "hosts", "num_gpus", "num_cpus", "current_instance_type", "distribution_hosts")
# Warnings of libraries about settings that cost time; what they mean is in ``monitor.diagnose.hints``.
_HINTS = (
    event("hint", "find_unused_parameters=True was specified", r"find_unused_parameters=True was specified in DDP"),
    event(
        "hint",
        "worker processes in total",
        r"will create \d{1,4} worker processes in total\. .{0,40}suggested max number of worker.{0,60} is \d{1,4}",
    ),
    event("hint", "does not have many workers", r"does not have many workers.{0,200}num_workers=\d{1,4}"),
    event(
        "hint",
        "huggingface/tokenizers: The current process",
        r"huggingface/tokenizers: The current process just got forked",
    ),
    event("hint", "TensorFloat32 tensor cores", r"TensorFloat32 tensor cores .{0,80} not enabled"),
    event("hint", "torch.set_float32_matmul_precision", r"you should set `torch\.set_float32_matmul_precision"),
    event("hint", "Grad strides do not match", r"Grad strides do not match bucket view strides"),
    event("hint", "torch._dynamo hit config.", r"torch\._dynamo hit config\.(?:cache_size_limit|recompile_limit)"),
)


def _slots(match: re.Match[str]) -> str:
    return ",".join(f"{host}:{slots}" for host, slots in _SLOTS.findall(match["hosts"]))


def _of_process(match: re.Match[str]) -> str:
    return match["padded"] or str(int(match["said"]) * max(1, int(match["gpus"] or 1)))


def _count(match: re.Match[str]) -> str:
    return match["steps"].replace(",", "")


def _rate_of_run(match: re.Match[str]) -> str | None:
    steps, seconds = int(match["steps"]), float(match["seconds"])
    return f"{steps / seconds:.6g}" if steps and seconds else None


def _environment(match: re.Match[str]) -> str | None:
    try:
        data = json.loads(match["json"])
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    kept = {key: data[key] for key in _ENV_KEYS if _is_told(data.get(key), key)}
    parameters = data.get("additional_framework_parameters")
    if isinstance(parameters, dict) and isinstance(
        each := parameters.get("sagemaker_mpi_num_of_processes_per_host"), str | int
    ):
        kept["processes_per_host"] = each
    groups = data.get("instance_groups")
    if isinstance(groups, list) and all(isinstance(group, dict) for group in groups):
        keys = ("instance_group_name", "instance_type", "hosts")
        kept["instance_groups"] = [
            {key: group[key] for key in keys if _is_told(group.get(key), key)} for group in groups
        ]
    return json.dumps(kept) if kept else None


def _is_told(value: object, key: str) -> bool:
    """Whether a key has a value of its own kind: names for hosts, a word or a number for the rest."""
    if key in {"hosts", "distribution_hosts"}:
        return isinstance(value, list) and bool(value) and all(isinstance(host, str) for host in value)
    return isinstance(value, str | int) and value != ""


def _torchrun(match: re.Match[str]) -> str | None:
    """How many nodes, processes on each, and which of the nodes this is, "?" where it is not told."""
    options = {found["name"].replace("-", "_"): found["count"] for found in _TORCHRUN_OPTION.finditer(match["options"])}
    if "nnodes" not in options or "nproc_per_node" not in options:
        return None
    node_rank = options.get("node_rank", "0" if options["nnodes"] == "1" else "?")
    return f"{options['nnodes']} {options['nproc_per_node']} {node_rank}"


def _variable(match: re.Match[str]) -> str:
    return json.dumps({(match["name"] or match["key"]).lower(): match["value"]})


_FACTS = EventTable(
    (
        event("rank-order", "Env Hosts:", r"Env Hosts:.{0,2000}?\bHosts:\s*\[(?P<hosts>[^\]]*)\]", _slots),
        event("rank-order", "mpirun ", r"\bmpirun\b.{0,2000}?--host\s+(?P<hosts>\S+)", _slots),
        event("rank-map-node", "Data for node:", r"Data for node:\s*(?P<said>[\w.-]+)", captured),
        event("rank-map-rank", "Process rank:", r"Process rank:\s*(?P<said>\d{1,9})\b", captured),
        event(
            "environment",
            "SM_TRAINING_ENV=|SM_RESOURCE_CONFIG=",
            # The first of them alone: to try each would take the square of a line that holds thousands.
            r"^(?>.*?\bSM_(?:TRAINING_ENV|RESOURCE_CONFIG)=(?=\{))(?P<json>.*\})",
            _environment,
        )._replace(whole_line=True),
        event(
            "environment",
            'SM_NUM_GPUS=|SM_NUM_CPUS=|SM_CURRENT_HOST=|"num_gpus":|"num_cpus":|"current_host":|'
            '"current_instance_type":',
            r"^(?!.{0,16000}SM_(?:TRAINING_ENV|RESOURCE_CONFIG)=\{)"
            r".{0,16000}?(?:\bSM_(?P<name>NUM_GPUS|NUM_CPUS|CURRENT_HOST)="
            r'|"(?P<key>num_gpus|num_cpus|current_host|current_instance_type)":\s*)"?(?P<value>[\w.-]+)"?',
            _variable,
        ),
        event(
            "planned-steps",
            "optimization steps",
            r"Total optimization steps\s*=\s*(?P<steps>\d[\d,]{0,15})(?!\d)",
            _count,
        ),
        event(
            "steps-per-epoch",
            "update steps per epoch",
            r"Num update steps per epoch\s*=\s*(?P<steps>\d[\d,]{0,15})(?!\d)",
            _count,
        ),
        # DeepSpeed prints its configuration, one name on a line.
        event(
            "samples-per-step",
            "  train_batch_size ..",
            r"\]\s{1,9}train_batch_size \.{2,40} (?P<said>\d{1,12})\s*$",
            captured,
        ),
        # tf_cnn_benchmarks describes what it will do.
        event("samples-per-step", "Batch size:  ", r"^\s*+Batch size:  (?P<said>\d{1,9}) global\s*$", captured),
        # MLPerf's logging tells the same, and counts its steps in samples.
        event(
            "samples-per-step",
            '"global_batch_size"',
            r':::MLLOG.*"key": "global_batch_size", "value": (?P<said>\d{1,12})\b',
            captured,
        ),
        # Keras says so where its bars count them.
        event("samples-per-epoch", "Train on ", r"^\s*+Train on (?P<said>\d{1,12}) samples\b", captured),
        # Options as JSON, one on a line: NVIDIA's models count images.
        event("images-per-step", '  "batch_size": ', r'^ {2}"batch_size": (?P<said>\d{1,6}),?\s*$', captured),
        # A script's arguments, all on a line or one on each. Of several GPUs that are counted it is the size of one's.
        event(
            "samples-per-process",
            "batch_size=|batch_size: ",
            r"^.{0,400}?\bNamespace\((?:.{0,4000}?, )?batch_size=(?P<said>\d{1,6})(?=[,)])"
            r"(?:.{0,4000}?\bnum_gpus=(?P<gpus>\d{1,3})\b)?"
            r"|^\s{4,30}batch_size: (?P<padded>\d{1,6})\s",
            _of_process,
        ),
        # The SDK's status lines, with the date in front.
        event(
            "status",
            "Pending - |Starting - |Downloading - |Training - |Uploading - |Stopping - |Stopped - |Interrupted - |"
            "Completed - |Failed - |Exceeded - |Restarting - |Updating - |LaunchingMLInstances - |"
            "PreparingTrainingStack - |DownloadingTrainingImage - ",
            r"^\s*+(?P<time>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d) (?P<status>Pending|Starting|LaunchingMLInstances"
            r"|PreparingTrainingStack|Downloading|DownloadingTrainingImage|Training|Uploading|Stopping|Stopped|Interrupted"
            r"|MaxRuntimeExceeded|MaxWaitTimeExceeded|Completed|Failed|Restarting|Updating) - (?P<message>[^\n]{0,200})",
            lambda match: f"{match['time']} {match['status']} {match['message'].strip()}",
        ),
        # What the Hugging Face Trainer says at its end; a rate of fewer digits tells nothing.
        event(
            "run-rate",
            "'train_steps_per_second': ",
            r"'train_steps_per_second': '?(?P<said>\d{1,6}\.(?:0[1-9]\d|[1-9])\d{0,9}|[1-9]\d{0,5}\.\d{1,9})",
            captured,
        ),
        # As it writes the same into a file, which also tells of how many steps.
        event(
            "run-rate",
            '"train_runtime": ',
            r'"train_runtime": (?P<seconds>\d{1,9}\.\d{1,9})\b.{0,600}"step": (?P<steps>\d{1,12})\}',
            _rate_of_run,
        ),
        event("training-seconds", "Training seconds: ", r"^\s*+Training seconds:\s*(?P<said>\d{1,12})\s*$", captured),
        event("billable-seconds", "Billable seconds: ", r"^\s*+Billable seconds:\s*(?P<said>\d{1,12})\s*$", captured),
        # The debugger's hook says its host's name.
        event(
            "speaker",
            " INFO utils.py:| INFO hook.py:| INFO json_config.py:| INFO state_store.py:|"
            " INFO profiler_config_parser.py:",
            r"^\[20[\d-]+ [\d:.]+ (?P<said>algo-\d+):\d+ INFO ",
            captured,
        ),
        event("torchrun", "torchrun ", r"\btorchrun (?P<options>[^\n]{0,4000})", _torchrun),
        *configured.ROWS,
        *failures.ROWS,
        *gpu_memory.ROWS,
        *_HINTS,
        *model_size.ROWS,
    )
)
#: Literal texts, one of which stands in every line read here.
GATES = _FACTS.gates
ROWS = _FACTS.rows


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each fact in ``text``; ``monitor.parse.identity`` reads those about hosts again."""
    yield from _FACTS.read(text)
