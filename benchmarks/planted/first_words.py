"""What stands at the head of the logs: the toolkit, the launcher, NCCL, and what is done before the first step."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.planted.dialect import stamp
from benchmarks.planted.last_words import Line
from benchmarks.planted.plan import Plan


def head(plan: Plan, began_s: float) -> Iterator[Line]:
    """From the container's first second to the training loop."""
    ready = plan.opening.imports_s
    for node in range(plan.nodes):
        name = f"algo-{node + 1}"
        yield _said(1.0, began_s, node, "Imported framework sagemaker_pytorch_container.training")
        yield _said(1.2, began_s, node, "Invoking user script")
        for number, text in enumerate(_environment(plan, name)):
            yield Line(1.3 + number * 0.001, node, None, text)
    yield from _launch(plan, began_s)
    yield from _nccl(plan, ready)
    for number, text in enumerate(plan.opening.data_lines):
        share = number / len(plan.opening.data_lines)
        yield Line(ready + 2 + share * plan.opening.data_s, 0, 0, text)


def _environment(plan: Plan, name: str) -> list[str]:
    listed = ", ".join(f'"{host}"' for host in plan.hosts)
    return [
        "Training Env:",
        "{",
        '    "channel_input_dirs": {"training": "/opt/ml/input/data/training"},',
        f'    "current_host": "{name}",',
        f'    "current_instance_type": "{plan.hardware.name}",',
        f'    "hosts": [{listed}],',
        f'    "num_cpus": {plan.hardware.vcpus},',
        f'    "num_gpus": {plan.hardware.gpus}',
        "}",
    ]


def _launch(plan: Plan, began_s: float) -> Iterator[Line]:
    each = plan.ranks_a_node
    if plan.launcher == "torchrun":
        for node in range(plan.nodes):
            yield Line(
                3.0,
                node,
                None,
                f"torchrun --nnodes {plan.nodes} --nproc_per_node {each} --node_rank {node} --master_addr algo-1"
                " --master_port 7777 train.py",
            )
    elif plan.launcher == "mpi":
        order = plan.hosts
        slots = [f"{host}:{each}" for host in order]
        yield _said(
            2.5, began_s, 0, f"Env Hosts: {order} Hosts: {slots} process_per_hosts: {each} num_processes: {plan.world}"
        )
        yield Line(
            3.0,
            0,
            None,
            f"mpirun --host {','.join(slots)} -np {plan.world} --allow-run-as-root --display-map --tag-output python train.py",
        )
        at = 4.0
        for number, host in enumerate(order):
            yield Line(at, 0, None, f" Data for node: {host}#011Num slots: {each}#011Max slots: 0#011Num procs: {each}")
            for rank in range(number * each, (number + 1) * each):
                yield Line(at, 0, None, f" #011Process OMPI jobid: [4711,1] App: 0 Process rank: {rank} Bound: N/A")
            at += 0.001
        for node in range(1, plan.nodes):
            yield _said(3.0, began_s, node, "Starting MPI run as worker node.")
            yield _said(3.5, began_s, node, "Waiting for MPI Master to create SSH daemon.")


def _nccl(plan: Plan, at_s: float) -> Iterator[Line]:
    if not plan.network or plan.world == 1:
        return
    for node in range(plan.nodes):
        rank = plan.first_rank(node)
        front = f"algo-{node + 1}:{101 + node}:{140 + node} [0] NCCL"
        texts = [f"{front} INFO Bootstrap : Using eth0:10.0.{node}.17<0>"]
        if plan.network == "efa":
            texts += [
                f"{front} INFO NET/OFI Initializing aws-ofi-nccl 1.9.1-aws",
                f"{front} INFO NET/OFI Selected Provider is efa (found 4 nics)",
                f"{front} INFO Using network AWS Libfabric",
            ]
        elif plan.network == "no-efa":
            texts += [
                f"{front} INFO NET/OFI Initializing aws-ofi-nccl 1.9.1-aws",
                f"{front} WARN NET/OFI No eligible providers were found",
                f"{front} INFO NET/IB : No device found.",
                f"{front} INFO NET/Socket : Using [0]eth0:10.0.{node}.17<0>",
                f"{front} INFO Using network Socket",
            ]
        else:
            texts += [
                f"{front} INFO NET/IB : No device found.",
                f"{front} INFO NET/Socket : Using [0]eth0:10.0.{node}.17<0>",
                f"{front} INFO Using network Socket",
            ]
        for number, text in enumerate(texts):
            yield Line(at_s + 0.5 + number * 0.001, node, rank, text)


def _said(at_s: float, began_s: float, node: int, text: str) -> Line:
    clock = datetime.fromtimestamp(began_s + at_s, UTC)
    return Line(at_s, node, None, f"{stamp(clock)} sagemaker-training-toolkit INFO     {text}")
