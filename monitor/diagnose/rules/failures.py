"""Rules about what ended a job: one cause, the first one, with all that only follows from it folded beneath."""

from __future__ import annotations

from monitor.analyze.ending import FULL_PCT, Ending
from monitor.analyze.memory import fill
from monitor.analyze.single_gpus import fullest_before
from monitor.diagnose.endings import description as ended
from monitor.diagnose.endings import from_inside as raised
from monitor.diagnose.endings import from_inside as refused
from monitor.diagnose.endings import from_inside as waited
from monitor.diagnose.endings import from_outside
from monitor.diagnose.hints import when_building
from monitor.diagnose.memory_advice import advice
from monitor.diagnose.rulebook import Case, rule
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import percent


@rule("cuda-out-of-memory", needs="logs", about="end")
def cuda_out_of_memory(case: Case) -> Finding | None:
    """A GPU ran out of memory, and that ended the job.

    What it means: the first error that stopped the training is an allocation that the GPU refused (PyTorch's CUDA
    out of memory, CUBLAS or CUDNN ALLOC_FAILED, XLA's and TensorFlow's RESOURCE_EXHAUSTED). Errors of other ranks, NCCL
    and the launcher that follow from it are counted, not listed.

    Why it matters: the same configuration fails again at the same place, and every attempt is paid for.

    What to do: make the model fit, with the cheapest change first: a smaller batch with more accumulation,
    recomputing activations, sharding parameters and optimizer state, tensor parallelism.

    Source: the error messages of PyTorch, CUDA, XLA and TensorFlow; the order is that of the libraries' own memory
    guides.
    """
    ending = _ending(case, "cuda-out-of-memory")
    if ending is None:
        return None
    found = fill(case.run.events, ending.first)
    next_step = advice(case, found)
    sizes = ""
    if found.wanted is not None:
        held = found.peak if found.peak is not None else found.now
        of = f" of {found.capacity:.1f}" if found.capacity is not None else ""
        used = "" if held is None else f" with {held:.1f}{of} GiB in use by this process"
        sizes = f" It tried to allocate {found.wanted:.2f} GiB{used}."
        if found.shared:
            sizes += " Another process holds the rest of the device."
    named = (
        ("in use", found.peak),
        ("allocated tensors", found.now),
        ("capacity", found.capacity),
        ("requested", found.wanted),
    )
    node = ending.first.node or None if ending.first else None
    figures = tuple(
        Evidence(f"GPU memory, {what}", size, "GiB", node, ending.at, ending.at, view="gpu_memory_utilization")
        for what, size in named
        if size is not None
    )
    full = fullest_before(case.run.gpus, node, ending.at) if node and ending.at else None
    seen = ""
    if full is not None:
        seen = (
            f" Shortly before, the profiler shows GPU {full.gpu} of {full.node} at {percent(full.pct)}, where the mean over "
            f"its GPUs was {percent(full.host_pct)}."
        )
        what = f"GPU memory of GPU {full.gpu}, the fullest"
        figures = (*figures, Evidence(what, full.pct, "%", full.node, full.at, full.at, view="gpu_memory_utilization"))
    return Finding(
        "cuda-out-of-memory",
        "critical",
        ending.confidence,
        f"GPU memory ran out{ended.where_words(ending.first)}",
        f"{ended.opening(case, ending, 'ran out of GPU memory')}{sizes}{seen}{ended.rest(case, ending)}",
        (*ended.shown(case, ending), *figures),
        next_step.recommendation,
        next_step.prediction,
        not_checked=("what held the memory: no allocator snapshot is taken",),
        savings=ended.not_saved(case, ending.at),
    )


@rule("host-out-of-memory", needs="logs", about="end")
def host_out_of_memory(case: Case) -> Finding | None:
    """A process ran out of host memory, or was killed by the signal that the kernel sends in that case.

    What it means: the first thing that went wrong is a MemoryError, a kill by the kernel's out-of-memory killer, exit
    status 137 or SIGKILL. MemoryUtilization near 100 % confirms it; otherwise the finding says what else may have
    killed the process, and its confidence is lower.

    Why it matters: a killed process logs nothing; the other ranks wait for it, or fail with errors of their own.

    What to do: use fewer or leaner data-loader workers, do not hold a whole data set in memory, load checkpoints on
    one rank at a time, offload less to the CPU; or use an instance with more memory.

    Source: exit status 137 is 128 + SIGKILL; MemoryUtilization of the host in CloudWatch; the 90 % is this project's.
    """
    ending = _ending(case, "host-out-of-memory")
    if ending is None:
        return None
    full, what, memory = ending.memory_pct, "ran out of host memory", ""
    if ending.kind == "shared-memory":
        what = "ran out of shared memory"
        memory = " Data-loader workers pass batches through it (/dev/shm)."
    elif ending.kind == "killed":
        what = "was killed by SIGKILL"
        memory = " The kernel does that when host memory runs out (exit status 137)."
    memory += "" if full is None else f" MemoryUtilization reached {percent(full)} in the last minutes."
    if full is None and ending.kind == "killed":
        memory += " No memory metric from those minutes confirms it."
    elif full is not None and full < FULL_PCT:
        memory += " One-minute means can miss a short peak."
    evidence = (
        ()
        if full is None
        else (Evidence("MemoryUtilization, maximum in the last minutes", full, "%", view="memory_utilization"),)
    )
    workers = "fewer or leaner data-loader workers (num_workers, prefetch_factor, no data set in Python lists)"
    return Finding(
        "host-out-of-memory",
        "critical",
        ending.confidence,
        f"{'Process killed' if ending.kind == 'killed' else 'Host memory ran out'}{ended.where_words(ending.first)}",
        f"{ended.opening(case, ending, what)}{memory}{ended.doubt(ending)}{ended.rest(case, ending)}",
        (*ended.shown(case, ending), *evidence),
        Recommendation(
            f"Start with {workers}; then load checkpoints on one rank at a time, offload less to the CPU, or use an "
            f"instance with more memory.{when_building(case)}",
            source=ended.SOURCE,
        ),
        not_checked=("the host's kernel log: it is not in CloudWatch",),
        savings=ended.not_saved(case, ending.at),
    )


@rule("nccl-timeout", needs="logs", about="end")
def nccl_timeout(case: Case) -> Finding | None:
    """Ranks waited for others in a collective operation until its timeout ended the job.

    What it means: the first error is a collective's watchdog or timeout (NCCL, Gloo, the store's barrier), and no rank failed
    with an error of its own before it. The silence before it belongs to it.

    Why it matters: until the timeout, 10 to 30 minutes by default, all GPUs are paid for while they spin in the wait and
    look fully busy.

    What to do: look first at the ranks that did not report: they are the ones the others waited for. Unequal numbers
    of batches, a save or evaluation on some ranks only, or a dead host are the usual causes.

    Source: the messages of PyTorch's ProcessGroupNCCL and Gloo; torchrun's "root cause" is not used here, because it
    names the process that it saw exit first, which was waiting like the others.
    """
    ending = _ending(case, "nccl-timeout")
    return None if ending is None else waited.collective_timeout(case, ending)


# One that the job outlived ended nothing: it stands where its cost places it.
@rule("spot-interruption", needs="logs", whole_log=True)
def spot_interruption(case: Case) -> Finding | None:
    """A spot instance was reclaimed, and the job waited, restarted or ended.

    What it means: the job's status was Interrupted, or its log contains the interruption notice. It is critical if
    the job never resumed, otherwise a warning.

    Why it matters: the steps since the last checkpoint are done again, and waiting for capacity, though not billed,
    takes time.

    What to do: save about as often as sqrt(2 x time of a save x mean time between interruptions), to the
    CheckpointConfig folder, and load it at the start.

    Source: SecondaryStatusTransitions of managed spot training (SageMaker developer guide); Young's formula.
    """
    return from_outside.spot(case)


@rule("capacity", needs="nothing", about="end")
def capacity(case: Case) -> Finding | None:
    """The job never got its instances.

    What it means: SageMaker ended it with CapacityError, or the status messages mention insufficient capacity, and no
    container ever started.

    Why it matters: nothing was billed, and the same request fails again until there is capacity.

    What to do: try another instance type, Region or time; fewer instances; a training plan for a guaranteed start.

    Source: FailureReason and SecondaryStatusTransitions of DescribeTrainingJob.
    """
    ending = _ending(case, "capacity")
    return None if ending is None else from_outside.no_capacity(case, ending)


@rule("access-denied", needs="nothing", about="end")
def access_denied(case: Case) -> Finding | None:
    """AWS refused something to the job's execution role.

    What it means: SageMaker, or the program itself, was not allowed to pull the image, read or decrypt the input, mount a
    file system, join the network or write the output. The missing permission is quoted where the text names it; else
    those that are usually missing are named.

    Why it matters: the same job fails again at the same place until somebody changes a policy.

    What to do: add the statement to the policy of the job's execution role. If it is there, look at the policy of the
    bucket, key or repository, at a permissions boundary, and in a VPC without internet access at the policies of its endpoints.

    Source: FailureReason of DescribeTrainingJob, the errors of botocore and the AWS CLI; the permissions of an execution
    role are those of the SageMaker developer guide.
    """
    ending = _ending(case, "access-denied")
    return None if ending is None else refused.access_denied(case, ending)


@rule("data-error", needs="logs", about="end")
def data_error(case: Case) -> Finding | None:
    """The program failed on its data: missing, unreadable, or of the wrong format or shape.

    What it means: the exception that started the failure names the data, or its traceback goes through the code that
    reads it, or a batch had a different shape from those of earlier steps.

    Why it matters: a restart fails at the same sample, after paying for the same time.

    What to do: find the file or sample named in the log line; check it outside the job, or skip and count bad samples.

    Source: the exceptions of Python, PyTorch, PIL, Arrow, TensorFlow and S3, and the files of the traceback.
    """
    ending = _ending(case, "data-error")
    return None if ending is None else raised.of_data(case, ending)


@rule("script-error", needs="logs", about="end")
def script_error(case: Case) -> Finding | None:
    """The training program failed with an error of its own.

    What it means: the exception that started the failure has nothing to do with memory, timeouts or data: an import, an
    argument, a name, an assertion, a configuration.

    Why it matters: the same program fails again; later errors of other ranks, NCCL and the launcher are consequences.

    What to do: go to the program line that the finding names.

    Source: the first traceback, across all streams, that stopped the training.
    """
    ending = _ending(case, "script-error")
    return None if ending is None else raised.of_program(case, ending)


@rule("nan-loss", needs="logs", about="end", whole_log=True)
def nan_loss(case: Case) -> Finding | None:
    """The loss became NaN or infinite and stayed so.

    What it means: one process reported a NaN or infinite loss three times in a row, or the program exited because of one.
    Also reported for jobs that completed: they trained nothing from there on.

    Why it matters: the weights are useless from that step on, and every further step is wasted.

    What to do: go back to the last checkpoint before it; lower the learning rate or warm up longer, clip gradients,
    use bfloat16 instead of float16, and look at the batch of that step.

    Source: the loss as the log prints it; three in a row is this project's safeguard against single bad batches.
    """
    return raised.lost_loss(case, _ending(case, "nan-loss"))


@rule("max-runtime", needs="nothing", about="end")
def max_runtime(case: Case) -> Finding | None:
    """The job reached its time limit before its work was done.

    What it means: SageMaker stopped it with MaxRuntimeExceeded or MaxWaitTimeExceeded, or a scheduler at its time limit.

    Why it matters: the work since the last checkpoint is lost, unless the program saves when it is stopped.

    What to do: raise MaxRuntimeInSeconds (max_run) to cover all planned steps, or resume from the checkpoint.

    Source: SecondaryStatus and StoppingCondition of DescribeTrainingJob.
    """
    ending = _ending(case, "max-runtime")
    return None if ending is None else from_outside.out_of_time(case, ending)


@rule("stopped-by-user", needs="nothing", about="end")
def stopped_by_user(case: Case) -> Finding | None:
    """Somebody stopped the job.

    What it means: its status is Stopped, and it had reached no time limit and logged no error that stopped the training.

    Why it matters: it explains why the job did not finish; by itself it is not a problem.

    What to do: nothing, or resume from the last checkpoint.

    Source: SecondaryStatus of DescribeTrainingJob; who stopped it is in CloudTrail.
    """
    ending = _ending(case, "stopped-by-user")
    return None if ending is None else from_outside.stopped(case)


def _ending(case: Case, id: str) -> Ending | None:
    return case.ending if case.ending is not None and case.ending.id == id else None
