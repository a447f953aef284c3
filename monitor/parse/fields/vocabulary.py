"""Which words training loops print beside their numbers: tables, for ``monitor.parse.fields.keys`` and those that use it.

All words are lower case and single; "step_time", "stepTime" and "step time" are the words step, time, and a slash is
the word per.
"""

from __future__ import annotations

from typing import TypeVar

from monitor.parse.fields.languages import IN_ASCII
from monitor.parse.rows import Meaning

_T = TypeVar("_T")


def word_set(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


def phrases(text: str) -> frozenset[str]:
    """Names of several words, with ``|`` between them."""
    return frozenset(text.split("|"))


def _pairs(text: str) -> dict[str, str]:
    """ "a=b|c=d" as a table."""
    return dict(pair.split("=") for pair in text.split("|"))


def _each(words: str, value: _T) -> dict[str, _T]:
    return dict.fromkeys(words.split(), value)


# Seconds of one.
DURATIONS = {
    **_each("ns nanosecond nanoseconds", 1e-9),
    **_each("us µs μs usec usecs microsecond microseconds", 1e-6),
    **_each("ms msec msecs millis millisecond milliseconds", 1e-3),
    **_each("s sec secs second seconds", 1.0),
    **_each("m min mins minute minutes", 60.0),
    **_each("h hr hrs hour hours", 3600.0),
}
SECOND = word_set("s sec secs second seconds")
# GiB of one. What is printed as GB is a power of two nearly everywhere; the rest are 7 % off.
SIZES = {
    **_each("gib gb gbytes gigabytes g", 1.0),
    **_each("mib mb mbytes megabytes", 1 / 1024),
    **_each("kib kb", 1 / 1024**2),
    **_each("bytes byte", 1 / 1024**3),
}
# Behind a counter, glued to it: "step:2.0K", "iter 1.2k/10k".
MAGNITUDES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
# What a loop counts: one of them, several.
COUNTED = word_set("step it iter iteration batch update minibatch")
PLURALS = word_set("steps its iters iterations batches updates")
# What a throughput counts -> its name in the throughput_unit column.
SAMPLED = {
    **_each("tok toks token tokens tk tks", "tokens"),
    **_each("sample samples smp", "samples"),
    **_each("example examples ex", "examples"),
    **_each("image images img imgs", "images"),
    **_each("seq seqs sequence sequences", "sequences"),
    **_each("sent sents sentence sentences", "sentences"),
    **_each("word words", "words"),
    **_each("frame frames", "frames"),
    **_each("element elements", "elements"),
    **_each("record records row rows item items", "records"),
}
# Of several throughputs in a line the first of these is reported; whatever else comes behind.
SAMPLED_ORDER = {"tokens": 0, "samples": 1, "examples": 1, "images": 1, "sequences": 1, "sentences": 1, "words": 2}
DEVICES = {"gpu": "GPU", "gpus": "GPU", "npu": "NPU", **{name: name for name in ("device", "chip", "card", "rank")}}
# Short names of throughputs; "ups" (updates/s) is a rate.
THROUGHPUTS = {"tps": "tokens/s", "tgs": "tokens/s/GPU", "wps": "words/s", "sps": "samples/s", "fps": "frames/s"}
# A throughput whose unit stands behind the number, or nowhere.
SPEED_WORDS = word_set("throughput speed ips goodput")

# Words in front of a name that do not change what it is.
DECORATION = word_set(
    "train training trainer trn tr current curr cur last latest now metric metrics perf performance stats stat timing progress"
    " info log logs the this per raw average avg mean running smoothed smooth ema moving rolling interval median"
)
# Words behind it.
DECORATION_BEHIND = word_set(
    "train training current curr cur now last average avg mean running smoothed smooth ema median"
)
#: Words of a mean of all that is counted.
MEANS = word_set("average avg mean median")
AVERAGES: dict[str, Meaning] = {
    **_each("average avg mean median interval", "interval"),
    "running": "running-mean",
    **_each("smoothed smooth ema moving rolling", "smoothed"),
}

# Order of steps: global ones come first; plurals are the last, they count many things.
GLOBAL_STEP, STEP, ITERATION, BATCH, EPISODE, STEPS = 0, 1, 2, 3, 4, 5
STEP_NAMES = {
    **dict.fromkeys(("global step", "global steps", "global iteration", "global iter"), GLOBAL_STEP),
    **dict.fromkeys(("optimizer step", "optimizer steps", "optim step", "opt step", "opt steps"), GLOBAL_STEP),
    **dict.fromkeys(
        ("num updates", "n updates", "num of updates", "number of updates", "total train updates"), GLOBAL_STEP
    ),
    "global step per max steps": GLOBAL_STEP,  # "global_step/max_steps": "10/1000"
    "step": STEP,
    **dict.fromkeys(("iteration", "iter", "it", "update", "g step", "n iter", "n iters", "n step"), ITERATION),
    **dict.fromkeys(("batch", "minibatch", "mini batch", "step in epoch", "batch in epoch", "iter in epoch"), BATCH),
    **dict.fromkeys(("episode", "episode num", "episode number"), EPISODE),  # beside it steps are its length
    **dict.fromkeys(("steps", "iters", "iterations", "updates"), STEPS),
}
# What is counted within a step; with its total ("micro 3/8") it tells when a step is whole.
MICRO_NAMES = phrases(
    "micro|micro step|micro batch|microbatch|microstep|accum|accum step|accumulation step|accumulation"
    "|grad accum|grad accum step|gradient accumulation|gradient accumulation step|ga step"
)
INDEX = word_set("num number idx index id no count i")
TOTAL_WORDS = word_set("total max num planned")
EPOCH_NAMES = frozenset({"epoch", "ep", "epoch idx", "epoch num", "epoch number"})
# Ranks of the whole job only: local ranks and ranks of nodes are no ranks.
RANK_NAMES = frozenset({"rank", "global rank", "world rank", "mpi rank", "process rank"})

# Order of times: what is surely of one step; a mean of steps; a rate; of so many steps as are told beside it; then what
# may be a clock, the likelier step first.
OF_ONE_STEP, MEAN_OF_STEPS, RATE, SPAN, ANY_TIME, BARE, ELAPSED, TOTAL_TIME = 10, 14, 20, 22, 30, 35, 40, 50
# With "step" before or "per step" behind them these are of one step, seconds unless a unit says otherwise.
TIME_WORDS = word_set("time times duration latency cost elapsed timing timings timer timers took dt t") | {
    "wall time",
    "elapsed time",
    "time spent",
    "time cost",
    "cost time",
}
# Between such a word and what is counted: "time_this_iter_s", "time for one step".
OF_ONE = word_set("per this last of for each every one a the in")
# Without a unit these may be anything; with one they are times.
TIMES_BY_UNIT = {"t": 30, "time step": 10, "timestep": 10, "total": TOTAL_TIME}
# Alone they are a step's time or a clock: the series decides. Seconds unless a unit says otherwise.
MAYBE_CLOCKS = {
    **dict.fromkeys(("time", "duration", "dur", "latency", "sec", "secs", "second", "seconds", "ms"), ANY_TIME),
    **dict.fromkeys(("took", "takes", "spent", "in", "done in", "finished in", "completed in", "time taken"), ANY_TIME),
    **dict.fromkeys(("time cost", "cost time", "time used", "used time", "time spent", "timer"), ANY_TIME),
    **dict.fromkeys(("time consumption", "time consumed", "consumed time", "time use", "use time"), ANY_TIME),
    **dict.fromkeys(
        ("time delta", "delta time", "delta t", "time diff", "diff time", "gpu time", "compute time"), ANY_TIME
    ),
    **dict.fromkeys(("total step time", "computation time", "mins", "minutes"), ANY_TIME),
    **dict.fromkeys(("elapsed", "elapsed time", "time elapsed", "at time"), ELAPSED),
    **dict.fromkeys(("total time", "time total", "wall", "wall time", "wall clock", "runtime", "clock"), TOTAL_TIME),
    **dict.fromkeys(("total elapsed", "total elapsed time", "total duration", "cumulative time"), TOTAL_TIME),
    **dict.fromkeys(("total used time", "total time used", "total time spent"), TOTAL_TIME),
    **dict.fromkeys(("elapsedtime", "time since start", "since start", "total wall time", "uptime"), TOTAL_TIME),
}
# How long the run will go on.
REMAINING = phrases(
    "eta|remaining|time left|left|time remaining|remaining time|estimated time left|estimated remaining"
)
# Paths that say of a mere "duration" that it is a step's.
OF_SPEED = word_set("throughput perf performance speed timing timings timers")
# Times, rates and counters behind one of these are not of the training step as a whole.
SUB_TIMERS = word_set(
    "data load loader dataloader loading reader reading read fwd forward bwd backward back io comm communication"
    " allreduce optim optimizer opt gen generation generate rollout env collect decode prefill download upload eta"
    " remaining left estimated compile fetch copy save saving ckpt checkpoint eval val test prefetch sync wait micro"
    " epoch preprocess cpu queue sampling"
)

EVALUATION = word_set("eval evaluation evaluate val valid validation validate test testing holdout heldout")
# "dev" is mostly a device or a host, "cv" a coefficient; before these they are the sets that are held out.
HELD_OUT = word_set("dev cv")
OF_HELD_OUT = word_set("loss acc accuracy ppl perplexity bleu wer cer f")

# Order of losses: the step's own, sums, of parts the only one, then measures that are a loss by another name.
PART_OF_LOSS = 30
COST = 12
LOSS_NAMES = {
    "loss": 0,
    **dict.fromkeys(("total loss", "loss total", "lm loss", "actual loss", "overall loss", "reduced loss"), 2),
    **dict.fromkeys(("step loss", "batch loss", "minibatch loss", "mini batch loss", "iter loss", "iteration loss"), 3),
    **dict.fromkeys(("err d", "err g"), PART_OF_LOSS),  # of a GAN's two parts
    **dict.fromkeys(("xent", "cross entropy", "nll", "ce", "objective value"), 8),
    "cost": COST,  # a time where its unit says so
}
#: What an agent gains.
GAINS = word_set("reward rewards return returns rew ret")
# What else a step's report tells, by which a step without a loss is known: how well it goes, ...
OUTCOMES = GAINS | word_set("score acc accuracy ppl perplexity rmse mse mae")
# ... and what nothing but training has (the learning rate besides).
ONLY_TRAINING = phrases(
    "advantage|advantages|approx kl|clip frac|clip fraction|entropy|explained variance|grad norm"
    "|gradient norm|kl|policy entropy|ppo kl"
)
# With one of these it is a setting of theirs.
NO_MEASURE = word_set(
    "coef coeff coefficient scale scaling threshold target weight limit max min best decay std var norm"
)
# With one of these it is no loss of a step: "loss scale", "best loss".
NO_LOSS = word_set(
    "scale scaler scaling weight weights coef ratio factor fn function type std var min max best lowest diff delta spike spikes"
    " prev previous epoch norm rate history"
)
MEMORY = word_set("mem memory vram maxmem gpumem cudamem allocated reserved alloc")
NO_GPU_MEMORY = word_set(
    "cpu host ram rss sys system swap free total limit util utilization pct percent fraction disk retries efficiency available"
    " cpumem shm virtual"
)
# The last word of names that set something up; a line of them is a configuration.
SETTINGS = word_set(
    "size epochs seed dir path workers every degree dropout decay heads layers patience warmup freq frequency port nodes beta"
    " eps epsilon vocab hidden"
)
# Written together these are two words.
JOINED = (
    _pairs(
        "globalstep=global step|gstep=global step|itteration=iteration|itr=iter|itrs=iters|updt=update|upd=update|upds=updates"
        "|btime=batch time|bt=batch time|itime=iter time|tdelta=time delta|timeperstep=time per step|gradnorm=grad norm"
        "|gnorm=grad norm"
        "|grdn=grad norm|clipfrac=clip fraction|losses=loss|steptime=step time|itertime=iter time"
        "|iterationtime=iteration time|batchtime=batch time|trainloss=train loss|totalloss=total loss"
        "|avgloss=avg loss|lmloss=lm loss|valloss=val loss|evalloss=eval loss|testloss=test loss"
        "|walltime=wall time|timelapsed=time elapsed|elap=elapsed|elasped=elapsed|ellapsed=elapsed"
        "|ud=update duration|ploss=policy loss|timestepsofar=timesteps so far|numupdates=num updates|nupdates=num updates"
        "|maxmem=max mem|gpumem=gpu mem|bch=batch|bacth=batch"
    )
    | IN_ASCII
)
