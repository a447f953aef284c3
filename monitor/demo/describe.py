"""A sample job as DescribeTrainingJob answers, with the hyperparameters and the model-parallel configuration it has."""

from __future__ import annotations

import json
from collections.abc import Mapping

from monitor.demo.measurements import INTERVAL_MS, profiler_path
from monitor.demo.story import BUCKET, NoCapacity, OutOfMemory, SampleJob, Status, Story

ROLE = "arn:aws:iam::123456789012:role/TrainingRole"
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch-training"


def describe(job: SampleJob) -> dict[str, object]:
    """The answer's fields under their API names, times aware; a field that AWS would leave out is not there."""
    story = job.story
    fields: dict[str, object] = {
        "TrainingJobName": job.name,
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.statuses[-1].status,
        "SecondaryStatusTransitions": [_transition(status) for status in job.statuses],
        "HyperParameters": {
            name: json.dumps(value) for name, value in sdk_hyperparameters(job.story, job.name).items()
        },
        "AlgorithmSpecification": {
            "TrainingImage": f"{IMAGE}:{'1.12.1' if story.launcher == 'mpi' else '2.7.1'}-{_flavour(story)}",
            "TrainingInputMode": "File",
            "EnableSageMakerMetricsTimeSeries": True,
            "MetricDefinitions": [{"Name": n, "Regex": r} for n, r in story.metric_definitions.items()],
        },
        "RoleArn": ROLE,
        "InputDataConfig": [_channel(name) for name in ("train", "test")],
        "OutputDataConfig": {"S3OutputPath": f"{BUCKET}/{story.base_name}"},
        "ResourceConfig": _resources(story),
        "StoppingCondition": {"MaxRuntimeInSeconds": story.max_runtime_s},
        "CreationTime": job.created,
        "LastModifiedTime": job.ended or job.statuses[-1].start,
        "EnableManagedSpotTraining": story.spot,
        "EnableNetworkIsolation": False,
        "EnableInterContainerTrafficEncryption": False,
        "ProfilingStatus": "Disabled",
    }
    if story.profiled is not None:
        fields["ProfilingStatus"] = "Enabled"
        fields["ProfilerConfig"] = {
            "S3OutputPath": profiler_path(story),
            "ProfilingIntervalInMilliseconds": INTERVAL_MS,
            "DisableProfiler": False,
        }
    if story.spot:
        fields["StoppingCondition"] = {
            "MaxRuntimeInSeconds": story.max_runtime_s,
            "MaxWaitTimeInSeconds": 2 * story.max_runtime_s,
        }
    if story.checkpoint_every:
        fields["CheckpointConfig"] = {
            "S3Uri": f"{BUCKET}/{story.base_name}/checkpoints",
            "LocalPath": "/opt/ml/checkpoints",
        }
    if job.started is not None:
        fields["TrainingStartTime"] = job.started
    if job.ended is not None:
        fields["TrainingEndTime"] = job.ended
    if job.training_s is not None:
        fields["TrainingTimeInSeconds"] = job.training_s
        fields["BillableTimeInSeconds"] = round(job.training_s * story.billable_share)
    reason = _failure(job)
    if reason:
        fields["FailureReason"] = reason[:1024]
    if job.status == "Completed":
        fields["ModelArtifacts"] = {"S3ModelArtifacts": f"{BUCKET}/{story.base_name}/{job.name}/output/model.tar.gz"}
    return fields


def _failure(job: SampleJob) -> str:
    match job.story.fault:
        case NoCapacity():
            group = job.story.groups[0]
            return (
                f"CapacityError: Unable to provision requested ML compute capacity: {len(group.nodes)} x "
                f"{group.instance_type}. Please retry using a different ML instance type or after some time."
            )
        case OutOfMemory() as fault:
            return "AlgorithmError: " + failure_reason(job.story, fault) + ", exit code: 1"
        case _:
            return ""


def _resources(story: Story) -> dict[str, object]:
    if len(story.groups) > 1:
        return {
            "InstanceGroups": [
                {"InstanceGroupName": g.name, "InstanceType": g.instance_type, "InstanceCount": len(g.nodes)}
                for g in story.groups
            ],
            "VolumeSizeInGB": 200,
        }
    group = story.groups[0]
    return {"InstanceType": group.instance_type, "InstanceCount": len(group.nodes), "VolumeSizeInGB": 500}


def _channel(name: str) -> dict[str, object]:
    source = {
        "S3DataType": "S3Prefix",
        "S3Uri": f"{BUCKET}/data/{name}",
        "S3DataDistributionType": "FullyReplicated",
    }
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}, "CompressionType": "None"}


def _flavour(story: Story) -> str:
    return "gpu-py38" if story.launcher == "mpi" else "gpu-py312" if story.load.gpu_pct else "cpu-py312"


def _transition(status: Status) -> dict[str, object]:
    entry: dict[str, object] = {"Status": status.status, "StartTime": status.start, "StatusMessage": status.message}
    if status.end is not None:
        entry["EndTime"] = status.end
    return entry


def user_arguments(story: Story) -> str:
    return " ".join(f"--{name} {value}" for name, value in sorted(story.hyperparameters.items()))


def failure_reason(story: Story, fault: OutOfMemory) -> str:
    """The summary that the toolkit logs and SageMaker gives as FailureReason, before it is cut."""
    hosts = ",".join(f"{host}:{story.processes_per_node}" for host in story.training_nodes)
    return (
        "ExecuteUserScriptError:\nExitCode 1\n"
        f'ErrorMessage "{cuda_error(story, fault)}"\n'
        f'Command "mpirun --host {hosts} -np {story.world_size} --display-map --tag-output /opt/conda/bin/python3.8 '
        f'-m mpi4py {story.script} {user_arguments(story)}"'
    )


def cuda_error(story: Story, fault: OutOfMemory) -> str:
    gpu = fault.rank % story.processes_per_node
    total_gib = story.hardware(story.leader).gpu_memory_gib - 0.41
    return (
        f"RuntimeError: CUDA out of memory. Tried to allocate {fault.wanted} (GPU {gpu}; {total_gib:.2f} GiB total "
        f"capacity; {total_gib - 2.38:.2f} GiB already allocated; 498.19 MiB free; {total_gib - 1.36:.2f} GiB reserved "
        "in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
        "fragmentation."
    )


def sdk_hyperparameters(story: Story, job_name: str) -> Mapping[str, object]:
    """The script's parameters and those that SageMaker's Python SDK adds for the chosen way to distribute."""
    added: dict[str, object] = {
        "sagemaker_container_log_level": 20,
        "sagemaker_job_name": job_name,
        "sagemaker_program": story.script,
        "sagemaker_region": "us-east-1",
        "sagemaker_submit_directory": f"{BUCKET}/{job_name}/source/sourcedir.tar.gz",
    }
    if story.mp_parameters:
        added["mp_parameters"] = dict(story.mp_parameters)
    return {**story.hyperparameters, **launcher_parameters(story), **added}


def launcher_parameters(story: Story) -> Mapping[str, object]:
    instance_type = story.group(story.leader).instance_type
    parameters: dict[str, object] = {}
    if story.launcher == "mpi":
        parameters = {
            "sagemaker_mpi_enabled": True,
            "sagemaker_mpi_num_of_processes_per_host": story.processes_per_node,
            "sagemaker_mpi_custom_mpi_options": "-x NCCL_DEBUG=INFO -x FI_PROVIDER=efa -x RDMAV_FORK_SAFE=1",
            "sagemaker_distributed_dataparallel_enabled": False,
            "sagemaker_instance_type": instance_type,
        }
    elif story.launcher == "torchrun":
        parameters = {"sagemaker_torch_distributed_enabled": True, "sagemaker_instance_type": instance_type}
        if story.mp_parameters:
            parameters["sagemaker_distributed_dataparallel_enabled"] = False
    if len(story.groups) > 1:
        parameters["sagemaker_distribution_instance_groups"] = [story.group(story.leader).name]
    return parameters


def effective_configuration(story: Story) -> Mapping[str, object]:
    """What SMP v1 prints when it begins: every public parameter, defaults resolved."""
    given = dict(story.mp_parameters)
    degree = given.pop("partitions", None) or given.get("pipeline_parallel_degree", 1)
    microbatches = given.get("microbatches", 1)
    assert isinstance(degree, int)
    assert isinstance(microbatches, int)
    configuration: dict[str, object] = {
        "pipeline_parallel_degree": degree,
        "microbatches": microbatches,
        "pipeline": "interleaved",
        "horovod": False,
        "ddp": False,
        "tensor_parallel_degree": 1,
        "sdp_reduce_bucket_size": 500000000,
        "sdp_param_persistence_threshold": 1000000,
        "sdp_max_live_parameters": 1000000000,
        "sdp_hierarchical_allgather": True,
        "sdp_gradient_clipping": 1.0,
        "ddp_port": None,
        "ddp_dist_backend": "nccl",
        "contiguous": True,
        "placement_strategy": "cluster",
        "optimize": "speed",
        "default_partition": None,
        "auto_partition": True,
        "prescaled_batch": False,
        "memory_weight": 0.8,
        "active_microbatches": min(degree + 2, microbatches),
        "fp16": False,
        "fp16_params": False,
        "bf16": False,
        "tensor_parallel_seed": 0,
        "offload_activations": False,
        "shard_optimizer_state": False,
        "sharded_data_parallel_degree": 1,
        "delayed_parameter_initialization": False,
        "skip_tracing": False,
        "activation_loading_horizon": 4,
    }
    return {**configuration, **given}
