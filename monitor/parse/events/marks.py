"""Lines that mark an event in the life of a job: checkpoints, evaluations, restarts, numerical and network problems.

What one event prints in many ways stands in one pattern; of a line the first row that knows it names the event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.events import evaluated
from monitor.parse.events.reader import EventTable, captured, event
from monitor.parse.numbers import SPELLED, spelled_s

#: A bar or a figure that tells how an epoch went.
EPOCH_TOLD = "epoch-told"
#: A line that names an epoch, and no step of it.
EPOCH_NUMBERED = "epoch-numbered"
#: The same, where it tells how the epoch was trained, and of no evaluation.
EPOCH_TRAINED = "epoch-trained"
EPOCH_LINES = frozenset({EPOCH_TOLD, EPOCH_NUMBERED, EPOCH_TRAINED})
#: How many seconds an epoch of the training took.
EPOCH_TIME = "epoch-time"
#: "Evaluation:" and nothing else: what stands right below it is of the evaluation.
EVALUATION_HEAD = "evaluation-head"
#: That an example of the data is written, as a model reads them: what is counted meanwhile is no step.
DATA_PREPARED = "data-prepared"
#: That a model writes an answer.
GENERATED = "generated"
#: What a clock of the run shows between its epochs, and how much its last digit is, in seconds.
ELAPSED = "elapsed"
#: That a log tells of epochs and of no step: how many there are.
EPOCHS_ONLY = "epochs-only"
#: How many seconds one of them takes, by the times of the lines.
EPOCH_PACE = "epoch-pace"
#: The same, as it is printed.
EPOCH_TOOK = "epoch-took"
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
    ),
    one_a_line=True,
)
# What a logger puts in front.
_LOGGED = (
    r"(?:\[|\| )?(?:\d{2,4}[-/])?\d\d[-/]\d{2,4}[ T]\d\d:\d\d:\d\d[.,\d]{0,8}\]?\W{1,4}"
    # A logger may be called by what it logs: "train_log".
    r"(?:(?!(?:val|eval|test|dev|train|epoch)(?!_log))[\w.]{1,40}\W{1,4}){0,3}"
)
_FIGURE = r"(?:loss|acc|err|nll|ppl|rmse|mse|score|psnr|auc|iou|dice|f1|fid|ari|ssim|reward|return|elbo)"
_EPOCH_GATES = "poch |poch:|poch=|poch[|POCH |POCH:| Ep "
# "Date: 2026-03-04 08:15:36s, Time_Cost: 99s, " of image restoration, "[Fold 1 " and "fold 2 | " before the epoch.
_WHEN = r"Date: \d{4}-\d\d-\d\d \d\d:\d\d:\d\ds, Time_Cost: \d{1,7}(?:\.\d{1,3})?s, "
_WHICH = r"(?:fold|run|seed|trial|split)[ :#=\[]{1,2}\d{1,4}(?: ?(?:/|of) ?\d{1,4})?\W{1,4}"
# Python's own: "INFO:root:".
_PLAIN = r"(?:[A-Z]{4,8}:[\w.]{1,60}:)?"
_HEAD = rf"(?:{_LOGGED}\W{{0,8}}|{_WHEN}|{_PLAIN}\W{{0,12}})(?:{_WHICH})?"
_OF_EPOCH = (
    rf"{_HEAD}"
    r"(?:(?:train(?:ing)?|starting) )?ep(?:ochs?)?(?: num(?:ber)?| no\.?)?[ :=#\[]{1,3}(?P<said>\d{1,6})"
    rf"(?: ?(?:/|of) ?\d{{1,6}})?\]?(?![\d.])(?=.{{0,160}}{_FIGURE})"
    r"(?!.*(?:\b(?:step|iter|batch|it/s)|%\||\d ?/ ?\d))"
)
_EPOCHS = EventTable(
    (
        # What is said of each epoch, and of no step of it.
        event(
            EPOCH_TRAINED,
            _EPOCH_GATES,
            rf"(?i)^(?!.*\b(?:val|test|dev))(?=\W*epochs?\W.*\btrain(?:ing)?[ _-]?{_FIGURE}){_OF_EPOCH}",
            captured,
        ),
        # Swin Transformer and its kin.
        event(EPOCH_TRAINED, " training takes ", r"(?i)\bepoch (?P<said>\d{1,6}) training takes \d", captured),
        event(EPOCH_NUMBERED, _EPOCH_GATES, rf"(?i)^{_OF_EPOCH}", captured),
        # Lightning's checkpoints tell the epoch, and how many steps were made.
        event(EPOCH_NUMBERED, _EPOCH_GATES, r"\bEpoch (?P<said>\d{1,6}), global step \d{1,12}: '\S", captured),
        # A head above what is said of it.
        event(
            EPOCH_NUMBERED,
            _EPOCH_GATES,
            rf"(?i)^{_HEAD}(?:(?:train|start|begin)(?:n?ing)? )?epoch(?: num(?:ber)?| no\.?)?(?:[ :=#\[]{{1,3}}|[:|] {{1,60}})"
            r"(?P<said>\d{1,6})(?: ?(?:/|of) ?\d{1,6})?\W{0,40}$",
            captured,
        ),
        # DETR's log.txt and its kin: an object for each epoch, "train_loss" beside "test_loss"
        event(
            EPOCH_TRAINED,
            '"epoch": ',
            r'^\{(?=[^{}]{0,8000}"train_(?:\w{1,20}_)?loss": )(?![^{}]{0,8000}"(?:\w{1,20}_)?(?:step|iter|iteration|batch)s?": )'
            r'[^{}]{0,8000}"epoch": (?P<said>\d{1,6})[,}]',
            captured,
        ),
        # Ray Train's report, and what else prints a dict an epoch
        event(
            EPOCH_TOLD,
            "'epoch': ",
            r"\{(?=[^{}]{0,4000}'(?:train_)?loss': )(?![^{}]{0,4000}'(?:\w{1,20}_)?(?:step|iter|iteration|batch)s?': )"
            r"[^{}]{0,4000}'epoch': (?P<said>\d{1,6})[,}]",
            captured,
        ),
        # Lightning, of its checkpoints
        event(
            EPOCH_NUMBERED, ", global step ", r"(?i)^\W{0,12}epoch (?P<said>\d{1,6}), global step \d{1,12}: ", captured
        ),
        # A figure of the validation beside those of the training, or in a bar; where it moves each time that is an epoch's.
        event(
            EPOCH_TOLD,
            "val_|val |Val |Val_|valid_|valid |Valid |test_|test |Test |VAL |Validation |validation ",
            rf"(?i)^(?=.*?(?:%\||\btrain(?:ing)?[ _-]?{_FIGURE}))"
            rf".*?\b(?P<said>(?:val(?:id(?:ation)?)?|test)[ _-]?{_FIGURE}\w{{0,9}}"
            r"\s?[=:]?\s?\d[\d.e-]{0,20})",
            captured,
        ),
        event(DATA_PREPARED, "riting example ", r"\bWriting example \d{1,9} of \d{1,9}\b"),
        # A head above what is said of an evaluation.
        event(
            EVALUATION_HEAD,
            "valuation|alidation|Eval|eval|Test",
            r"(?i)^\W{0,8}(?:evaluation|validation|eval|test)(?: results?)?\s?:\s*$",
        ),
    ),
    one_a_line=True,
)
# Behind a validation's own figure stands what is the epoch's: "| Val PER: 0.0338 | Time: 37.9s".
_NO_TRAINING = (
    r"(?!.*\b(?:val|valid|validation|eval|evaluation|test|dev)\b(?:(?!\d {0,2}[|,;]).){0,24}\btime)"
    r"(?!.*\b(?:eta|remaining|left|average|avg)\b.{0,24}\btime)"
)
# Seconds, where no unit says otherwise.
_TOOK = (
    r"(?<![\d.])(?P<said>(?:\d{1,3}:)?\d{1,3}:\d\d(?:\.\d{1,9})?(?![:\d])"
    rf"|\d{{1,3}}(?:{SPELLED})"
    r"|\d{1,4} ?(?:hours?|hrs?|min(?:ute)?s?)(?:,? and|,)? {1,2}\d{1,2}(?:\.\d{1,9})? ?(?:min(?:ute)?s?|sec(?:ond)?s?)\b"
    r"(?:(?:,? and|,)? {1,2}\d{1,2}(?:\.\d{1,9})? ?sec(?:ond)?s?\b)?"
    r"|\d{1,7}(?:\.\d{1,15})? ?(?:s|secs?|seconds|m|mins?|minutes|h|hrs?|hours)\b"
    r"|\d{1,7}\.\d{2,15}(?! ?[A-Za-z/%]))"
)
_OF_ANOTHER = r"(?:val|eval|test|dev|est|exp|avg|average|mean|min|max|median|per|each|pre|on)\w{0,8} "
# The same in other units, and what the numbers mean: "(0.12 hours)", "(h:mm:ss)".
_AND_NO_MORE = r"\W{0,12}(?:\([\w.:, ]{1,24}\))?\W{0,12}$"
_LAST_DIGIT = re.compile(r"\d(?:\.(?P<decimals>\d+))?\s?(?P<unit>[A-Za-z]*)$")


def _took(match: re.Match[str]) -> str | None:
    printed = match["said"]
    seconds = spelled_s(printed) if not printed[-1].isdigit() or ":" in printed else float(printed)
    return f"{seconds:g}" if seconds else None


def _elapsed(match: re.Match[str]) -> str | None:
    seconds, printed = _took(match), match["said"]
    if seconds is None:
        return None
    last = _LAST_DIGIT.search(printed)
    assert last is not None  # a number was read
    unit_s = spelled_s(f"1 {last['unit']}") if last["unit"] else None
    return f"{seconds} {(unit_s or 1.0) / 10 ** len(last['decimals'] or ''):g}"


_TIMES = EventTable(
    (
        event(
            EPOCH_TIME,
            "poch took|poch takes|poch time|poch Time|poch duration|or epoch|or 1 epoch|one epoch|this epoch|the epoch|of epoch|"
            "per epoch|or Epoch|his Epoch|he Epoch|er Epoch|(epoch)| took | training takes |"
            " finished in | completed in | done in ",
            rf"(?i)^{_NO_TRAINING}.*?\b(?:time (?:(?:taken|used|spent|cost|elapsed) )?(?:for|of|per)"
            r" (?:(?:1|one|this|the|each) )?epoch|time spent \(epoch\)"
            r"|epoch(?: \d{1,6})? (?:time|took|(?:training )?takes|duration|(?:finished|completed|done) in))"
            rf"(?: \d{{1,6}}(?![\d.]))?\s?(?:is|was|[=:])?\s{{0,16}}{_TOOK}",
            _took,
        ),
        # "epoch=0/250,total_loss=1.870129, 1 epoch time=61.985902, left time=4.3"
        event(EPOCH_TIME, " 1 epoch time", rf"(?i), 1 epoch time ?[=:] ?{_TOOK}", _took),
        event(EPOCH_TIME, " Time_Cost: ", rf"(?i)^Date: [^,]{{1,24}}, Time_Cost: {_TOOK}, epoch", _took),
        # "Epoch 25 average loss: 0.4150  (76.7s)"; behind a validation alone it is that one's
        event(
            EPOCH_TIME,
            "Epoch |epoch ",
            r"(?i)^(?!(?:(?!\btrain).){0,200}\b(?:val|test|dev)\w{0,7}\b.*\()(?:\[[a-z][\w ]{0,23}\] )?"
            rf"\W{{0,12}}epoch {{1,3}}\d{{1,6}}(?: ?/ ?\d{{1,6}})?(?![\d.])[^()]*\({_TOOK}\)\s*$",
            _took,
        ),
        # "Epoch 1/100 [38.7s] | LR: 3.8e-06 | Train Loss: 2.7200"
        event(
            EPOCH_TIME,
            "Epoch |epoch ",
            r"(?i)^\W{0,12}epoch {1,3}\d{1,6}(?: ?/ ?\d{1,6})? [\[(](?P<said>\d{1,7}(?:\.\d{1,3})? ?(?:s|secs?|seconds))[\])] ",
            _took,
        ),
        # "[Fold 1 Ep 002] tr_loss=0.5130 | val_auc=0.5133 | 2.1s"
        event(
            EPOCH_TIME,
            "Epoch |epoch | Ep ",
            rf"(?i)^{_HEAD}ep(?:och)?\W{{1,4}}\d{{1,6}}(?![\d.])(?!.*\b(?:steps?|iter|batch)\b)(?!.*\d/\d)"
            # TabNet's clock: "|  0:00:09s"
            r".*\| {1,3}(?P<said>\d{1,7}(?:\.\d{1,3})? ?(?:s|secs?|seconds)|\d{1,3}:\d\d:\d\d(?=s))s?\s*$",
            _took,
        ),
        # "| end of epoch   1 | time: 55.9s | ", "End of epoch 1 / 200 	 Time Taken: 61 sec"
        event(
            EPOCH_TIME,
            "Epoch |epoch ",
            rf"(?i)end of epoch {{1,4}}\d{{1,6}}(?: ?/ ?\d{{1,6}})?\W{{1,4}}time(?: taken)?: {{1,4}}{_TOOK}",
            _took,
        ),
        # "Epoch 1/50 | Loss: 0.9787 | Time: 13635.27s", "Epoch finished, avg_loss=0.51, time=65.8s": a line of an epoch, and of
        # nothing that is counted within it.
        event(
            EPOCH_TIME,
            "Epoch |epoch |poch:|poch=|Epoch[|" + "|".join(f"Epoch{digit}" for digit in range(10)),
            # Behind a share stands what it is of: "66.20% (6620/10000)".
            rf"(?i)^(?:{_LOGGED}|{_PLAIN}\W{{0,12}}(?:info\W{{1,4}})?)"
            r"epoch(?:\W{0,4}\d{1,6}(?: ?(?:/|of) ?\d{1,6})?(?![\d.])(?! (?:eval|valid|test))| (?:finished|done|complete|over)\b)"
            r"(?!.*(?<!% \()\b\d{1,9} ?/ ?\d)"
            rf"(?!.*\b(?:steps?|iter(?:ation)?s?|it|(?:mini-?)?batch(?:es)?)\b){_NO_TRAINING}"
            # A cost without a unit is a loss.
            rf".*?\b(?:(?:time(?: taken| elapsed)?(?: is)?|took|duration)\s?[:=]?\s{{0,3}}"
            rf"|cost: {{1,3}}(?=[\d.]{{1,9}} ?(?:s|min))){_TOOK}",
            _took,
        ),
        # " - 12s - loss: 0.4150 - acc: 0.8100": Keras of old, where no bar is shown
        event(EPOCH_TIME, "s - loss: ", r"^ ?(?:- )?(?P<said>\d{1,6}s) - loss: ", _took),
        # "Training time takes approximately: 38.48 minutes at current epoch"
        event(
            EPOCH_TIME,
            "raining time",
            rf"(?i)\btraining time\b[^\d]{{0,32}}{_TOOK} (?:at|for|in) (?:the )?(?:current|this|one|last) ep",
            _took,
        ),
        # "Time elapsed: 0.05 min", and nothing else
        event(
            ELAPSED,
            "ime elapsed|ime Elapsed|lapsed time|lapsed Time|lapsed:",
            rf"(?i)^\W{{0,12}}(?:total |training )?(?:time elapsed|elapsed(?: time)?)\s?[:=]\s{{0,3}}{_TOOK}\W{{0,12}}$",
            _elapsed,
        ),
        # "Training took: 3.35 minutes!", "Total training time: 438.83 seconds (0.12 hours)", "Took 1880.06s to train"
        event(
            ELAPSED,
            "raining |rain ",
            rf"(?i)^\W{{0,12}}(?!.{{0,40}}\b{_OF_ANOTHER}.{{0,24}}train)(?:(?:\w{{1,12}} ){{0,4}}?train(?:ing)?"
            r" (?:took|takes|lasted|time(?: taken)?|runtime|duration|(?:was |is )?(?:finished|completed?|done|over) (?:in|after))"
            rf"|(?:finished|completed|done) training (?:in|after))\s?(?:is|was|[=:])?\s{{0,3}}{_TOOK}{_AND_NO_MORE}",
            _elapsed,
        ),
        event(
            ELAPSED,
            " to train",
            rf"(?i)^\W{{0,12}}(?:it )?(?:took|takes) {_TOOK} (?:for|to) train(?:ing)?\W*$",
            _elapsed,
        ),
    ),
    one_a_line=True,
)
MARKS = (*_MARKS.rows, *_EPOCHS.rows, *_TIMES.rows, *evaluated.ROWS)
#: Literal texts, one of which stands in every line read here.
GATES = tuple(dict.fromkeys((*_MARKS.gates, *_EPOCHS.gates, *_TIMES.gates, *evaluated.GATES)))


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the event that the line marks, if it marks one; and of the epoch that it tells of."""
    yield from _MARKS.read(text)
    yield from _EPOCHS.read(text)
    yield from _TIMES.read(text)
    yield from evaluated.read(text)
