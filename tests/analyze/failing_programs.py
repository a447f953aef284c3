"""Ends of logs over data and over the program itself, and ends whose cause the text does not tell."""

from __future__ import annotations

from tests.analyze.failing_logs import (
    LOADER,
    MEMORY,
    SITE,
    STEPS,
    TRACE,
    WAITING,
    Log,
    by,
    frames,
    raised,
    toolkit,
)

DATA: dict[str, Log] = {
    "no such file": Log(
        raised(
            "FileNotFoundError: [Errno 2] No such file or directory: '/opt/ml/input/data/train/part-0007.tar'", *LOADER
        ),
        "data-error",
    ),
    "handed on by a worker": Log(
        (
            *raised("FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 3.", *LOADER),
            "Original Traceback (most recent call last):",
            *frames(
                f"{SITE}/torch/utils/data/_utils/worker.py:308:_worker_loop", "/opt/ml/code/sets.py:40:__getitem__"
            ),
            "FileNotFoundError: [Errno 2] No such file or directory: '/fsx/images/77.jpg'",
        ),
        "data-error",
    ),
    "a fault of the loading code": Log(
        (
            *raised("NameError: Caught NameError in DataLoader worker process 0.", *LOADER),
            "Original Traceback (most recent call last):",
            *frames("/opt/ml/code/sets.py:40:__getitem__"),
            "NameError: name 'resize' is not defined",
        ),
        "script-error",
    ),
    "utf-8": Log(
        raised("UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        "data-error",
    ),
    "no image": Log(
        raised("PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f>"), "data-error"
    ),
    "cut image": Log(raised("OSError: image file is truncated (12 bytes not processed)", *LOADER), "data-error"),
    "parquet": Log(
        raised("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted"),
        "data-error",
    ),
    "json": Log(
        raised(
            "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column 88 (char 87)",
            "train.py:9:<module>",
            "/opt/ml/code/sets.py:12:load_records",
            "/opt/conda/lib/python3.11/json/decoder.py:355:raw_decode",
        ),
        "data-error",
    ),
    "csv": Log(
        raised("pandas.errors.ParserError: Error tokenizing data. C error: Expected 5 fields, saw 6"), "data-error"
    ),
    "column": Log(
        raised("KeyError: 'label'", "train.py:9:<module>", f"{SITE}/pandas/core/indexes/base.py:3812:get_loc"),
        "data-error",
    ),
    "tar": Log(
        raised("tarfile.ReadError: unexpected end of data", "/opt/conda/lib/python3.11/tarfile.py:2720:next"),
        "data-error",
    ),
    "zip": Log(raised("zipfile.BadZipFile: File is not a zip file"), "data-error"),
    "s3 has none": Log(
        raised(
            "botocore.exceptions.ClientError: An error occurred (404) when calling the HeadObject operation: Not Found"
        ),
        "data-error",
    ),
    "s3 refuses": Log(
        raised(
            "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the GetObject operation: No"
        ),
        "access-denied",
    ),
    "collate": Log(
        raised(
            "RuntimeError: stack expects each tensor to be equal size, but got [3, 224] at entry 0 and [1, 224] at entry 5"
        ),
        "data-error",
    ),
    "another shape after good steps": Log(
        by(1, raised("RuntimeError: The size of tensor a (64) must match the size of tensor b (48) at dimension 1")),
        "data-error",
        1,
    ),
    "tfrecord": Log(
        raised("tensorflow.python.framework.errors_impl.DataLossError: corrupted record at 1223"), "data-error"
    ),
    "empty": Log(
        raised("ValueError: num_samples should be a positive integer value, but got num_samples=0", steps=()),
        "data-error",
    ),
    "opencv": Log(
        raised("cv2.error: OpenCV(4.9.0) error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'"),
        "data-error",
    ),
    "built-in algorithm": Log(
        (
            "[03/04/2026 08:00:00 ERROR 77] Customer Error: Unable to read data channel 'train'. Requested content-type is 'x'",
        ),
        "data-error",
    ),
    "in a package of its data": Log(
        raised(
            "ValueError: 3 is no label",
            "/mnt/data/cows/src/train.py:93:<module>",
            "/mnt/data/cows/src/data/cows.py:12:pick",
        ),
        "data-error",
    ),
    "file system": Log(raised("OSError: [Errno 5] Input/output error: '/fsx/train/9.bin'"), "data-error"),
}

PROGRAM: dict[str, Log] = {
    "import": Log(raised("ModuleNotFoundError: No module named 'flash_attn'", steps=()), "script-error"),
    "assertion": Log(by(2, raised("AssertionError: world size 12 is not divisible by 8", steps=())), "script-error", 2),
    "bare assertion": Log(raised("AssertionError", steps=()), "script-error"),
    "on a disk called data": Log(
        raised(
            "ValueError: can't handle a mix of multiclass and unknown targets",
            "/mnt/data/cows/src/train.py:93:<module>",
            "/data/cows/src/train.py:83:main",
        ),
        "script-error",
    ),
    "arguments": Log(
        ("usage: train.py [-h] [--lr LR]", "train.py: error: unrecognized arguments: --batchsize 8", *toolkit("", 2)),
        "script-error",
    ),
    "no entry point": Log(
        ("python: can't open file '/opt/ml/code/trian.py': [Errno 2] No such file or directory", *toolkit("", 2)), "script-error"
    ),
    "key of the environment": Log(
        raised("KeyError: 'MASTER_ADDR'", "train.py:9:<module>", "/opt/conda/lib/python3.11/os.py:679:__getitem__", steps=()),
        "script-error",
    ),
    "attribute": Log(by(0, raised("AttributeError: 'Namespace' object has no attribute 'lr'", steps=())), "script-error", 0),
    "plain exception": Log(raised("Exception: only one optimizer is allowed"), "script-error"),
    "shapes before any step": Log(
        raised("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 768x64)", steps=()), "script-error"
    ),
    "checkpoint of another model": Log(
        raised("RuntimeError: Error(s) in loading state_dict for Net: size mismatch for head.weight", steps=()), "script-error"
    ),
    "configuration file": Log(
        raised("FileNotFoundError: [Errno 2] No such file or directory: 'configs/ds_config.json'", steps=()), "script-error"
    ),
    "smp refuses its configuration": Log(
        raised("smdistributed.modelparallel.backend.exceptions.SMPConfigError: microbatches must divide the batch", steps=()),
        "script-error",
    ),
    "device assertion": Log(
        raised("RuntimeError: CUDA error: device-side assert triggered", "train.py:9:<module>"), "script-error"
    ),
    "disk": Log(raised("OSError: [Errno 28] No space left on device"), "script-error"),
    "disk quota": Log(raised("OSError: [Errno 122] Disk quota exceeded"), "script-error"),
    "segmentation fault": Log((*STEPS, "Fatal Python error: Segmentation fault", *toolkit("", 139)), "script-error"),
    "in the second of two logged exceptions": Log(
        by(4, (*raised("KeyError: 'adam'", "train.py:9:main"), TRACE, "ValueError: no such optimizer")),
        "script-error",
        4,
    ),
    "hugging face hub": Log(
        raised("OSError: acme/tiny is not a local folder and is not a valid model identifier listed on the hub", steps=()),
        "script-error",
    ),
    "loss ends it": Log(raised("ValueError: The loss returned in `training_step` is nan."), "nan-loss"),
    "a printed word ends it": Log((*STEPS, "Loss is nan, stopping training", *toolkit("")), "nan-loss"),
    "scale of the loss": Log(
        raised("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."), "script-error"
    ),
    "megatron's check": Log(
        by(7, raised("AssertionError: Rank 7: found NaN in local forward loss calculation. Device: 7, node: algo-1")),
        "nan-loss",
        7,
    ),
    "detectron's check": Log(
        raised("FloatingPointError: Loss became infinite or NaN at iteration=123!"), "nan-loss"
    ),
}  # fmt: skip

UNKNOWN: dict[str, Log] = {
    "horovod misses a peer": Log(
        (*STEPS, TRACE, "horovod.common.exceptions.HorovodInternalError: ncclAllReduce failed: remote process exited"),
        "",
    ),
    "a worker of the loader is gone": Log(
        raised("RuntimeError: DataLoader worker (pid(s) 77) exited unexpectedly", *LOADER), ""
    ),
    "told to end": Log(
        (
            *STEPS,
            "W0304 08:10:02 77 torch/distributed/elastic/agent/api.py:739] Received 15 death signal, shutting down workers",
            TRACE,
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15",
        ),
        "",
    ),
    "device": Log(
        (
            *STEPS,
            "[91571.1] NVRM: Xid (PCI:0000:10:1c): 79, pid=812, GPU has fallen off the bus.",
            *by(3, raised("RuntimeError: CUDA error: unspecified launch failure", steps=())),
        ),
        "",
    ),
    "ecc": Log(by(3, raised("RuntimeError: CUDA error: uncorrectable ECC error encountered")), "", 3),
    "exit status 1 alone": Log((*STEPS, *toolkit("")), ""),
    "the traceback's end is missing": Log((*STEPS, TRACE, '  File "train.py", line 3, in <module>'), ""),
    "interrupted by hand": Log((*STEPS, TRACE, "KeyboardInterrupt"), ""),
}

ALL = {**MEMORY, **WAITING, **DATA, **PROGRAM, **UNKNOWN}
