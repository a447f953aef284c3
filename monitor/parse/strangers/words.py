"""Which words of a line that no reader knows speak of training, and which of other work?

For ``strangers.learned``, which must rather miss a training loop than take a server for one: a line counts only where
a number is named as what training watches, or where the words say training, and where nothing says other work.
"""

from __future__ import annotations

import re

from monitor.parse.fields import lookalikes
from monitor.parse.fields.vocabulary import EVALUATION, INDEX, JOINED, word_set

# Order of counters: of several in a line the first that climbs is the step.
STEP, BATCH, SAMPLES, UNNAMED, EPOCH = 0, 1, 2, 3, 4
COUNTERS = {
    **dict.fromkeys(
        (
            *("step", "steps", "gstep", "nstep", "iteration", "iterations", "iter", "iters", "itr", "it", "iterate"),
            *("update", "updates", "upd", "upds", "optstep"),
        ),
        STEP,
    ),
    **dict.fromkeys(
        (
            *("batch", "batches", "minibatch", "minibatches", "mb", "bat", "idx", "tick", "round"),
            *("rollout", "episode", "episodes", "lot", "game", "games", "generation", "gen", "cycle"),
        ),
        BATCH,
    ),
    **dict.fromkeys(
        ("samples", "sample", "seen", "examples", "images", "sentences", "tokens", "kimg", "nimg", "sequences"), SAMPLES
    ),
    **dict.fromkeys(("epoch", "epochs", "ep"), EPOCH),
}  # fmt: skip
#: Counters of these are of training by themselves; a batch or a sample is also counted by what only reads data.
OF_TRAINING = word_set(
    "step steps gstep nstep iteration iterations iter iters itr update updates upd upds episode episodes"
)

# Names of numbers that climb and count no step.
NO_COUNTER = word_set(
    "time times timestamp ts date clock elapsed wall uptime sec secs second seconds ms min mins minute minutes hour hours day"
    " days eta pid tid ppid port line lines lineno col column row rows offset byte bytes size kb gb mib gib kib mem memory"
    " percent pct progress version code status id uid gid user worker workers thread threads rank local node nodes gpu device"
    " devices host proc process attempt attempts retry retries try tries error errors warning warnings skipped total max queue"
    " len length count best since patience bad wait remaining left level depth seed month year address addr width height"
    " at from after until before to with"
)

# A word in the name of a counter that makes it another one.
OTHER_COUNT = word_set(
    "best max min total warmup save log logging every per until till to next last remaining skipped env inner sub micro"
    " accum accumulation first since than before start resume diffusion denoising time limit interval eval valid val test"
)

# What training makes smaller or larger, by the word that names its number. LOSS and LEARNING are of training by themselves;
# QUALITY is also what an evaluation prints, and counts only beside a counter of training.
LOSS = word_set("loss losses cost xent nll ce bce elbo nelbo recon reconstruction crit criterion mse objective objf")
LEARNING = word_set("lr lrate grad grads gradient gnorm gradnorm lernrate epsilon")
QUALITY = word_set(
    "acc accuracy ppl perplexity bpc bpd bpb bleu wer cer f1 auc auroc iou miou dice psnr ssim mae rmse err error reward"
    " rewards rew return returns utility fitness score elo likelihood logp loglik logprob entropy kl recall precision"
)
#: What an agent gains that learns: beside it any count of its games is one of the training.
REWARD = word_set("reward rewards rew return returns utility")
# Of so many that were looked at.
RESULTS = word_set("correct right hits hit success successes wins win solved passed failed matches found")
NO_MEASURE = word_set(
    "best lowest highest max min weight weights coef scale scaler packet path threshold limit function fn type prev previous"
    " last patience count num total avgs std target delta change time rate_limit"
)
_TRAINS = re.compile(
    r"(?i)(?<![\w/.-])(?:(?:pre|fine-?)?train(?:s|ing|er|ed)?|optimi[sz]er|gradients?|back-?prop\w*|minibatch(?:es)?"
    r"|sgd|adamw?|learner|(?:fine-?)?tuning)(?![\w-])(?!\.\w)"
)
_EVALUATES = re.compile(
    r"(?i)(?<![\w/.])(?:held[ -]?out|hold[ -]?out|dev(?![a-z])|sanity|quiz|cross-?val|oracle|"
    r"valid(?!ity)\w{0,8}|evalu\w{0,6}|eval(?!s ?[:=] ?\0)|test(?:s|ing|ed)?(?![a-z])|prüf|bewert|inference"
    r"|infer(?:red|ring)?(?![a-z]))"
)


def _stems(*words: str) -> str:
    return "|".join(word.replace(" ", "|") for word in words)


# Stems of words for other work that counts, whatever else a line says. A stem ends anywhere, a word marked "!" ends there.
_OTHER = re.compile(
    r"(?i)(?<![\w])(?:"
    + _stems(
        # servers, databases, networks, clusters
        r"requests?\b req\b reqs\b https? GET\b POST\b PUT\b client connect socket session quer(?:y|ies)\b transaction txn",
        r"replica broker consumer producer partition topic offset raft quorum wal\b lsn vacuum autovacuum compaction",
        r"flush rdb\b aof\b keyspace block\b blocks\b peers?\b miner mining mined hashrate nonce ledger slot\b gossip",
        r"heartbeat health probes? poll(?:s|ed|ing)?\b ping icmp ttl\b packets? dropped lease kube pods?\b container docker",
        r"systemd kernel cron audit smtp dns\b tls\b ssl\b auth login proxy upstream endpoint api\b webhook qps\b rps\b",
        r"shard osd\b osdmap zxid member election elected election_id subscri publish message msgs?\b mailbox",
        # builds, packages, tests
        r"build built compil link(?:ing|ed)\b cmake ninja gcc clang cargo rustc webpack npm bazel maven gradle object(?!iv)",
        r"pip\b apt\b conda wheel dpkg unpack packag dependenc lint passed assert install cc\b cxx\b",
        # data
        r"download upload fetch receiv transfer clon(?:e|ed|ing)\b rsync files? folder director rows?\b records? documents?",
        r"docs?\b urls? crawl scrap pars(?:e|ed|ing|er)\b ingest export migrat backup restor archive unzip merges?\b merged",
        r"vocab dedup shuffl sort joins?\b etl\b spark executor mapreduce reducer mapper hdfs copied copy bytes? kB\b",
        r"tokeniz preprocess encod decod pages? lines? items?",
        # inference, search for settings, measurements of speed
        r"prompts? completion predict serv(?:e|er|ing|ed)\b prefill beam rerank retriev transcrib caption annotat render",
        r"latency trials? folds?\b cv\b candidates? sweep hparam hyper-?param search tuner study bracket rung population",
        r"genetic individual bench profil(?:e|er|ing)\b bootstrap permutation shap\b importance heap pause gc\b",
        # simulations and solvers
        r"pressure? volume density toteng poteng kinetic courant cfl\b residuals? converg timestep solver krylov gmres",
        r"newton simplex feasib infeas dual primal barrier incumbent scf\b hartree eigen mcmc chains? burn-?in anneal",
        r"inertia clusters? centroids? molecul atoms? particles? mesh collision quadrature",
        # money and radio; figures of training that are no report of a step
        r"profit trad(?:e|es|ing)\b portfolio pnl drawdown price invoice budget rssi jitter signal antenna overflow underflow",
        r"traceback errno exception deprecat attempts? retr(?:y|ies|ied) mapred",
    )
    + r")|\bstop.?loss|\bloss of\b(?! epoch)|packet loss|path loss|\bkv[ _-]cache|bitrate|ns/day|\bseed \0"
    r"|\baction ?[=:] ?[A-Za-z]"
)
# "return 12.5" is code, unless it is what an episode gained.
_GAIN = re.compile(r"(?i)\breturn(?=\s?[:=|]?\s?\0)")
_BEST = re.compile(r"(?i)[(\[]?\bbest\b")
_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+")


def words(name: str) -> list[str]:
    """The words of a name in lower case, letters of any script."""
    found: list[str] = []
    for word in _WORD.findall(name):
        lower = word.lower()
        found.extend(JOINED[lower].split() if lower in JOINED else (lower,))
    return found


def counter(name: list[str]) -> int | None:
    """The order of a counter of this name; None where the name is of no counter."""
    own = name[:-1] if len(name) > 1 and name[-1] in INDEX else name
    return COUNTERS.get(own[-1]) if own else None


def is_evaluation(name: list[str]) -> bool:
    """Whether the name tells of an evaluation: "val_loss"."""
    return not EVALUATION.isdisjoint(name) or "dev" in name or "heldout" in name


def trains(said: str) -> bool:
    """Whether the words of a line, its numbers NULs, say training."""
    return _TRAINS.search(said) is not None


def never(said: str) -> bool:
    """Whether they say something else, whatever the numbers are."""
    return _OTHER.search(said) is not None or lookalikes.never_a_step(_GAIN.sub("", said))


def evaluates(said: str) -> bool:
    """Whether they say an evaluation; the names of its numbers left out, which may stand in a training's own line."""
    return _EVALUATES.search(said) is not None or lookalikes.evaluates(said)


def other_work(said: str) -> bool:
    """Whether they say work that also counts batches, unless a loss is told."""
    return lookalikes.other_work(said)


def other_moment(said: str) -> bool:
    """Whether they say a checkpoint, a restart and the like; a best value told beside the newest does not."""
    return lookalikes.other_moment(_BEST.sub("", said))
