"""Lines that tell about the job and not about a step: where ranks run, what was configured, how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

#: Literal texts, one of which stands in every line read here.
GATES = (
    "Env Hosts:",
    "mpirun ",
    "Data for node:",
    "Process rank:",
    "SM_TRAINING_ENV=",
    "SM_RESOURCE_CONFIG=",
    "SM_NUM_GPUS=",
    "SM_NUM_CPUS=",
    "SM_CURRENT_HOST=",
    '"num_gpus":',
    '"num_cpus":',
    '"current_host":',
    '"current_instance_type":',
    "modelparallel/backend/config.py",
    "optimization steps",
    "update steps per epoch",
    # The SDK's status lines, with the date in front.
    "Pending - ",
    "Starting - ",
    "Downloading - ",
    "Training - ",
    "Uploading - ",
    "Stopping - ",
    "Stopped - ",
    "Interrupted - ",
    "Completed - ",
    "Failed - ",
    "Exceeded - ",
    "seconds: ",
    "Reporting training ",
    "Error",
    "Exception",
    "out of memory",
    "Killed",
    "exitcode",
    "ExitCode",
    # The debugger's hook says its host's name.
    " INFO utils.py:",
    " INFO hook.py:",
    " INFO json_config.py:",
    " INFO state_store.py:",
    " INFO profiler_config_parser.py:",
    "torchrun ",
)

_ORDER = re.compile(r"Env Hosts:.*?\bHosts:\s*\[(?P<hosts>[^\]]*)\]")
_MPIRUN = re.compile(r"\bmpirun\b.*?--host\s+(?P<hosts>\S+)")
_SLOTS = re.compile(r"([\w.-]{1,255}):(\d{1,6})(?!\d)")
_MAP_NODE = re.compile(r"Data for node:\s*(?P<host>[\w.-]+)")
_MAP_RANK = re.compile(r"Process rank:\s*(?P<rank>\d{1,9})\b")
_ENV_JSON = re.compile(r"\bSM_(?:TRAINING_ENV|RESOURCE_CONFIG)=(?P<json>\{.*\})")
_ENV_LINE = re.compile(
    r'(?:\bSM_(?P<name>NUM_GPUS|NUM_CPUS|CURRENT_HOST)=|"(?P<key>num_gpus|num_cpus|current_host|current_instance_type)":\s*)'
    r'"?(?P<value>[\w.-]+)"?'
)
_CONFIGURATION = re.compile(r"modelparallel/backend/config\.py:\d+\]\s{2,}(?P<name>\w+): (?P<value>.*)$")
_PLANNED = re.compile(r"Total optimization steps\s*=\s*(?P<steps>\d[\d,]{0,15})(?!\d)")
_PER_EPOCH = re.compile(r"Num update steps per epoch\s*=\s*(?P<steps>\d[\d,]{0,15})(?!\d)")
_STATUS = re.compile(
    r"^\s*(?P<time>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d) (?P<status>Pending|Starting|LaunchingMLInstances|PreparingTrainingStack"
    r"|Downloading|DownloadingTrainingImage|Training|Uploading|Stopping|Stopped|Interrupted|MaxRuntimeExceeded"
    r"|MaxWaitTimeExceeded|Completed|Failed|Restarting|Updating) - (?P<message>[^\n]{0,200})"
)
_SECONDS = re.compile(r"^\s*(?P<what>Training|Billable) seconds:\s*(?P<seconds>\d{1,12})\s*$")
_OUTCOME = re.compile(r"Reporting training (?P<outcome>SUCCESS|FAILURE)")
_EXIT = re.compile(r"^\s*ExitCode (?P<code>-?\d{1,12})(?!\d)")
_ERROR = re.compile(
    r"^\s*(?:\[rank\d+\]:\s*)?(?P<error>(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt)\b(?:: .*)?"
    r"|.*\bCUDA out of memory\b.*|.*\bKilled\s*)$"
)
# What a logger puts before its message: "[2022-04-21 09:13:02.565: C path/worker.py:108] [14] ".
_LOGGER_HEAD = re.compile(r"^\[20[^\]]*\]\s*(?:\[\d+\]\s*)?")
_SPEAKER = re.compile(r"^\[20[\d-]+ [\d:.]+ (?P<host>algo-\d+):\d+ INFO ")
_TORCHRUN = re.compile(r"\btorchrun (?P<options>[^\n]{0,4000})")
_TORCHRUN_OPTION = re.compile(r"--(?P<name>nnodes|nproc[-_]per[-_]node|node[-_]rank)[= ](?P<count>\d{1,6})(?![\d:])")

# Of the environment that the toolkit prints only these are kept: the rest may hold secrets.
_ENV_KEYS = ("current_host", "hosts", "num_gpus", "num_cpus", "current_instance_type", "distribution_hosts")


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each fact in ``text``; ``monitor.parse.identity`` reads them again and lists the kinds."""
    if ("Env Hosts:" in text and (match := _ORDER.search(text))) or (
        "mpirun" in text and "--host" in text and (match := _MPIRUN.search(text))
    ):
        yield "rank-order", _slots(match["hosts"])
    if "Data for node:" in text and (match := _MAP_NODE.search(text)):
        yield "rank-map-node", match["host"]
    elif "Process rank:" in text and (match := _MAP_RANK.search(text)):
        yield "rank-map-rank", match["rank"]
    if "=" in text and (match := _ENV_JSON.search(text)):
        yield from _environment(match["json"])
    elif match := _ENV_LINE.search(text):
        yield "environment", json.dumps({(match["name"] or match["key"]).lower(): match["value"]})
    if "backend/config.py" in text and (match := _CONFIGURATION.search(text)):
        yield "configuration", f"{match['name']}: {match['value'].strip()}"
    if "optimization steps" in text and (match := _PLANNED.search(text)):
        yield "planned-steps", match["steps"].replace(",", "")
    if "steps per epoch" in text and (match := _PER_EPOCH.search(text)):
        yield "steps-per-epoch", match["steps"].replace(",", "")
    if " - " in text and (match := _STATUS.match(text)):
        yield "status", f"{match['time']} {match['status']} {match['message'].strip()}"
    if "seconds: " in text and (match := _SECONDS.match(text)):
        yield f"{match['what'].lower()}-seconds", match["seconds"]
    if match := _OUTCOME.search(text):
        yield "outcome", match["outcome"].lower()
    if match := _EXIT.match(text):
        yield "exit-code", match["code"]
    if " INFO " in text and (match := _SPEAKER.match(text)):
        yield "speaker", match["host"]
    if "torchrun" in text and (match := _TORCHRUN.search(text)):
        options = {
            found["name"].replace("-", "_"): found["count"] for found in _TORCHRUN_OPTION.finditer(match["options"])
        }
        if "nnodes" in options and "nproc_per_node" in options:
            node_rank = options.get("node_rank", "0" if options["nnodes"] == "1" else "?")
            yield "torchrun", f"{options['nnodes']} {options['nproc_per_node']} {node_rank}"
    if ("Err" in text or "xcep" in text or "CUDA" in text or "Kill" in text or "Interrupt" in text) and (
        match := _ERROR.match(text)
    ):
        yield "error", _LOGGER_HEAD.sub("", match["error"].strip())[:1000]


def _slots(text: str) -> str:
    return ",".join(f"{host}:{slots}" for host, slots in _SLOTS.findall(text))


def _environment(text: str) -> Iterator[tuple[str, str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(data, dict):
        return
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
    if kept:
        yield "environment", json.dumps(kept)


def _is_told(value: object, key: str) -> bool:
    """Whether a key has a value of its own kind: names for hosts, a word or a number for the rest."""
    if key in {"hosts", "distribution_hosts"}:
        return isinstance(value, list) and bool(value) and all(isinstance(host, str) for host in value)
    return isinstance(value, str | int) and value != ""
