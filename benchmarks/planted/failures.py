"""What does a process print when it dies, what do its peers, and what does SageMaker say of it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.planted.plan import Plan


@dataclass(frozen=True, slots=True)
class Failure:
    """One way to die. ``lines`` are of the rank where it begins; ``exit_code`` is what the process returns."""

    lines: Callable[[Plan], list[str]]
    exit_code: int = 1
    collective: bool = False
    """All ranks print it, each of its own, instead of one."""


def _trace(*frames: tuple[str, int, str, str]) -> list[str]:
    lines = ["Traceback (most recent call last):"]
    for file, number, name, code in frames:
        lines += [f'  File "{file}", line {number}, in {name}', f"    {code}"]
    return lines


_MAIN = ("/opt/ml/code/train.py", 412, "<module>", "main()")
_LOOP = ("/opt/ml/code/train.py", 367, "main", "loss = train_step(model, batch)")
_NEXT = ("/opt/ml/code/train.py", 358, "main", "for step, batch in enumerate(loader):")
_FETCH = (
    "/opt/conda/lib/python3.10/site-packages/torch/utils/data/_utils/fetch.py",
    51,
    "fetch",
    "data = [self.dataset[idx] for idx in possibly_batched_index]",
)


def _cuda_memory(plan: Plan) -> list[str]:
    total = plan.hardware.gpu_gib * 0.985
    held = total * 0.962
    return [
        *_trace(_MAIN, _LOOP, ("/opt/ml/code/train.py", 203, "train_step", "loss.backward()")),
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.53 GiB. GPU 3 has a total capacity of"
        f" {total:.2f} GiB of which {total - held:.2f} GiB is free. Process 7021 has {held:.2f} GiB memory in use. Of the"
        f" allocated memory {held * 0.95:.2f} GiB is allocated by PyTorch, and {held * 0.03:.2f} GiB is reserved by PyTorch"
        " but unallocated.",
    ]


def _cuda_memory_old(plan: Plan) -> list[str]:
    total = plan.hardware.gpu_gib * 0.985
    return [
        *_trace(
            _MAIN, _LOOP, ("/opt/ml/code/model.py", 88, "forward", "scores = torch.matmul(q, k.transpose(-1, -2))")
        ),
        f"RuntimeError: CUDA out of memory. Tried to allocate 812.00 MiB (GPU 3; {total:.2f} GiB total capacity;"
        f" {total * 0.93:.2f} GiB already allocated; 310.75 MiB free; {total * 0.95:.2f} GiB reserved in total by PyTorch)",
    ]


def _cublas(plan: Plan) -> list[str]:
    return [
        *_trace(_MAIN, _LOOP, ("/opt/ml/code/model.py", 61, "forward", "return self.proj(hidden)")),
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ]


def _missing_file(plan: Plan) -> list[str]:
    open_ = ("/opt/ml/code/data.py", 74, "__getitem__", "with open(self.files[index], 'rb') as handle:")
    return [
        *_trace(_MAIN, _NEXT, _FETCH, open_),
        "FileNotFoundError: [Errno 2] No such file or directory: '/opt/ml/input/data/training/shard_0419.bin'",
    ]


def _bad_image(plan: Plan) -> list[str]:
    open_ = ("/opt/ml/code/data.py", 39, "__getitem__", "image = Image.open(path).convert('RGB')")
    return [
        *_trace(_MAIN, _NEXT, _FETCH, open_),
        "PIL.UnidentifiedImageError: cannot identify image file '/opt/ml/input/data/training/n0291/img_77.jpeg'",
    ]


def _bad_text(plan: Plan) -> list[str]:
    read = ("/opt/ml/code/data.py", 22, "read_rows", "for line in handle:")
    return [
        *_trace(_MAIN, _NEXT, _FETCH, read),
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x9c in position 5211: invalid start byte",
    ]


def _bad_row(plan: Plan) -> list[str]:
    read = ("/opt/ml/code/data.py", 31, "read_rows", "record = json.loads(line)")
    return [
        *_trace(_MAIN, _NEXT, _FETCH, read),
        "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 318 (char 317)",
    ]


def _attribute(plan: Plan) -> list[str]:
    call = ("/opt/ml/code/train.py", 231, "train_step", "metrics.update(outputs.router_logits)")
    return [*_trace(_MAIN, _LOOP, call), "AttributeError: 'CausalLMOutput' object has no attribute 'router_logits'"]


def _key(plan: Plan) -> list[str]:
    call = ("/opt/ml/code/train.py", 118, "build", "optimizer.load_state_dict(state['optimizer'])")
    return [*_trace(_MAIN, call), "KeyError: 'optimizer'"]


def _division(plan: Plan) -> list[str]:
    call = ("/opt/ml/code/train.py", 240, "train_step", "accuracy = right / seen")
    return [*_trace(_MAIN, _LOOP, call), "ZeroDivisionError: division by zero"]


def _import(plan: Plan) -> list[str]:
    call = ("/opt/ml/code/train.py", 14, "<module>", "from rotary import apply_rotary")
    return [*_trace(call), "ModuleNotFoundError: No module named 'rotary'"]


def _secret(plan: Plan) -> list[str]:
    call = ("/opt/ml/code/tracking.py", 17, "key_of", "return client.get_secret_value(SecretId=name)['SecretString']")
    return [
        *_trace(_MAIN, call),
        "botocore.exceptions.ClientError: An error occurred (AccessDeniedException) when calling the GetSecretValue"
        " operation: User: arn:aws:sts::111122223333:assumed-role/TrainingRole/SageMaker is not authorized to perform:"
        " secretsmanager:GetSecretValue on resource: tracking/key because no identity-based policy allows the"
        " secretsmanager:GetSecretValue action",
    ]


def _refused_object(plan: Plan) -> list[str]:
    call = ("/opt/ml/code/data.py", 44, "shard", "return s3.get_object(Bucket=bucket, Key=key)['Body']")
    return [
        *_trace(_MAIN, _NEXT, _FETCH, call),
        "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the GetObject operation: Access Denied",
    ]


def _killed(plan: Plan) -> list[str]:
    return ["Killed"]


def _watchdog(plan: Plan) -> list[str]:
    minutes = round(plan.ending.silence_s / 600) * 10 or 10
    limit = minutes * 60_000
    return [
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88214, OpType=ALLREDUCE, NumelIn=26214400,"
        f" NumelOut=26214400, Timeout(ms)={limit}) ran for {limit + 431} milliseconds before timing out."
    ]


FAILURES = {
    "cuda": Failure(_cuda_memory),
    "cuda-old": Failure(_cuda_memory_old),
    "cublas": Failure(_cublas),
    "missing-file": Failure(_missing_file),
    "bad-image": Failure(_bad_image),
    "bad-text": Failure(_bad_text),
    "bad-row": Failure(_bad_row),
    "attribute": Failure(_attribute),
    "key": Failure(_key),
    "division": Failure(_division),
    "import": Failure(_import),
    "secret": Failure(_secret),
    "refused-object": Failure(_refused_object),
    "killed": Failure(_killed, 137),
    "watchdog": Failure(_watchdog, collective=True),
}

_NOT_ALLOWED = "User: arn:aws:sts::111122223333:assumed-role/TrainingRole/SageMaker is not authorized to perform:"
NEVER_STARTED = {
    "": "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type.",
    "image": "ClientError: Access denied for repository: training in registry ID: 111122223333. Please check if your ECR"
    " repository and image exist and role arn:aws:iam::111122223333:role/TrainingRole has proper pull permissions for"
    " SageMaker: ecr:BatchCheckLayerAvailability, ecr:BatchGetImage, ecr:GetDownloadUrlForLayer",
    "input": f"ClientError: Data download failed: {_NOT_ALLOWED} s3:ListBucket on resource:"
    ' "arn:aws:s3:::corpus" because no identity-based policy allows the s3:ListBucket action',
    "input-key": f"ClientError: Failed to download data. {_NOT_ALLOWED} kms:Decrypt on resource:"
    " arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab because no identity-based policy"
    " allows the kms:Decrypt action",
    "file-system": f"ClientError: File system mount failed: {_NOT_ALLOWED} elasticfilesystem:ClientMount on resource:"
    " arn:aws:elasticfilesystem:us-east-1:111122223333:file-system/fs-01234567",
}
"""What SageMaker gives as reason where the container never ran; ``""`` is a lack of capacity."""
