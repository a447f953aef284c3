"""Lines that mark an event in the life of a job: checkpoints, evaluations, restarts, numerical and network problems.

What one event prints in many ways stands in one pattern; of a line the first row that knows it names the event.
"""

from __future__ import annotations

from collections.abc import Iterator

from monitor.parse.events import epochs, evaluated
from monitor.parse.events.reader import EventTable, captured, event

#: "Evaluation:" and nothing else: what stands right below it is of the evaluation.
EVALUATION_HEAD = "evaluation-head"
#: That an example of the data is written, as a model reads them: what is counted meanwhile is no step.
DATA_PREPARED = "data-prepared"
#: That a model writes an answer.
GENERATED = "generated"
_MARKS = EventTable(
    (
        event(
            "collective-timeout",
            "Watchdog caught collective|collective operation timeout|operations have failed or timed out|"
            "watchdog got stuck|Timed out waiting |Timed out initializing process group|to a collective timeout|"
            "Timeout at NCCL work|Heartbeat monitor timed out|failed to pass monitoredBarrier|seconds waiting for clients|"
            "wait timeout after |Barrier timed out|RendezvousTimeoutError",
            r"(?P<said>(?:\[[^\[\]]{1,120}\]:? ?){0,3}(?:Watchdog caught collective|[^\[\]]{0,80}?(?:collective operation timeout"
            r"|NCCL operations have failed or timed out|watchdog got stuck|Timed out waiting \d+ ?ms for"
            r"|Timeout at NCCL work|Heartbeat monitor timed out|Received a dump signal due to a collective timeout)"
            r"|[^\n]{0,200}?(?:Timed out initializing process group|failed to pass monitoredBarrier"
            r"|Timed out after \d+ seconds waiting for clients|wait timeout after \d+ ?ms|Barrier timed out\b"
            # A launcher that once did not reach the store for its heartbeat goes on.
            r"|(?<!due to an error of type )RendezvousTimeoutError)).*)",
            captured,
        ),
        event(
            "restart",
            "will restart worker group|restart_count=|estarting worker|estarting training|equeu",
            r"will restart worker group|\brestart_count=[1-9]"
            r"|\b[Rr]estarting (?:worker|training)|\b[Rr]equeu(?:e|ing) (?:the |SLURM )?job",
        ),
        event(
            "resume",
            "esuming from|esume from|esumed from|esuming training|esuming at|esuming model|esumed epoch|"
            "oaded checkpoint|heckpoint loaded from|oaded state from disk|ontinuing training from|"
            "oading checkpoint from|oading checkpoint at|oading the checkpoint|estoring states from|"
            "estored all states|estored checkpoint|estoring checkpoint|estoring parameters from|"
            "tarting training from iteration|uccessfully read ",
            r"(?i)\bresum(?:e|ing|ed)(?: training| model| run)? (?:from|at)\b(?!:? (?:None|False|null)\b)|\bresuming training"
            r"|\bresumed epoch\b|(?<!no )\bloaded (?:\w+ )?checkpoint\b|\bcheckpoint loaded from|\bloaded state from disk: epoch"
            r"|\bcontinuing training from|\bloading (?:the )?checkpoint (?:from|at|in)\b|\brestor(?:ing|ed) (?:all )?states from"
            r"|\brestor(?:ed|ing) (?:the )?checkpoint|\brestoring parameters from|\bstarting training from iteration [1-9]"
            r"|\bsuccessfully read \d+ zero state_dicts",
        ),
        event(
            "checkpoint-end",
            "ved checkpoint|ved a checkpoint|ved the checkpoint|ved model checkpoint|inished checkpointing|"
            "aving the checkpoint|aving checkpoint|heckpoint saved|eights saved|lobal Checkpoint Save| is ready now|"
            "finalized successfully|[Torch] Saved |Writing model shards",
            r"(?i)(?<!no )(?<!found )(?<!load )(?<!loading )(?<!loaded )(?<!from )"
            r"\b(?:successfully )?saved (?:a |the |model )?checkpoint\b"
            r"|\bfinished (?:saving )?(?:the |a )?checkpoint(?:ing)?\b|\bcheckpoint (?:successfully )?saved\b"
            r"|\bmodel weights saved in|\bsaving (?:the )?checkpoint done|\bglobal checkpoint save\b"
            r"|\bcheckpoint \S{1,200} is ready now|\bcheckpoint save for step \d+.{0,400}? finalized successfully"
            r"|\[Torch\] Saved |\bWriting model shards: {1,4}100%\|",
        ),
        event(
            "checkpoint-begin",
            "aving checkpoint|aving model checkpoint|aving the checkpoint|aving a full checkpoint|riting checkpoint|"
            "aving state dict|aving a model only checkpoint|aving current state to|, saving model to |"
            "heckpointing to |to save checkpoint for epoch|checkpoint save for|aving a checkpoint",
            r"(?i)\b(?:saving|writing) (?:the |a |full |model |only )*(?:checkpoint|state dict)|\bsaving current state to"
            r"|, saving model to |(?<!finished )\bcheckpointing to |\bpreparing to save checkpoint for epoch"
            r"|\bscheduled .{0,40}checkpoint save for",
        ),
        event(
            "evaluation-begin",
            "unning Evaluation|unning evaluation|unning Validation|unning validation|unning per image evaluation|"
            "tarting eval|tarting valid|tart eval|tart valid|tart Eval|tart Valid|"
            "tart inference on|egin validation|egin evaluation|eginning validation|Test: |"
            "valuating|alidating|Validation|Evaluation: |unning Prediction|unning prediction",
            r"(?i)\b(?:running|starting|start|begin|beginning) (?:the |per image )?"
            r"(?:evaluation|evaluating|eval\b|validation|validating|inference on \d|prediction)"
            r"|\bevaluating on \d+ samples|\bvalidating \.\.\.|(?:^\W*+|[\]:>|-] {1,3})(?:evaluating|validating)\W*+$"
            r"|^\s*+Test:\s{1,8}\[\s{0,8}0/\d"
            r"|\b(?:validation(?: dataloader \d+)?|evaluation|evaluating|validating): {1,4}0%\|",
        ),
        event(
            "evaluation-end",
            "'eval_loss'|\"eval_loss\"|eval_loss=|eval_loss:|val_loss:|val_loss=|val loss|Val loss|Val Loss|alidation loss|"
            "alidation Loss|valid on '|"
            "alidation bpb|valuation results for|alidation Result: |alidation result: |nished evaluation|validate step:|"
            "Epoch(val)|Validation|Validating:|Test: |Acc@1|"
            "Evaluating:|Evaluation: |[Val]|[val]|[Valid]|[valid]|[Eval]|[eval]|[validation]",
            r"(?i)\b(?:validation(?: dataloader \d+)?|evaluation|evaluating|validating): {1,4}100%\|"
            r"|^(?!.*(?:%\||it/s|s/it)).*?(?:\beval_loss['\"]?\s{0,4}[:=]|\bvalidation loss at|\bval_loss\s{0,4}[:=](?!.*\]\s*$)"
            r"|\[(?:val(?:id(?:ation)?)?|eval)\][ :]{0,4}\{?[\w /@-]{1,40}[ :=]{1,3}-?\d"
            r"|\bval(?:idation)? (?:loss|bpb) ?:? {0,4}\d|\bvalidation result: {0,4}\d"
            r"|\bvalid on '[^']{1,80}' subset \||\bevaluation results for\b"
            r"|\bfinished evaluation\b|\bvalidate step:|\bEpoch\(val\) \[|^\s*+Test:\s{1,8}Total time:"
            r"|^\s*+(?:Test:|\*)\s{1,8}Acc@1\s{0,8}\d)",
        ),
        # Bars of engines that answer and of pipelines that make pictures: no word of a training.
        event(
            "inference",
            "Processed prompts|Adding requests|apturing CUDA graph|pipeline components|Predicting",
            r"\b(?P<said>Processed prompts|Adding requests|Capturing CUDA graph|Loading pipeline components|Predicting\b)"
            r"[^%\n]{0,80}: {0,4}\d{1,3}%",
            captured,
        ),
        event("inference", " prompts", r"(?i)^\W{0,8}(?:loaded|adding|added|generating) \d{1,12} prompts\b"),
        event(GENERATED, "pad_token_id", r"\bSetting `?pad_token_id`? to `?eos_token_id"),
        event("inference", "ave images to|aving images to", r"(?i)\b(?P<said>sav(?:e|ing) images) to\b", captured),
        event(
            "nan",
            "nan|NaN|NAN|Infinity|: inf|=inf|loss inf|: -inf|': 'inf",
            r"(?i)(?<![A-Za-z])(?<!aux_)loss['\"]?\s{0,8}[:=]?\s{0,8}['\"]?[-+]?(?:nan|inf(?:inity)?)\b(?!-\w)"
            r"|\bloss(?: returned)?(?: in \S{1,60})? is nan\b(?!-\w)"
            # What is set to zero somewhere in the model and goes on is no lost loss.
            r"|\b(?:found|detected) nan\b(?! (?:values? )?(?:in|at|for) (?!.{0,40}(?:loss|grad)))"
            r"|\bnan (?:was )?(?:detected|found) in\b(?=.{0,40}(?:loss|grad))|\breturned nan values"
            r"|number of nan iterations: {1,8}[1-9]",
        ),
        # From here on a step does more work. Batch sizes stand in every step line of some formats, and are not asked for.
        event(
            "curriculum",
            "urriculum|equence length|eq_len|eqlen",
            r"(?i)\b(?:curriculum|seq(?:uence)?[ _]?len(?:gth)?)\b[^|]{0,80}?"
            r"(?:\d ?(?:->|=>|\u2192|to) ?\d|\b(?:increas|rais|chang|grow|switch)\w{0,4} (?:to|from) \d|\bnow \d)",
        ),
        event(
            "cache-flush",
            "cache flush|memory allocation retries",
            r"(?i)\bcache flush|[1-9]\d{0,8} CUDA memory allocation retries",
        ),
        event(
            "network-problem",
            "NET/OFI|NET/IB|NET/Plugin|NET/Libfabric|fi_getinfo|libibverbs",
            r"NET/(?:OFI|IB|Plugin|Libfabric)\b(?!.{0,120}symbol).{0,200}?"
            r"(?:[Ff]ailed|\b[Nn]o (?:device|plugin|NIC|eligible|provider)"
            r"|[Cc]ould(?:n't| not) (?:find|open|initialize|load)|[Uu]nable to)"
            r"|fi_getinfo\S{0,40}.{0,80}?(?:output empty list|[Nn]o data|failed)|[Ff]ailed to open libibverbs",
        ),
        # NVLink SHARP, algorithms and protocols: what was set, and what is there. Of the line no more than that is kept:
        # an environment that is printed in one piece may hold secrets.
        event(
            "nccl-setting",
            "NVLS|NCCL_|NCCL version |Connected all |-> Algo ",
            r"(?P<said>NVLS (?:multicast )?support\b.{0,80}|\bNCCL_[A-Z0-9_]{2,40} (?:set by environment )?to \S{1,60}"
            r"|\bNCCL_[A-Z0-9_]{2,40} set to \S{1,60}|\bNCCL version \d\S{0,40}|\bConnected (?:all (?:rings|trees)|NVLS tree)"
            r"|\d{1,20} Bytes -> Algo \w{1,12} proto \w{1,12})",
            captured,
        ),
        event(
            "network",
            "NET/OFI|NET/Socket|NET/IB|Using network |elected provider is|elected Provider is",
            r"NET/OFI (?:[Uu]sing|[Ii]nitializing) aws-ofi-nccl|NET/OFI [Uu]sing transport protocol"
            r"|NET/(?:Socket|IB) ?: ?[Uu]sing"
            r"|[Ss]elected [Pp]rovider is|\bNCCL INFO Using network \S",
        ),
        # Each rank prints one for each channel, thousands in all: only the slow ways are kept.
        event(
            "transport",
            " via SHM| via NET/Socket",
            r"\bNCCL INFO\b.{0,200}? via (?P<said>(?:SHM|NET/Socket)\S{0,60})",
            captured,
        ),
        event(
            "interruption",
            "pot interruption|pot Interruption|pot instance |pot Instance |nterruption notice|job was interrupted",
            r"(?i)^(?!.*\b(?:fail|failed|no|not|polling|watching|listening|waiting|enable[ds]?|handler)\b)"
            r".*(?:\bspot (?:instance )?(?:interruption|termination)\b.{0,60}\b(?:notice|warning|received|detected|signal)"
            r"|\bspot instance\b.{0,40}\b(?:is being|will be|was|has been) (?:interrupted|terminated|reclaimed)"
            r"|\b(?:received|got|detected)\b.{0,40}\b(?:spot )?interruption notice|\btraining job was interrupted)",
        ),
        event(
            "cancelled",
            "CANCELLED AT|DUE TO |Job step aborted",
            r"\bCANCELLED AT\b|\bDUE TO (?:TIME LIMIT|PREEMPTION|NODE FAILURE)|\bJob step aborted",
        ),
        event(
            "signal",
            "SIGTERM|SIGKILL|SIGSEGV|SIGABRT|SIGBUS|death signal|got signal: ",
            r"\bSIG(?:TERM|KILL|SEGV|ABRT|BUS)\b|\bReceived \d{1,2} death signal|\bgot signal: \d",
        ),
        event(
            "world-size",
            "orld size|world_size|MEMBER: |um processes: ",
            r"(?i)\b(?:global_)?world[ _]sizes?\s{0,4}(?:\.{2,80}|[:=])?\s{0,4}\[?\d+|\bMEMBER: \d+/\d+|^\s*+num processes: \d+",
        ),
        event(DATA_PREPARED, "riting example ", r"\bWriting example \d{1,9} of \d{1,9}\b"),
        # A head above what is said of an evaluation.
        event(
            EVALUATION_HEAD,
            "valuation|alidation|Eval|eval|Test",
            r"(?i)^\W{0,8}(?:evaluation|validation|eval|test)"
            r"(?:(?: results?)?\s?:| (?:begins?|starts?|started|phase)\b\W{0,8})\s*$",
        ),
    ),
    one_a_line=True,
)
MARKS = (*_MARKS.rows, *epochs.ROWS, *evaluated.ROWS)
#: Literal texts, one of which stands in every line read here.
GATES = tuple(dict.fromkeys((*_MARKS.gates, *epochs.GATES, *evaluated.GATES)))


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the event that the line marks, if it marks one; and of the epoch that it tells of."""
    yield from _MARKS.read(text)
    yield from epochs.read(text)
    yield from evaluated.read(text)
