"""The log streams of a sample job: the head that SageMaker's training toolkit and launchers write, steps, and the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.demo.describe import (
    cuda_error,
    effective_configuration,
    failure_reason,
    sdk_hyperparameters,
    user_arguments,
)
from monitor.demo.dialects import rank_line, script_line, speaker, timestamp
from monitor.demo.story import Attempt, OutOfMemory, SampleJob, Story, StorySpan

_FRAMEWORK = "sagemaker_pytorch_container.training"
# CloudWatch's agent writes control characters of a message as # and three octal digits.
_TAB = "#011"


@dataclass(frozen=True, slots=True)
class Stream:
    """One node's log of one attempt."""

    job: SampleJob
    attempt: Attempt
    node: str

    @property
    def name(self) -> str:
        """As SageMaker names streams: job, host, and when the stream was made."""
        return f"{self.job.name}/{self.node}-{int(self.attempt.began.timestamp())}"

    def events(self) -> Iterator[tuple[datetime, str]]:
        """(time, text) in time; of a running job without an end, so stop at the first that has not happened."""
        for line in _lines(self.job, self.attempt, self.node):
            yield self.attempt.began + timedelta(seconds=line.at_s), line.text


def streams(job: SampleJob) -> tuple[Stream, ...]:
    """A stream for each node and attempt; none for a job that never started."""
    return tuple(Stream(job, attempt, node) for attempt in job.attempts for node in job.story.nodes)


@dataclass(frozen=True, slots=True)
class SimulatedLine:
    """One log event: seconds since the container began, and its text."""

    at_s: float
    text: str


def _info(moment: datetime, text: str, who: str = "sagemaker-training-toolkit", level: str = "INFO") -> str:
    """A line of Python's logging as the toolkit formats it."""
    return f"{timestamp(moment, ',')} {who} {level:<8} {text}"


def _head(job: SampleJob, attempt: Attempt, node: str) -> Iterator[SimulatedLine]:
    """Everything from the container's begin to just before the first step."""
    story = job.story
    parts: list[tuple[float, Callable[[datetime], list[str]]]] = [(0.02, _arrival), (0.10, _requirements)]
    if story.launcher == "mpi" and node == story.leader:
        parts += [
            (0.16, lambda at: _mpi_hosts(story, at)),
            (0.20, lambda at: _training_env(job, node, at)),
            (0.22, lambda _: [_mpirun(story)]),
            (0.27, lambda _: _rank_map(story)),
            (0.45, lambda at: _nccl_and_smp(story, at)),
            (0.93, lambda at: _partitioned(story, at)),
        ]
    elif story.launcher == "mpi":
        parts += [(0.16, lambda at: _mpi_worker(story, at))]
    else:
        parts += [
            (0.18, lambda at: _training_env(job, node, at)),
            (0.22, lambda _: [_torchrun_or_python(story, node)]),
            (0.60, lambda at: _begins(job, attempt, node, at)),
        ]
    for share, texts in parts:
        at_s = share * story.setup_s
        for number, text in enumerate(texts(attempt.began + timedelta(seconds=at_s))):
            yield SimulatedLine(at_s + number * 0.002, text)


def _torchrun_or_python(story: Story, node: str) -> str:
    """The command that the toolkit shows before it runs it."""
    if story.launcher == "script" or node in story.data_nodes:
        return f"/opt/conda/bin/python3 {story.script} {user_arguments(story)}".rstrip()
    place = story.training_nodes.index(node)
    return (
        f"torchrun --nnodes {len(story.training_nodes)} --nproc_per_node {story.processes_per_node} "
        f"--master_addr {story.leader} --master_port 7777 --node_rank {place} {story.script} {user_arguments(story)}"
    ).rstrip()


def _arrival(at: datetime) -> list[str]:
    return [
        "bash: cannot set terminal process group (-1): Inappropriate ioctl for device",
        "bash: no job control in this shell",
        _info(at, "Imported framework sagemaker_pytorch_container.training"),
        _info(at, "Block until all host DNS lookups succeed.", _FRAMEWORK),
        _info(at, "Invoking user training script.", _FRAMEWORK),
    ]


def _requirements(at: datetime) -> list[str]:
    return [
        _info(at, "Installing dependencies from requirements.txt:"),
        "Collecting transformers",
        "Installing collected packages: tokenizers, datasets, transformers",
        _info(at, "Done waiting for a return code. Received 0 from exiting process."),
    ]


def _mpi_hosts(story: Story, at: datetime) -> list[str]:
    hosts = list(story.training_nodes)
    slots = [f"{host}:{story.processes_per_node}" for host in hosts]
    return [
        _info(at, "Starting MPI run as worker node."),
        _info(at, "Creating SSH daemon."),
        _info(at, "Waiting for MPI workers to establish their SSH connections"),
        *(_info(at, f"Worker {host} available for communication") for host in hosts[1:]),
        _info(
            at,
            f"Env Hosts: {hosts} Hosts: {slots} process_per_hosts: {story.processes_per_node} "
            f"num_processes: {story.world_size}",
        ),
        _info(at, "Network interface name: eth0"),
    ]


def _mpi_worker(story: Story, at: datetime) -> list[str]:
    return [
        _info(at, "Starting MPI run as worker node."),
        _info(at, "Waiting for MPI Master to create SSH daemon."),
        _info(at, f"Can connect to host {story.leader}"),
        _info(at, "MPI Master online, creating SSH daemon."),
        _info(at, "Writing environment variables to /etc/environment for the MPI process."),
        _info(at, "Waiting for MPI process to finish."),
        _info(at, "Orted process found [psutil.Process(pid=67, name='orted', status='sleeping')]"),
    ]


def _training_env(job: SampleJob, node: str, at: datetime) -> list[str]:
    story = job.story
    group = story.group(node)
    hosts = sorted(story.nodes)
    parameters = {k: v for k, v in sdk_hyperparameters(story, job.name).items() if not k.startswith("sagemaker_")}
    groups = {
        g.name: {"instance_group_name": g.name, "instance_type": g.instance_type, "hosts": list(g.nodes)}
        for g in story.groups
    }
    resources = {
        "current_group_name": group.name,
        "current_host": node,
        "current_instance_type": group.instance_type,
        "hosts": hosts,
        "instance_groups": list(groups.values()),
        "network_interface_name": "eth0",
    }
    environment = {
        "channel_input_dirs": {"test": "/opt/ml/input/data/test", "train": "/opt/ml/input/data/train"},
        "current_host": node,
        "current_instance_group": group.name,
        "current_instance_group_hosts": list(group.nodes),
        "current_instance_type": group.instance_type,
        "distribution_hosts": [] if story.launcher == "script" else list(story.training_nodes),
        "framework_module": "sagemaker_pytorch_container.training:main",
        "hosts": hosts,
        "hyperparameters": parameters,
        "instance_groups": [g.name for g in story.groups],
        "instance_groups_dict": groups,
        "is_hetero": len(story.groups) > 1,
        "is_master": node == story.leader,
        "is_modelparallel_enabled": True if story.mp_parameters else None,
        "job_name": job.name,
        "log_level": 20,
        "master_hostname": story.leader,
        "module_name": story.script.removesuffix(".py"),
        "network_interface_name": "eth0",
        "num_cpus": group.hardware.vcpus,
        "num_gpus": group.hardware.gpus,
        "resource_config": resources,
        "user_entry_point": story.script,
    }
    return [
        _info(at, "Invoking user script"),
        "Training Env:",
        *json.dumps(environment, indent=4).splitlines(),
        "Environment variables:",
        f"SM_HOSTS={_compact(hosts)}",
        "SM_NETWORK_INTERFACE_NAME=eth0",
        f"SM_HPS={_compact(parameters)}",
        f"SM_USER_ENTRY_POINT={story.script}",
        f"SM_RESOURCE_CONFIG={_compact(resources)}",
        f"SM_CURRENT_HOST={node}",
        f"SM_CURRENT_INSTANCE_TYPE={group.instance_type}",
        f"SM_CURRENT_INSTANCE_GROUP={group.name}",
        f"SM_NUM_CPUS={group.hardware.vcpus}",
        f"SM_NUM_GPUS={group.hardware.gpus}",
        f"SM_TRAINING_ENV={_compact(environment)}",
        "Invoking script with the following command:",
    ]


def _mpirun(story: Story) -> str:
    hosts = ",".join(f"{host}:{story.processes_per_node}" for host in story.training_nodes)
    return (
        f"mpirun --host {hosts} -np {story.world_size} --allow-run-as-root --display-map --tag-output "
        "-mca btl_tcp_if_include eth0 -mca orte_abort_on_non_zero_status 1 -x NCCL_DEBUG=INFO -x FI_PROVIDER=efa "
        f"-x RDMAV_FORK_SAFE=1 /opt/conda/bin/python3.8 -m mpi4py {story.script} {user_arguments(story)}"
    )


def _rank_map(story: Story) -> list[str]:
    per_node = story.processes_per_node
    texts = [
        f" Data for JOB [34076,1] offset 0 Total slots allocated {story.world_size}",
        " ========================   JOB MAP   ========================",
    ]
    for place, node in enumerate(story.training_nodes):
        texts.append(f" Data for node: {node}{_TAB}Num slots: {per_node}{_TAB}Max slots: 0{_TAB}Num procs: {per_node}")
        texts += [
            f" {_TAB}Process OMPI jobid: [34076,1] App: 0 Process rank: {place * per_node + slot} Bound: N/A"
            for slot in range(per_node)
        ]
    return [*texts, " ============================================================="]


def _nccl_and_smp(story: Story, at: datetime) -> list[str]:
    per_node = story.processes_per_node
    texts = []
    for place, node in enumerate(story.training_nodes):
        text = _network_line(story, node)
        texts += [rank_line(place * per_node, text, per_node)] if text else []
    texts.append(rank_line(0, "NCCL version 2.10.3+cuda11.3", per_node))
    stamp = f"[{timestamp(at, '.')}: I smdistributed/modelparallel/backend/config.py:"
    texts.append(rank_line(0, f"{stamp}293] Configuration parameters:", per_node))
    texts += [
        rank_line(0, f"{stamp}296]   {name}: {value}", per_node)
        for name, value in effective_configuration(story).items()
    ]
    return [*texts, rank_line(0, "smdistributed.modelparallel version: 1.15.0", per_node)]


def _network_line(story: Story, node: str) -> str:
    """What the NCCL plug-in says where the instance type has EFA; empty where it has none."""
    nics = story.hardware(node).efa_nics
    if not nics or len(story.training_nodes) < 2:
        return ""
    return f"{node}:245:245 [0] NCCL INFO NET/OFI Selected Provider is efa (found {nics} nics)"


def _partitioned(story: Story, at: datetime) -> list[str]:
    per_node = story.processes_per_node
    stamp = f"[{timestamp(at, '.')}: I smdistributed/modelparallel/torch/model.py:"
    stages = int(str(effective_configuration(story)["pipeline_parallel_degree"]))
    return [
        rank_line(0, f"{stamp}676] Partition assignments:", per_node),
        *(rank_line(0, f"{stamp}682]   main/module/stage{stage}: {stage}", per_node) for stage in range(stages)),
        rank_line(0, f"{stamp}736] Finished partitioning the model", per_node),
    ]


def _begins(job: SampleJob, attempt: Attempt, node: str, at: datetime) -> list[str]:
    story = job.story
    network = _network_line(story, node)
    texts = [network, f"{node}:245:312 [0] NCCL INFO Using network AWS Libfabric"] if network else []
    if node in story.data_nodes:
        return [script_line(at, f"serving batches to {', '.join(story.training_nodes)} on port 6000")]
    if story.dialect == "tqdm":
        texts += ["***** Running training *****", f"  Total optimization steps = {story.steps:,}"]
    elif story.dialect == "logging":
        texts.append(script_line(at, f"world size {story.world_size}, {story.steps} steps"))
    if attempt.from_step:
        texts.append(script_line(at, f"Resuming from checkpoint /opt/ml/checkpoints/step_{attempt.from_step}"))
    return texts


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _success(job: SampleJob, attempt: Attempt, node: str, span: StorySpan) -> Iterator[SimulatedLine]:
    """The last lines of a node whose program ended well."""
    story = job.story
    at = attempt.began + timedelta(seconds=span.start_s)
    later = attempt.began + timedelta(seconds=span.end_s - 1.0)
    if story.launcher == "mpi" and node != story.leader:
        yield SimulatedLine(span.start_s + 0.3, _info(at, "Orted process exited"))
        yield SimulatedLine(span.end_s - 1.0, _info(later, "MPI process finished."))
        yield SimulatedLine(span.end_s - 0.9, _info(later, "Reporting training SUCCESS"))
        return
    if story.launcher == "mpi":
        yield SimulatedLine(
            span.start_s + 0.1, rank_line(0, "SMP training finished successfully", story.processes_per_node)
        )
    yield SimulatedLine(span.start_s + 0.2, _info(at, "Waiting for the process to finish and give a return code."))
    yield SimulatedLine(
        span.start_s + 0.3, _info(at, "Done waiting for a return code. Received 0 from exiting process.")
    )
    yield SimulatedLine(span.end_s - 0.9, _info(later, "Reporting training SUCCESS"))


def _out_of_memory(
    job: SampleJob, attempt: Attempt, node: str, span: StorySpan, fault: OutOfMemory
) -> Iterator[SimulatedLine]:
    """The failing rank's traceback, mpirun's verdict and the toolkit's summary, all in the leader's stream."""
    story = job.story
    per_node = story.processes_per_node
    ends = attempt.began + timedelta(seconds=span.end_s - 2.0)
    if node != story.leader:
        yield SimulatedLine(span.end_s - 1.5, _info(ends, "Orted process exited"))
        return
    trace = (
        "Traceback (most recent call last):",
        f'  File "{story.script}", line 431, in <module>',
        "    main()",
        f'  File "{story.script}", line 384, in main',
        "    loss = train_step(model, optimizer, input_ids, attention_mask)",
        '  File "/opt/ml/code/model.py", line 212, in forward',
        "    hidden = self.mlp(self.norm(hidden))",
        cuda_error(story, fault),
    )
    for number, text in enumerate(trace):
        yield SimulatedLine(span.start_s + 0.8 + number * 0.002, rank_line(fault.rank, text, per_node, "stderr"))
    rule = "-" * 74
    verdict = (
        rule,
        "Primary job  terminated normally, but 1 process returned",
        "a non-zero exit code. Per user-direction, the job has been aborted.",
        rule,
        "mpirun.real detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        f"  Process name: [[34076,1],{fault.rank}]",
        "  Exit code:    1",
        rule,
        _info(ends, "Reporting training FAILURE", level="ERROR"),
        _info(ends, "ExecuteUserScriptError:", level="ERROR"),
        *failure_reason(story, fault).splitlines()[1:],
        _info(ends, "Encountered exit_code 1", level="ERROR"),
    )
    for number, text in enumerate(verdict):
        yield SimulatedLine(span.end_s - 2.0 + number * 0.002, text)


def _lines(job: SampleJob, attempt: Attempt, node: str) -> Iterator[SimulatedLine]:
    speak = speaker(job, attempt, node)
    yield from _head(job, attempt, node)
    for span in attempt.spans(job.story):
        if span.kind in {"step", "checkpoint"}:
            if speak is not None:
                for number, text in enumerate(speak(span)):
                    yield SimulatedLine(span.end_s + number * 0.001, text)
        elif span.kind == "exit":
            yield from _success(job, attempt, node, span)
        elif span.kind == "failure" and isinstance(job.story.fault, OutOfMemory):
            yield from _out_of_memory(job, attempt, node, span, job.story.fault)
