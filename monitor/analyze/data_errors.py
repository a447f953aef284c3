"""Does an exception concern the program's data, or the program itself?

Data are missing, cannot be read or decoded, or have another shape. What decides: the exception's own words, then the files
that its traceback goes through, then whether the same program had done steps before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Blame:
    """Whose fault an exception is, how sure that is, and what it may be instead."""

    id: Literal["data-error", "script-error"]
    confidence: Literal["high", "medium", "low"]
    why: str
    """A clause behind "because"; empty where the exception says it all."""
    instead: str = ""
    """Another cause that would look the same, a clause."""


# The program's own fault wherever it is raised.
_OF_CODE = re.compile(
    r"^(?:\w+\.)*(?:NameError|UnboundLocalError|ImportError|ModuleNotFoundError|SyntaxError|IndentationError|TabError|AttributeError"
    r"|TypeError|NotImplementedError|ZeroDivisionError|RecursionError|StopIteration|ArgumentError|BackendCompilerFailed"
    r"|OutOfResources|CompilationError)\b|: error: |can't open file|Can't pickle|InstantiationException|ConfigAttributeError"
    r"|unexpected key|Cannot re-initialize CUDA|ancdata|\[Errno 24\]|is not a local folder"
    r"|Can't load (?:tokenizer|model|config)|gated repo"
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
    r"|/(?:data|datasets?|dataloaders?|input_pipeline)(?:/[\w./-]+)?\.?\w*:\d|/\w*(?:dataset|dataloader|data_loader|data_utils|collat)\w*\.py:\d"
)
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
    if re.search(r"device-side assert|index out of range in self", text):
        return Blame("script-error", "medium", "", "labels or token IDs in the data that are out of the model's range")
    if re.search(r"(?i)loss scale", text):
        return Blame("script-error", "medium", "", "a loss or gradients that overflow, before any NaN is printed")
    if re.search(r"CUBLAS_STATUS_NOT_INITIALIZED", text):
        return Blame(
            "script-error", "low", "", "a GPU that ran out of memory, or an index out of range in an earlier kernel"
        )
    if re.search(r"illegal memory access|misaligned address", text):
        return Blame("script-error", "low", "", "a fault in a GPU kernel, a library or the device")
    if re.search(r"\[Errno 28\]|No space left on device", text):
        return Blame("script-error", "high", "the disk is full")
    return Blame("script-error", "high" if frames else "medium", "")


def _missing(text: str, through_data: bool, reads: str) -> Blame:
    found = _PATH.search(text.partition("Error")[2] or text)
    path = found["path"].strip() if found else ""
    if path and _PROGRAM_PATH.search(path) and not through_data:
        return Blame("script-error", "high", "the missing file belongs to the program", "")
    if path and _CHECKPOINT_PATH.search(path) and not through_data:
        return Blame("script-error", "medium", "the missing file is a checkpoint or a model, not data", "")
    return Blame("data-error", "high" if through_data or "input" in path or "data" in path else "medium", reads,
                 "" if through_data else "a wrong path in the program's arguments")  # fmt: skip
