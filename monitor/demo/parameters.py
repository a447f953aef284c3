"""Which hyperparameters does a sample job carry, and which model-parallel configuration comes of them?"""

from __future__ import annotations

from collections.abc import Mapping

from monitor.demo.story import Story

BUCKET = "s3://sagemaker-us-east-1-123456789012"


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
