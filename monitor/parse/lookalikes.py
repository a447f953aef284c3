"""Whether the words around the numbers say that a line is something other than the report of a training step.

A shape is a line whose numbers are NULs; names of numbers that tell of the number alone, such as "val_loss", are not in
it.
"""

from __future__ import annotations

import re


def _any(*patterns: str) -> str:
    return "|".join(patterns)


# An evaluation, said in words that are neither part of a path nor of a longer name ("test.py:33", "test-node").
_EVALUATION = re.compile(
    r"(?i)(?<![\w/.-])(?:"
    + _any(
        *(r"evals?", r"evaluat\w{0,6}", r"val", r"valid(?! tok| sam)", r"validat\w{0,6}", r"test(?:ing)?"),
        *(r"predict(?:ing|ion)?", r"inference", r"(?:held|hold)-?out", "mini-?val"),
        # "dev" is a device elsewhere, "cv" a coefficient where it names a number.
        r"dev(?= ?[:\]>|]| (?:set|step|iter|batch|epoch|loss|acc)| ?$)",
        r"(?-i:CV)(?! ?[=:]? ?\x00)",
        r"cv(?= (?:step|iter|batch|epoch|loss|acc)| ?[\]:|](?! ?\x00)| ?$)",
    )
    + r")(?![\w-])(?!\.\w)"
    + r"|-eval(?:uation)?(?=[:\]])|-valid(?:ation)?(?=[:\]])"
)
_CODE = _any(
    *(
        r"\{\w{0,30}[:!}]",
        r"\bself\.",
        r"\bdef \w",
        r"\breturn\b",
        r"\bprint\(",
        r"(?<![\w'\"])f['\"]",
        r"%[.\d]{0,4}[dfs]\b",
    ),
    *(r"\bimport \w", r"(?<!=)==(?!=)", r"\+=", r"^\s*\+{1,3} \w", r"\.py::", r"\w(?:Error|Exception)\b:?\s"),
)
# Bars have their own readers; what they do not read is no step. A bracket that only closes is the rest of a cut bar.
_BAR = _any(r"%\|", r"\d:\d\d<", "━", r"\[=(?!.*\bit/s.*\bloss\b)", "v_num=", r"^[^\[]*\]\s*$")
_SETTINGS = _any(
    *(r"\bnamespace\(", r"\bconfig(?:uration|s)?\b ?[:=({]", r"\bhyper-?param", r"\barg(?:ument)?s\b ?[:=({]"),
    r"\bparameters: ?\{",
)
_OVER = r"(?: is| has| was)? (?:finished|complete|completed|done|ended|took|over)\b"
_SUMMARY = _any(
    *(r"s/epoch", r"train_runtime", r"\bsummary\b", r"\bepoch[ _](?:end|complete|summary)", r"\bbenchmark"),
    *(rf"\b(?:training|train|run|epoch(?: [\d\x00]+)?){_OVER}", r"\bfinished (?:training|epoch)"),
    *(r"\bend of (?:training|epoch)", r"^\s*(?:total|overall|final)\b"),
    r"\boverall (?:training )?(?:speed|time|throughput|average)",
    r"\bsteps[:=]? ?\x00 in \x00",  # "steps 500 in 41.2s": all of them
)
# Caffe's program itself tests and measures; its solver trains.
_OF_PROGRAM = r"\bcaffe\.cpp\b"
_NEVER = re.compile(_any(_CODE, _BAR, _OF_PROGRAM, rf"(?i:{_any(_SETTINGS, _SUMMARY)})"))
_OTHER_WORK = re.compile(
    r"(?i)(?<![\w/.])(?:"
    + _any(
        *(
            "download",
            "load",
            "tokeniz",
            "preprocess",
            r"process(?:ed|ing)\b",
            r"map(?:ping|ped)?\b",
            "filter",
            "prefetch",
        ),
        *("index", "encod", "extract", "generat", "cach", "convert", "shard", "decompress", "verif", "scan", "upload"),
        *(r"writ(?:e|ing|ten)\b", "wrote", "copy", "copied", "prepar", "embedding", "collect", "initiali", "compil"),
        *(
            "nccl",
            "watchdog",
            "time ?out",
            "timed out",
            "heartbeat",
            "pip ",
            "install",
            "retry",
            "retries",
            r"warm-?up\b",
        ),
        *("profil", r"trac(?:e|ing)\b", r"gc\b", r"freed\b", "busbw", "algbw", "bandwidth", "ddim", "denois"),
    )
    + ")"
)
_OTHER_MOMENT = re.compile(
    r"(?i)(?<![\w/.])(?:"
    + _any(
        *(
            r"sav(?:e|ed|ing)\b",
            "checkpoint",
            "ckpt",
            r"load(?:ed|ing)\b",
            "resum",
            "restor",
            r"best\b",
            "early.?stop",
            r"trial\b",
            "pruned at",
        ),
        *(
            r"start(?:ing|ed)? (?:at|from)",
            "continu",
            "rollback",
            "rolled back",
            "skip",
            "recording summary",
            "snapshot",
        ),
        *("synced", r"wait(?:ing|ed)\b", r"final\b", "killed", "exit"),
    )
    + ")"
)


def evaluates(shape: str) -> bool:
    """True if the words say evaluation."""
    return _EVALUATION.search(shape) is not None


def never_a_step(shape: str) -> bool:
    """True for source code and templates, settings, the summary of a run or an epoch, progress bars."""
    return _NEVER.search(shape) is not None


def other_work(shape: str) -> bool:
    """True for words of downloads, data preparation, time-outs: other work that also counts batches."""
    return _OTHER_WORK.search(shape) is not None


def other_moment(shape: str) -> bool:
    """True for words of checkpoints, restarts and records: the step they name is not being reported."""
    return _OTHER_MOMENT.search(shape) is not None
