"""What does a container log at its end, and what does a failed job give as the reason?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from monitor.demo.schedule import Attempt, SampleJob
from monitor.demo.story import OutOfMemory, Story
from monitor.demo.toolkit import Line, info, rank_line, user_arguments
from monitor.demo.work import Span


def success(job: SampleJob, attempt: Attempt, node: str, span: Span) -> Iterator[Line]:
    """The last lines of a node whose program ended well."""
    story = job.story
    at = attempt.began + timedelta(seconds=span.start_s)
    later = attempt.began + timedelta(seconds=span.end_s - 1.0)
    if story.launcher == "mpi" and node != story.leader:
        yield Line(span.start_s + 0.3, info(at, "Orted process exited"))
        yield Line(span.end_s - 1.0, info(later, "MPI process finished."))
        yield Line(span.end_s - 0.9, info(later, "Reporting training SUCCESS"))
        return
    if story.launcher == "mpi":
        yield Line(span.start_s + 0.1, rank_line(0, "SMP training finished successfully", story.processes_per_node))
    yield Line(span.start_s + 0.2, info(at, "Waiting for the process to finish and give a return code."))
    yield Line(span.start_s + 0.3, info(at, "Done waiting for a return code. Received 0 from exiting process."))
    yield Line(span.end_s - 0.9, info(later, "Reporting training SUCCESS"))


def out_of_memory(job: SampleJob, attempt: Attempt, node: str, span: Span, fault: OutOfMemory) -> Iterator[Line]:
    """The failing rank's traceback, mpirun's verdict and the toolkit's summary, all in the leader's stream."""
    story = job.story
    per_node = story.processes_per_node
    ends = attempt.began + timedelta(seconds=span.end_s - 2.0)
    if node != story.leader:
        yield Line(span.end_s - 1.5, info(ends, "Orted process exited"))
        return
    trace = (
        "Traceback (most recent call last):",
        f'  File "{story.script}", line 431, in <module>',
        "    main()",
        f'  File "{story.script}", line 384, in main',
        "    loss = train_step(model, optimizer, input_ids, attention_mask)",
        '  File "/opt/ml/code/model.py", line 212, in forward',
        "    hidden = self.mlp(self.norm(hidden))",
        _error(story, fault),
    )
    for number, text in enumerate(trace):
        yield Line(span.start_s + 0.8 + number * 0.002, rank_line(fault.rank, text, per_node, "stderr"))
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
        info(ends, "Reporting training FAILURE", level="ERROR"),
        info(ends, "ExecuteUserScriptError:", level="ERROR"),
        *failure_reason(story, fault).splitlines()[1:],
        info(ends, "Encountered exit_code 1", level="ERROR"),
    )
    for number, text in enumerate(verdict):
        yield Line(span.end_s - 2.0 + number * 0.002, text)


def failure_reason(story: Story, fault: OutOfMemory) -> str:
    """The summary that the toolkit logs and SageMaker gives as FailureReason, before it is cut."""
    hosts = ",".join(f"{host}:{story.processes_per_node}" for host in story.training_nodes)
    return (
        "ExecuteUserScriptError:\nExitCode 1\n"
        f'ErrorMessage "{_error(story, fault)}"\n'
        f'Command "mpirun --host {hosts} -np {story.world_size} --display-map --tag-output /opt/conda/bin/python3.8 '
        f'-m mpi4py {story.script} {user_arguments(story)}"'
    )


def _error(story: Story, fault: OutOfMemory) -> str:
    gpu = fault.rank % story.processes_per_node
    total_gib = story.hardware(story.leader).gpu_memory_gib - 0.41
    return (
        f"RuntimeError: CUDA out of memory. Tried to allocate {fault.wanted} (GPU {gpu}; {total_gib:.2f} GiB total "
        f"capacity; {total_gib - 2.38:.2f} GiB already allocated; 498.19 MiB free; {total_gib - 1.36:.2f} GiB reserved "
        "in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
        "fragmentation."
    )
