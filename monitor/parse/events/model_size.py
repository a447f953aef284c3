"""Lines that tell how many parameters a model has, how many tokens a step takes, and which MFU the script works out.

An event's text has a fixed form: ``parameters=6050882784``, ``tokens=491520``, ``31.37`` (percent).

"model-size" is the whole model. What is trained alone ("trainable-size") is all of it unless adapters are; the part of one
rank ("part-size", ``0 1 parameters=805560320``: its tensor and pipeline rank) makes the model with the others'. Counts of one
partition are other things, and are not read.
"""

from __future__ import annotations

import re

from monitor.parse.events.reader import event

_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12, "MILLION": 1e6, "BILLION": 1e9}
# What is smaller or larger was misread.
_LEAST, _MOST = 1e5, 1e14
_MOST_PCT = 1000.0
_COUNT = r"(?P<count>\d{1,3}(?:,\d{3}){1,5}|\d{1,16}(?:\.\d{1,6})?)"


def _whole(match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    count = float(match["count"].replace(",", "")) * _SCALE[(groups.get("unit") or "").upper()]
    return f"parameters={count:.0f}" if _LEAST <= count <= _MOST else None


def _billions(match: re.Match[str]) -> str | None:
    count = float(match["count"]) * 1e9
    return f"parameters={count:.0f}" if _LEAST <= count <= _MOST else None


def _part(match: re.Match[str]) -> str | None:
    found = _whole(match)
    return None if found is None else f"{match['tensor']} {match['pipeline']} {found}"


def _percent(match: re.Match[str]) -> str | None:
    share = bool(match.groupdict().get("share"))
    value = float(match["value"]) * (100 if share else 1)
    # nanoGPT's is of an A100's peak: on a newer GPU it may be more than all of it.
    if not 0 < value < _MOST_PCT:
        return None
    return f"{value:g}" if share else match["value"]


def _tokens(match: re.Match[str]) -> str:
    return f"tokens={match['count'].replace(',', '')}"


_VALUE = r"(?P<value>\d{1,3}(?:\.\d{1,6})?)"
ROWS = (
    # Megatron's estimate of memory.
    event(
        "model-size",
        "Total number of parameters in billions: ",
        rf"Total number of parameters in billions: {_COUNT}\s*$",
        _billions,
    ),
    # peft: what is trained stands in front.
    event("model-size", "all params: ", rf"\|\| all params: {_COUNT} \|\|", _whole),
    # torchtitan: "Model llama3 8B size: 8,030,261,248 total parameters".
    event("model-size", " total parameters", rf"\bsize: {_COUNT} total parameters\b", _whole),
    # The model parallel library's samples, OLMo, nanotron ("Total number of parameters: 1.06G (2023.73MiB)"), MaxText ("number
    # parameters: 6.738 billion").
    event(
        "model-size",
        "otal number of parameters: |otal parameters: |umber parameters: ",
        rf"\b(?:[Tt]otal (?:number of )?|[Nn]umber )parameters: {_COUNT}(?: ?(?P<unit>[KMBG]|billion|million)\b)?(?![\d.,])",
        _whole,
    ),
    # Llama recipes: "--> Model meta-llama/Llama-2-7b has 6738.415616 Million params".
    event("model-size", " Million params", rf"--> Model \S{{1,200}} has {_COUNT} (?P<unit>Million) params", _whole),
    # DeepSpeed's pipelines: "TOTAL_PARAMS=1699336192 (1699.336M) UNIQUE_PARAMS=1699336192 (1699.336M)".
    event("model-size", "UNIQUE_PARAMS=", rf"\bUNIQUE_PARAMS={_COUNT}\b", _whole),
    event(
        "part-size",
        "number of parameters on (tensor, pipeline) model parallel rank",
        r"number of parameters on \(tensor, pipeline\) model parallel rank"
        rf" \((?P<tensor>\d{{1,4}}), (?P<pipeline>\d{{1,4}})\): {_COUNT}\s*$",
        _part,
    ),
    # transformers and litgpt, then Lightning's table.
    event(
        "trainable-size",
        "umber of trainable parameters",
        rf"[Nn]umber of trainable parameters\s?[=:] {_COUNT}\s*$",
        _whole,
    ),
    event(
        "trainable-size",
        " Trainable params",
        rf"^\s*+{_COUNT} {{1,3}}(?P<unit>[KMBT]) {{1,6}}Trainable params\s*$",
        _whole,
    ),
    # torchtitan, nanoGPT and its descendants; nanochat without a sign; llm.c behind the number; Composer as a share.
    event("mfu", "mfu: |mfu ", rf"(?<![\w/-])mfu:?\s{{1,8}}{_VALUE}\s?%", _percent),
    event("mfu", " mfu: |bf16_mfu: ", rf"\| (?:bf16_)?mfu: {_VALUE}(?=\s|$)", _percent),
    event("mfu", " MFU ", rf"\| {_VALUE}% (?:bf16|fp16) MFU \|", _percent),
    event("mfu", "throughput/device/mfu", rf"throughput/device/(?P<share>mfu): {_VALUE}(?=\s|$)", _percent),
    # nanoGPT and its descendants.
    event("model-size", "number of parameters: ", rf"^\s*+number of parameters: {_COUNT}(?P<unit>[KMB]?)\s*$", _whole),
    # Of all processes together.
    event(
        "tokens-per-step",
        "tokens per iteration will be: ",
        rf"^\s*+tokens per iteration will be: {_COUNT}\s*$",
        _tokens,
    ),
    event(
        "tokens-per-step",
        "okens / |okens per |okens/|okens_per_",
        r"(?i)^\W*(?:(?:total|global|effective|batch) ){0,2}tokens(?: / |/| per |_per_)(?:optim(?:izer)?[ _])?"
        rf"(?:step|update)(?: will be)?\s{{0,9}}[:=]\s{{0,9}}{_COUNT}\s*$",
        _tokens,
    ),
)
