"""What the texts of a failure say of its cause: a log line, SageMaker's FailureReason and status changes, a refusal by AWS,
and whether an exception concerns the program's data or the program itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from monitor.model import Job

#: device-memory host-memory shared-memory hardware nan data? program: a cause in its own words ("program" is what is left,
#: which may concern the data). killed: by a signal that nobody explains. timeout: others were waited for. crash: native
#: code, or NCCL, gave up. gone: a peer is missed. summary: the launcher's words, or a signal from outside.
Kind = Literal[
    "device-memory",
    "host-memory",
    "shared-memory",
    "hardware",
    "nan",
    "program",
    "killed",
    "timeout",
    "crash",
    "gone",
    "summary",
]

#: How much a kind explains; of errors that no clock puts in order the one that explains the most began it.
STRENGTH: dict[str, int] = {
    **dict.fromkeys(("device-memory", "host-memory", "shared-memory", "hardware", "nan", "program"), 4),
    "killed": 3,
    "timeout": 2,
    "crash": 1,
    "gone": 1,
    "summary": 0,
}
#: From here on an error names a cause, and is no echo of another one.
NAMES_A_CAUSE = 2


@dataclass(frozen=True, slots=True)
class _Words:
    kind: Kind
    pattern: re.Pattern[str]


def _words(kind: Kind, pattern: str) -> _Words:
    return _Words(kind, re.compile(pattern))


# The first that knows a text names its kind: the exact before the general.
_TABLE = (
    _words("killed", r"terminated with signal SIGKILL|died with <Signals\.SIGKILL"),
    _words(
        "shared-memory",
        r"(?i)killed by signal: Bus error|Unexpected bus error|out of shared memory|insufficient shared memory"
        r"|unable to (?:open|mmap|write to) (?:file|shared memory)[^\n]{0,40}(?:torch_|shared memory)|/dev/shm",
    ),
    _words(
        "host-memory",
        r"\bMemoryError\b|_ArrayMemoryError|running low on memory"
        r"|std::bad_alloc(?!.*(?:CUDA|cuda|rmm))|\[Errno 12\]|(?i:cannot allocate memory)"
        r"|DefaultCPUAllocator|by allocator cpu\b|(?i:out of memory: kill(?:ed)? process)|(?i:oom[-_ ]?kill|oom_reaper)"
        r"|killed by signal: Killed",
    ),
    _words(
        "device-memory",
        r"\b(?:CUDA|HIP) (?:error: )?out of memory|\bOutOfMemoryError\b|C(?:UBLAS|UDNN)_STATUS_ALLOC_FAILED"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc (?:retry )?failed: out of memory"
        r"|RESOURCE_EXHAUSTED:.*(?:[Oo]ut of memory|OOM|alloc)|ResourceExhaustedError|OOM when allocating"
        r"|Cuda failure (?:\d )?'out of memory'|rmm::.{0,20}out_of_memory|Error out of memory at line \d"
        r"|Out of memory allocating \d+ bytes|[Oo]ut of memory error on GPU|in memory space hbm",
    ),
    # Of NVIDIA's Xids those of the device, not those that a program's own fault or end brings about.
    _words(
        "hardware",
        r"Xid \(.{0,60}?\): (?:48|63|64|74|79|92|94|95|119|120|140)\b|fallen off the bus|uncorrectable .{0,20}ECC error",
    ),
    _words("crash", r"Xid \("),
    _words(
        "nan",
        r"(?i)\bfound nan in local|loss (?:returned )?in \S{1,60} is nan|returned nan values in its"
        r"|loss became infinite or nan|FloatingPointError: .{0,80}\bloss\b|\bloss\b.{0,30}\b(?:is|became|was) (?:nan|inf)"
        r"|\bnan\b.{0,20}\b(?:detected|found|encountered)\b.{0,40}\b(?:loss|grad)"
        r"|\b(?:loss|grad)\w*.{0,30}\b(?:contains?|has) nan",
    ),
    _words(
        "timeout",
        r"[Ww]atchdog caught collective|collective (?:operation )?timeout|operations have failed or timed out"
        r"|watchdog got stuck|Timed out waiting \d+ ?ms|Timed out initializing process group|Timeout at NCCL work"
        r"|Heartbeat monitor timed out|failed to pass monitoredBarrier|seconds waiting for clients|wait timeout after \d+ ?ms"
        r"|\b[Bb]arrier timed out"
        r"|(?<!due to an error of type )RendezvousTimeoutError|DistStoreError: (?:Socket )?[Tt]ime(?:d )?out",
    ),
    _words(
        "summary",
        r"ChildFailedError|SignalException|ExecuteUserScriptError|CalledProcessError|KeyboardInterrupt|SystemExit\b"
        r"|ProcessRaisedException|ProcessExitedException|ProcessException|RendezvousClosedError|RendezvousConnectionError",
    ),
    _words(
        "gone",
        r"(?i)connection (?:was )?(?:closed|reset|refused|aborted)|closed by (?:remote )?peer|broken pipe"
        r"|socket (?:timeout|closed)|remote process (?:has )?(?:exited|terminated)|remote peer|ncclRemoteError|ncclSystemError"
        r"|unhandled system error|DistNetworkError|failed to recv|communicator was aborted|process group .{0,40}abort"
        r"|Connection(?:Reset|Refused|Aborted)Error|BrokenPipeError|HorovodInternalError|connectFullMesh|RendezvousGracefulExit"
        r"|\b(?:Unavailable|Aborted|Cancelled)Error\b|application timeout caused pair closure|aborting all (?:processes|ranks)"
        r"|coordination service.{0,80}(?:error|shut)",
    ),
    _words("killed", r"(?:^|[\s:])Killed\b|\bSIGKILL\b|Killed\s*$"),
    _words(
        "crash",
        r"Segmentation fault|Bus error|Aborted|terminate called|Fatal Python error|unhandled cuda error|ncclUnhandledCudaError"
        r"|ncclInternalError|ncclInvalidUsage|NCCL (?:WARN|error)|DistBackendError|killed by signal|exited unexpectedly"
        r"|cudaErrorLaunchFailure|unspecified launch failure",
    ),
)


def kind_of(text: str) -> Kind:
    """The kind of cause that an error's text names; "program" for every other exception."""
    return next((words.kind for words in _TABLE if words.pattern.search(text)), "program")


def strength(text: str) -> int:
    """How much an error's text explains, by ``STRENGTH``."""
    return STRENGTH[kind_of(text)]


# Words of a refusal. By themselves they may be a hub's, a proxy's or a file system's.
_REFUSED = re.compile(
    r"(?i)access ?denied|not authorized|unauthorized(?:operation|access)?|forbidden|\(403\)|permissions? (?:are|is) incorrect"
    r"|does not (?:have|grant)\b.{0,200}permission|(?:identity|resource)-based policy allows|explicit deny"
    r"|insufficient (?:iam )?permissions|(?:could|can)(?: ?not|n't) (?:be )?assumed?\b|unable to assume|lacks? .{0,60}permission"
)
# What only AWS says.
_OF_AWS = re.compile(
    r"when calling the \w+ operation|\barn:aws[\w-]*:|\bassumed-role/|is not authorized to perform"
    r"|\.amazonaws\.com|(?i:\b(?:fatal error|download failed|upload failed): .{0,200}(?:AccessDenied|\(403\)))"
)
_NAMED = re.compile(
    r"\b(?P<action>(?:ecr|s3|kms|fsx|ec2|elasticfilesystem|sts|iam|secretsmanager|sagemaker|logs|cloudwatch|ssm):"
    r"[A-Z][A-Za-z]+)\b"
)
_RESOURCE = re.compile(r"on (?:the )?resource:? (?P<arn>arn:aws[\w-]*:[^\s\"',;)]+)")
_OPERATION = re.compile(r"when calling the (?P<operation>\w+) operation")
_S3_URI = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?P<key>/[^\s\"',;)]*)?")
# What an operation asks for, where the two have different names.
_BY_OPERATION = {
    "HeadObject": ("s3:GetObject",),
    "GetObject": ("s3:GetObject",),
    "ListObjects": ("s3:ListBucket",),
    "ListObjectsV2": ("s3:ListBucket",),
    "HeadBucket": ("s3:ListBucket",),
    "PutObject": ("s3:PutObject",),
    "CreateMultipartUpload": ("s3:PutObject",),
    "UploadPart": ("s3:PutObject",),
    "CopyObject": ("s3:GetObject", "s3:PutObject"),
    "Decrypt": ("kms:Decrypt",),
    "GenerateDataKey": ("kms:GenerateDataKey",),
    "CreateGrant": ("kms:CreateGrant",),
    "AssumeRole": ("sts:AssumeRole",),
    "GetAuthorizationToken": ("ecr:GetAuthorizationToken",),
    "BatchGetImage": ("ecr:BatchGetImage",),
    "GetDownloadUrlForLayer": ("ecr:GetDownloadUrlForLayer",),
    "CreateNetworkInterface": ("ec2:CreateNetworkInterface",),
    "DescribeNetworkInterfaces": ("ec2:DescribeNetworkInterfaces",),
    "DescribeFileSystems": ("fsx:DescribeFileSystems",),
    "GetSecretValue": ("secretsmanager:GetSecretValue",),
}
_PULL = (
    "ecr:GetAuthorizationToken",
    "ecr:BatchCheckLayerAvailability",
    "ecr:GetDownloadUrlForLayer",
    "ecr:BatchGetImage",
)
_NETWORK = (
    *("ec2:CreateNetworkInterface", "ec2:CreateNetworkInterfacePermission", "ec2:DeleteNetworkInterface"),
    *("ec2:DescribeNetworkInterfaces", "ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups"),
)
# (what a refusal is of, by the words around it, and what is usually missing then); the first that fits.
_TOPICS = (
    (re.compile(r"(?i)\bkms\b|\bcmk\b|encryption key|decrypt"), "the KMS key", ("kms:Decrypt", "kms:GenerateDataKey")),
    (re.compile(r"(?i)pull .{0,40}(?:container|image)|\becr\b|image|repository|registry"), "the image", _PULL),
    (re.compile(r"(?i)network interface|\bENI\b|subnet|security group|\bVPC\b"), "the network", _NETWORK),
    (
        re.compile(r"(?i)\bfsx\b|lustre|file ?system|\befs\b|mount"),
        "the file system",
        ("fsx:DescribeFileSystems", "elasticfilesystem:ClientMount"),
    ),
    (re.compile(r"(?i)assume"), "the role", ("sts:AssumeRole",)),
    (re.compile(r"(?i)upload|output|model artifact|put ?object|checkpoint"), "the output", ("s3:PutObject",)),
    (re.compile(r"(?i)\bs3\b|download|bucket|channel|manifest|object"), "the input", ("s3:GetObject", "s3:ListBucket")),
)
_BY_SERVICE = {
    "ecr": "the image",
    "kms": "the KMS key",
    "ec2": "the network",
    "fsx": "the file system",
    "elasticfilesystem": "the file system",
    "sts": "the role",
    "s3": "S3",
}
# Said where no image is found as well.
_OR_ABSENT = re.compile(r"(?i)either the image does not exist or its permissions")


@dataclass(frozen=True, slots=True)
class Denied:
    """A refusal."""

    what: str
    """Of what: "the image"."""
    actions: tuple[str, ...]
    """As a policy names them."""
    named: bool
    """The text itself names them; else they are what is usually missing."""
    resource: str
    """An ARN; "*" where the text names none."""
    or_absent: bool = False
    """The text says as well that the thing may not exist."""


def denied(text: str, by_service: bool = False) -> Denied | None:
    """The refusal that a text tells of; None where it tells of none by AWS.

    ``by_service``: the text is SageMaker's own, in which nobody else refuses anything.
    """
    text = " ".join(text[:4000].split())
    refused = _REFUSED.search(text)
    if refused is None or not (by_service or _OF_AWS.search(text) or _NAMED.search(text)):
        return None
    actions = tuple(dict.fromkeys(found["action"] for found in _NAMED.finditer(text)))
    named = bool(actions)
    if not actions and (found := _OPERATION.search(text)):
        actions = _BY_OPERATION.get(found["operation"], ())
        named = bool(actions)
    topic = next(((what, usual) for pattern, what, usual in _TOPICS if pattern.search(text)), None)
    if not actions:
        if topic is None:
            return None
        actions = topic[1]
    what = _BY_SERVICE.get(actions[0].partition(":")[0], "an AWS service") if named or topic is None else topic[0]
    if actions[0].startswith("s3:"):
        what = "the output" if actions == ("s3:PutObject",) else "the input"
    return Denied(what, actions, named, _resource(text, actions), bool(_OR_ABSENT.search(text)))


def _resource(text: str, actions: tuple[str, ...]) -> str:
    if found := _RESOURCE.search(text):
        return found["arn"].rstrip(".")
    if all(action.startswith("s3:") for action in actions) and (found := _S3_URI.search(text)):
        return f"arn:aws:s3:::{found['bucket']}{'' if actions == ('s3:ListBucket',) else '/*'}"
    return "*"


#: exit: the program ended with a code; the rest is what its name says. unknown: a reason that names no cause.
ReasonKind = Literal["capacity", "internal", "denied", "data", "host-memory", "exit", "unknown"]

#: Words for instances that EC2 had none of.
CAPACITY = re.compile(
    r"(?i)CapacityError|Insufficient\w*Capacity|insufficient capacity|unable to provision requested ML compute capacity"
    r"|no capacity (?:is )?available"
)
_DATA = re.compile(
    r"(?i)data download failed|failed to download data|no S3 objects found|unable to download object"
    r"|(?:failed to |un)able to read data channel|NoSuchKey|NoSuchBucket|S3 key .{0,80}(?:not|does)"
    r"|(?:no|unable to find) (?:data|files?) .{0,40}(?:channel|s3)|validate (?:the )?input data|manifest file"
)
_MORE_MEMORY = re.compile(r"(?i)instance type with more memory|reduce the size of training data")
_EXIT_CODE = re.compile(r"(?i)\bexit[ _]?code:?\s*=?\s*(?P<code>-?\d{1,3})\b")
# The toolkit's last words are 1 whatever the program's were: of several codes the one that is not 1 counts.
_QUOTED = re.compile(r'ErrorMessage "(?P<text>.*?)(?:"?\s+(?:Command|ExtraInfo) "|"?\s*$)', re.DOTALL)
_EXTRA = re.compile(r'ExtraInfo "(?P<text>[^"\n]{1,300})')
_EXCEPTION = re.compile(
    r"(?:(?<=[\s:])|^)(?P<text>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Interrupt)|(?:[A-Z]\w*)?Exception)\b(?::[^\n]*)?"
    r"|\S{1,200}: error: (?:unrecognized arguments|the following arguments are required|argument \S+:|ambiguous option)[^\n]*"
    r"|\S{1,200}: can't open file '[^\n]*)"
)
_TAG = re.compile(r"\[\d{1,9},(?:mpirank:)?\d{1,9}(?:,algo-\d{1,9})?\](?:<std\w{3}>)?:?|\[rank\d+\]:")
_LONGEST_QUOTE = 500
_HEAD = re.compile(r"^\s*AlgorithmError:\s*framework error:", re.IGNORECASE)
_WRAPPER = re.compile(r"^(?:ExecuteUserScriptError|AlgorithmError|ClientError|FrameworkError)\b")


@dataclass(frozen=True, slots=True)
class Reason:
    """What a FailureReason says."""

    said: ReasonKind
    quote: str
    """The program's own exception, where the reason quotes one; else the sentence of the service."""
    quotes_program: bool
    exit_code: int | None
    extra: str = ""
    """What the toolkit adds, such as "OutOfMemory: Process killed by SIGKILL (signal 9)"."""


def reason_of(job: Job) -> Reason | None:
    """What the job's FailureReason says; None where there is none, or where it was made from the log."""
    text = job.failure_reason or ""
    if not text or job.source == "logs":
        return None
    head = text[:200]
    codes = [int(found["code"]) for found in _EXIT_CODE.finditer(text)]
    code = next((code for code in codes if code not in {0, 1}), codes[0] if codes else None)
    extra = found["text"] if (found := _EXTRA.search(text)) else ""
    if CAPACITY.search(head):
        return Reason("capacity", _sentence(text), False, code)
    if "InternalServerError" in head or "internal error" in head.lower():
        return Reason("internal", _sentence(text), False, code)
    if "AlgorithmError" not in head and denied(text, by_service=True) is not None:
        return Reason("denied", _sentence(text), False, code)
    quoted = found["text"] if (found := _QUOTED.search(text)) else text
    own = _own_words(_HEAD.sub("", _TAG.sub("", quoted)))
    if _DATA.search(head) and "AlgorithmError" not in head:
        return Reason("data", _sentence(text), False, code)
    if _MORE_MEMORY.search(text):
        return Reason("host-memory", _sentence(text), False, code)
    if own or "AlgorithmError" in head or code is not None:
        return Reason("exit", own or _sentence(text), bool(own), code, extra)
    return Reason("unknown", _sentence(text), False, code, extra)


def _own_words(quoted: str) -> str:
    """The line of the program's last words that names a cause, else its first exception; empty where there is none."""
    for line in quoted.splitlines():
        if kind_of(line) not in {"program", "gone", "crash", "summary"}:
            return line.strip()[:_LONGEST_QUOTE]
    said = (found["text"].strip() for found in _EXCEPTION.finditer(quoted))
    return next((text for text in said if not _WRAPPER.match(text)), "")[:_LONGEST_QUOTE]


def has_status(job: Job, *names: str) -> bool:
    """Whether the job has, or had, one of these secondary statuses."""
    return job.secondary_status in names or any(entry.status in names for entry in job.transitions)


def _sentence(text: str) -> str:
    return " ".join(text.split())[:300]


@dataclass(frozen=True, slots=True)
class Blame:
    """Whose fault an exception is, how sure that is, and what it may be instead."""

    id: Literal["data-error", "script-error"]
    confidence: Literal["high", "medium", "low"]
    why: str
    """A clause behind "because"; empty where the exception says it all."""
    instead: str = ""
    """Another cause that would look the same, a clause."""


#: A model that has another name, or may not be read.
NO_MODEL = re.compile(r"is not a local folder|Can't load (?:tokenizer|model|config)|gated repo")
# The program's own fault wherever it is raised.
_OF_CODE = re.compile(
    r"^(?:\w+\.)*(?:NameError|UnboundLocalError|ImportError|ModuleNotFoundError|SyntaxError|IndentationError|TabError|AttributeError"
    r"|TypeError|NotImplementedError|ZeroDivisionError|RecursionError|StopIteration|ArgumentError|BackendCompilerFailed"
    r"|OutOfResources|CompilationError)\b|: error: |can't open file|Can't pickle|InstantiationException|ConfigAttributeError"
    rf"|unexpected key|Cannot re-initialize CUDA|ancdata|\[Errno 24\]|{NO_MODEL.pattern}"
    r"|Missing key\(s\)|copying a param with shape|Error\(s\) in loading state_dict"
)
# Words that only data call forth.
_OF_DATA = re.compile(
    r"(?i)UnicodeDecodeError|UnidentifiedImageError|cannot identify image file|image file is truncated|broken data stream"
    r"|truncated file read|DecompressionBomb|ArrowInvalid|parquet|ParserError|error tokenizing data|BadZip|BadGzipFile"
    r"|end-of-stream marker|DatasetGenerationError|DatasetNotFoundError|stack expects each tensor|default_collate"
    r"|should be of equal size|DataLossError|corrupted record|record is corrupt|parse serialized example"
    r"|expected image \(jpeg|unknown image file format|decode_jpeg|invalid jpeg"
    r"|invalid data found when processing input|DECORDError"
    r"|LibsndfileError|error opening .{0,200}\.(?:wav|flac|mp3)|empty\(\) in function|data channel|imread read blank"
    r"|num_samples=0|corresponds to no data|found no valid file|couldn't find any class folder|dataset (?:is|was) empty"
    r"|empty dataset|couldn't reach .{0,120}dataset|couldn't find (?:a|any) (?:dataset|data file)|not in the dataset"
    r"|input contains (?:nan|infinity)|input data contains|file signature not found|truncated file|zlib\.error|gzip"
    r"|could not convert string to float|invalid record header|RecordIO|error reading (?:shard|tar|sample)"
)
_STORAGE = re.compile(
    r"(?i)\[Errno (?:5|116|107|121)\]|input/output error|stale (?:nfs )?file handle|transport endpoint"
    r"|when calling the (?:GetObject|HeadObject|ListObjects(?:V2)?|HeadBucket) operation|NoSuchKey|NoSuchBucket"
    r"|\bs3://\S{1,300}.{0,40}(?:not found|does not exist|access denied|forbidden)"
)
_MISSING = re.compile(
    r"(?i)FileNotFoundError|No such file or directory|NotADirectoryError|IsADirectoryError|PermissionError"
)
_PATH = re.compile(r"(?:['\"]|: )(?P<path>(?:[\w.+-]+:/)?[\w./@=+ -]*[/.][\w./@=+-]+)['\"]?")
# What stands in such a path is part of the program, not of its data.
_PROGRAM_PATH = re.compile(
    r"(?i)\.(?:py|sh|so(?:\.\d+)*|ya?ml|toml|cfg|ini|conf|log|lock|whl)$|(?:^|/)(?:config|tokenizer|vocab|merges|generation_config"
    r"|ds_\w+|deepspeed\w*|hparams|args)[\w.-]*\.(?:json|txt|model)$|^/(?:usr/|bin/|lib|opt/conda/|root/\.cache/)"
)
_CHECKPOINT_PATH = re.compile(
    r"(?i)\.(?:pt|pth|ckpt|safetensors|distcp)$|checkpoint|/opt/ml/(?:model|output)|pytorch_model|(?:^|/)latest(?:_\w+)?$|global_step"
)
_SHAPES = re.compile(
    r"(?i)size of tensor a|sizes of tensors must match|shapes cannot be multiplied|shape '?\[[^\]]*\]'? is invalid for input"
    r"|to match target batch_size|expected more than 1 value per channel|inhomogeneous shape|could not be broadcast"
    r"|incompatible shapes|dimension out of range|channels, but got|must match the size of tensor|size mismatch"
    r"|rows do not fit|unequal (?:lengths|sizes)|inconsistent (?:tensor )?sizes?"
)
_UNCLEAR_INPUT = re.compile(
    r"(?i)JSONDecodeError|UnpicklingError|EOFError|invalid literal for int|pickle data was truncated|utf-?8"
)
_OWN_DATA_CODE = re.compile(
    r" in (?:__getitems?__|__iter__|__next__|collate\w*|\w+_collate\w*|decode_\w+|read_\w+"
    r"|load_(?:data|shard|image|audio|sample|record)\w*"
    r"|\w*dataset\w*|preprocess\w*|tokeni[sz]e_\w+|get_(?:batch|data|sample|item)\w*|prepare_data|\w*dataloader\w*|parse_(?:record|line|row|example)\w*)$"
    # A folder of the program's own code, and not the disk that it lies on.
    r"|(?<=[\w.-])(?<!/mnt)(?<!/fsx)(?<!/home)(?<!/media)(?<!/scratch)/(?:data|datasets?|dataloaders?|input_pipeline)"
    r"(?:\.\w+|(?:/[\w.-]+){0,2}):\d|/\w*(?:dataset|dataloader|data_loader|data_utils|collat)\w*\.py:\d"
)
DISK_FULL = re.compile(r"\[Errno 28\]|No space left on device")
QUOTA_USED_UP = re.compile(r"\[Errno 122\]|Disk quota exceeded")
#: torch.save, which does not say why a file ends early.
SAVE_CUT_OFF = re.compile(r"PytorchStreamWriter failed writing|inline_container\.cc:\d+\] \. unexpected pos")
#: A number that stands for something which the model does not have.
OUT_OF_RANGE = re.compile(r"device-side assert|index out of range in self")
_LOADER = re.compile(r"DataLoader worker process|Caught \w+ in DataLoader")


def blame(text: str, frames: Sequence[str], steps_before: int) -> Blame:
    """Whose fault an exception is, from its text, the frames of its traceback (outermost first, as the parser keeps them)
    and the number of steps that were done before it."""
    through_data = any(frame.startswith("data: ") or _OWN_DATA_CODE.search(frame) for frame in frames) or bool(
        _LOADER.search(text)
    )
    reads = "its traceback goes through the code that reads the data" if through_data else ""
    if _OF_CODE.search(text) and not re.search(r"default_collate", text):
        if "NoneType" in text and through_data:
            return Blame("script-error", "medium", "", "a data item that could not be read and came out as None")
        return Blame("script-error", "high", "")
    if _OF_DATA.search(text) or _STORAGE.search(text):
        return Blame("data-error", "high", reads)
    if _MISSING.search(text):
        return _missing(text, through_data, reads)
    if _SHAPES.search(text):
        if through_data:
            return Blame("data-error", "high", reads)
        if steps_before > 0:
            steps = "1 step" if steps_before == 1 else f"{steps_before:,} steps"
            return Blame(
                "data-error", "medium", f"the same code had done {steps}, so this batch has another shape",
                "code that only runs at this point, such as an evaluation or the last, smaller batch",
            )  # fmt: skip
        return Blame(
            "script-error", "medium", "no step had been done", "a batch of a shape that the model does not accept"
        )
    if through_data:
        return Blame("data-error", "medium", reads, "a bug in that code itself")
    if _UNCLEAR_INPUT.search(text):
        return Blame("script-error", "low", "", "a truncated input file, or one of another kind")
    if re.search(r"^(?:\w+\.)*KeyError\b(?!: '[A-Z][A-Z0-9_]+'$)", text):
        return Blame("script-error", "medium" if frames else "low", "", "a column or field missing from the data")
    if OUT_OF_RANGE.search(text):
        return Blame("script-error", "medium", "", "labels or token IDs in the data that are out of the model's range")
    if re.search(r"(?i)loss scale", text):
        return Blame("script-error", "medium", "", "a loss or gradients that overflow, before any NaN is printed")
    if re.search(r"CUBLAS_STATUS_NOT_INITIALIZED", text):
        return Blame(
            "script-error", "low", "", "a GPU that ran out of memory, or an index out of range in an earlier kernel"
        )
    if re.search(r"illegal memory access|misaligned address", text):
        return Blame("script-error", "low", "", "a fault in a GPU kernel, a library or the device")
    if DISK_FULL.search(text):
        return Blame("script-error", "high", "the disk is full")
    if QUOTA_USED_UP.search(text):
        return Blame("script-error", "high", "the disk quota is used up")
    if SAVE_CUT_OFF.search(text):
        return Blame(
            "script-error", "medium", "a checkpoint could not be written whole, mostly because the disk is full"
        )
    return Blame("script-error", "high" if frames else "medium", "")


def _missing(text: str, through_data: bool, reads: str) -> Blame:
    if "cannot open shared object" in text:
        return Blame("script-error", "high", "a library that a compiled package needs is missing", "")
    found = _PATH.search(text.partition("Error")[2] or text)
    path = found["path"].strip() if found else ""
    if path and _PROGRAM_PATH.search(path) and not through_data:
        return Blame("script-error", "high", "the missing file belongs to the program", "")
    if path and _CHECKPOINT_PATH.search(path) and not through_data:
        return Blame("script-error", "medium", "the missing file is a checkpoint or a model, not data", "")
    return Blame("data-error", "high" if through_data or "input" in path or "data" in path else "medium", reads,
                 "" if through_data else "a wrong path in the program's arguments")  # fmt: skip
