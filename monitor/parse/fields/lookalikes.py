"""Whether the words around the numbers say that a line is something other than the report of a training step.

A shape is a line whose numbers are NULs; names of numbers that tell of the number alone, such as "val_loss", are not in
it.
"""

from __future__ import annotations

import re

# An evaluation, said in words that are neither part of a path nor of a longer name ("test.py:33", "test-node"); "evals: 12"
# are calls of an objective.
_EVALUATION = re.compile(
    r"(?i)(?<![\w/.-])(?:evals?(?!(?<=s) ?[:=] ?\x00)|evaluat\w{0,6}|val|valid(?! tok| sam)|validat\w{0,6}|test(?:ing)?"
    r"|predict(?:ing|ion)?|inference|(?:held|hold)-?out|mini-?val"
    # "dev" is a device elsewhere, "cv" a coefficient where it names a number.
    r"|dev(?= ?[:\]>|]| (?:set|step|iter|batch|epoch|loss|acc)| ?$)|(?-i:CV)(?! ?[=:]? ?\x00)"
    r"|cv(?= (?:step|iter|batch|epoch|loss|acc)| ?[\]:|](?! ?\x00)| ?$))(?![\w-])(?!\.\w)"
    r"|-eval(?:uation)?(?=[:\]])|-valid(?:ation)?(?=[:\]])|(?<!\w)ttt(?=:)"  # training at the time of a test
)
_CODE = (
    r"\{\w{0,30}(?:[!}]|:(?![A-Za-z]{3}| \x00[,}]))|\bself\.|\bdef \w|\breturn\b(?! ?[:=] ?\x00| \x00[ ,|])"
    r"|\bprint\(|(?<![\w'\"])f['\"]|%[.\d]{0,4}[dfs]\b"
    r"|\bimport \w|(?<![=\[])==(?![=>])|\+=|^\s*\+{1,3} \w|\.py::|\w(?:Error|Exception)\b:?\s"
)
# Bars have their own readers; what they do not read is no step. A bracket that only closes is the rest of a cut bar.
_BAR = (
    r"%\||\d:\d\d<|━|v_num=|^[^\[]*\]\s*$"
    # Keras's own, unless it tells a loss behind a rate or beside a step that is called so.
    r"|^(?!.*\b[Ss]tep\b.*\[[=>].*\bloss\b).*\[=(?!.*\bit/s.*\bloss\b)"
)
_SETTINGS = (
    r"\bnamespace\(|\bconfig(?:uration|s)?\b ?[:=({]|\bhyper-?param|\barg(?:ument)?s\b ?[:=({]|\bparameters: ?\{"
)
_OVER = r"(?: is| has| was)? (?:finished|complete|completed|done|ended|took|over)\b(?! at time\b)"
_SUMMARY = (
    r"s/epoch|train_runtime|(?<![^\W_])summary\b|\bepoch[ _](?:end|complete|summary)|\bbenchmark"
    # "Batch training took 5.6s" is of one.
    rf"|(?<!(?i:batch) )(?<!(?i:step) )\b(?:training|train|run|epoch(?: [\d\x00]+)?){_OVER}"
    r"|\bfinished (?:training(?! step)|epoch)"
    r"|\bend of (?:training|epoch)|^\s*(?:total|overall|final)\b|\boverall (?:training )?(?:speed|time|throughput|average)"
    r"|\bsteps[:=]? ?\x00 in \x00"  # "steps 500 in 41.2s": all of them
)
# Caffe's program itself tests and measures; its solver trains.
_OF_PROGRAM = r"\bcaffe\.cpp\b"
_NEVER = re.compile(rf"{_CODE}|{_BAR}|{_OF_PROGRAM}|(?i:{_SETTINGS}|{_SUMMARY})")
_OTHER_WORK = re.compile(
    r"(?i)(?<![\w/.])(?:download|load|tokeniz|preprocess|process(?:ed|ing)\b|map(?:ping|ped)?\b|filter|prefetch"
    r"|index|encod|extract|generat(?!ion \x00)|cach|convert|shard|decompress|verif|scan|upload"
    r"|writ(?:e|ing|ten)\b|wrote|copy|copied|prepar|embedding|collect|initiali|compil"
    r"|nccl|watchdog|time ?out|timed out|heartbeat|pip |install|retry|retries|warm-?up\b"
    r"|profil|trac(?:e|ing)\b|gc\b|freed\b|busbw|algbw|bandwidth|ddim|denois|draws\b)"
)
_OTHER_MOMENT = re.compile(
    r"(?i)(?<![\w/.])(?:sav(?:e|ed|ing)\b|checkpoint|ckpt|load(?:ed|ing)\b|resum|restor|best\b|early.?stop|trial\b|pruned at"
    r"|start(?:ing|ed)? (?:at|from)|continu|rollback|rolled back|skip(?!ped[ =:]{1,3}\x00(?! [A-Za-z]))"
    r"|recording summary|snapshot|synced|wait(?:ing|ed)\b|final\b|killed|exit)"
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
