"""The lines of a trainer that nobody knows are learned; servers, builds, databases and evaluations teach nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import LogPage
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows
from monitor.parse.strangers.collection import Strangers
from monitor.parse.strangers.labels import teller
from monitor.parse.strangers.learned import learn
from monitor.parse.table import Rows
from tests.parse.made_up import dialects, lines_of, sections, spoken
from tests.parse.read import pages, parse

OTHER_WORK = sections("other_work.txt")
DIALECTS = dialects()
# A line of each dialect before and behind it.
NOISE = [line for template in list(OTHER_WORK.values())[:40] for line in lines_of(template, 3)]


def test_there_are_many_kinds_of_each() -> None:
    assert len(OTHER_WORK) >= 100
    assert len(DIALECTS) >= 30


@pytest.mark.parametrize("kind", OTHER_WORK)
def test_other_work_is_no_training(kind: str) -> None:
    for times in (12, 60, 200):
        assert parse(list(lines_of(OTHER_WORK[kind], times))).learned == ()


def test_all_other_work_together_is_no_training() -> None:
    lines = [line for template in OTHER_WORK.values() for line in lines_of(template, 30)]
    random.Random(0).shuffle(lines)
    raw = Strangers()
    for page in pages(lines):
        raw.add(page, Rows())
    assert learn(raw) is None


def held(
    parsed: Parsed, title: str, steps: list[int], losses: list[float], times: list[float], rates: list[float]
) -> None:
    """The reports are these, and nothing is told of them that the dialect does not tell."""
    found = parsed.steps
    assert set(found["format"]) == {"learned-samples" if title == "samples seen" else "learned"}
    assert list(found["step"]) == steps
    for name, column, values in (
        ("loss", "loss", losses),
        ("time", "step_time_s", times),
        ("rate", "throughput", rates),
    ):
        expected = values if name in DIALECTS[title].tells else [np.nan] * len(steps)
        if name != "time" or name in DIALECTS[title].tells:
            np.testing.assert_allclose(found[column].to_numpy(float), expected)


@pytest.mark.parametrize("title", DIALECTS)
def test_a_stranger_is_learned(title: str) -> None:
    said = spoken(DIALECTS[title], 60)
    parsed = parse([*NOISE, *said.lines, *NOISE])
    held(parsed, title, said.steps, said.losses, said.times, said.rates)
    assert 1 <= len(parsed.learned) <= 3
    assert "<step>" in parsed.learned[0]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(DIALECTS)), st.lists(st.integers(1, 320), max_size=6), st.integers(0, 2**16))
def test_cuts_and_the_order_of_pages_do_not_matter(title: str, cuts: list[int], seed: int) -> None:
    lines = [*NOISE, *spoken(DIALECTS[title], 40, seed).lines, *NOISE]
    whole, cut = parse(lines), parse(lines, cuts)
    assert whole.learned == cut.learned != ()
    assert whole.steps.equals(cut.steps)


_COUNTER = st.sampled_from(["upd", "itr", "step no.", "iter", "update", "minibatch", "optimizer step", "Schritt", "it"])
_LOSS = st.sampled_from(["crit", "train_crit", "mean bce", "criterion", "xe loss", "Verlust", "kl loss"])
_MARK = st.sampled_from([" ", "=", ": ", " = ", " -> ", " "])
_BETWEEN = st.sampled_from([" | ", ", ", "; ", " :: ", "  ", " - "])
_HEAD = st.sampled_from(["", "[main] ", "INFO trainer ", ">>> ", "2026-01-04 08:30:00,123 INFO loop.py:77 ", "* "])
_MORE = st.sampled_from(["", "mom 0.9", "clip 1.0 on", "ok", "alpha=0.05", "width 512"])


@settings(max_examples=50, deadline=None)
@given(_HEAD, _COUNTER, _LOSS, _MARK, _BETWEEN, _MORE, st.integers(1, 50), st.integers(0, 1000), st.integers(5, 60))
def test_a_loop_in_any_phrase_is_learned(
    head: str, counter: str, loss: str, mark: str, between: str, more: str, every: int, begin: int, reports: int
) -> None:
    dice = random.Random(every * 1000 + begin)
    steps = [begin + every * turn for turn in range(reports)]
    losses = [round(dice.uniform(0, 9), 4) for _ in steps]
    tail = between + more if more else ""
    lines = [
        f"{head}{counter}{mark}{n}{between}{loss}{mark}{value}{tail}" for n, value in zip(steps, losses, strict=True)
    ]
    found = parse(lines).steps
    assert list(found["step"]) == steps
    np.testing.assert_allclose(found["loss"].to_numpy(float), losses)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(DIALECTS)), st.integers(0, 2**16))
def test_shuffled_lines_count_nothing(title: str, seed: int) -> None:
    lines = spoken(DIALECTS[title], 60).lines
    random.Random(seed).shuffle(lines)
    assert parse(lines).learned == ()


def test_lines_that_a_reader_knows_are_not_learned() -> None:
    lines = spoken(DIALECTS["German"], 60).lines
    parsed = parse([*lines, "step=1 step_time_s=2.0"])
    assert set(parsed.steps["format"]) == {"key-value"}
    assert parsed.learned == ()


def test_a_loading_bar_does_not_switch_learning_off() -> None:
    bar = [
        f"Loading checkpoint shards:  {10 * n}%|{'#' * n}| {n}/10 [00:0{n}<00:0{n},  1.00it/s]" for n in range(1, 10)
    ]
    said = spoken(DIALECTS["German"], 60)
    for lines in ([*bar, *said.lines], [*said.lines, *bar]):
        assert list(parse(lines).steps["step"]) == said.steps


def test_nothing_is_learned_where_it_is_turned_off() -> None:
    raw = RawRows(strangers=None)
    for page in pages(spoken(DIALECTS["German"], 60).lines):
        raw.add(page)
    assert assemble(raw.steps, raw.events, strangers=raw.strangers).steps.empty


def test_every_rank_and_every_start_is_a_series_of_its_own() -> None:
    first, again = spoken(DIALECTS["German"], 30), spoken(DIALECTS["German"], 40, seed=1)
    lines = [
        f"[1,mpirank:{rank},algo-{rank + 1}]<stdout>:{line}" for line in (*first.lines, *again.lines) for rank in (0, 1)
    ]
    steps = parse(lines).steps
    assert len(steps) == 140
    assert set(steps["rank"]) == {0, 1}
    for _, own in steps.groupby("rank"):
        assert list(own["step"]) == [*first.steps, *again.steps]
        assert list(own["segment"]) == [0] * 30 + [1] * 40


def test_a_rank_that_the_line_names_is_the_writer() -> None:
    lines = [f"rank {rank} upd {n} crit {1 / n + rank}" for n in range(1, 31) for rank in (1, 0, 2)]
    steps = parse(lines).steps
    assert sorted(set(steps["rank"])) == [0, 1, 2]
    assert set(steps.groupby("rank").size()) == {30}


def test_the_finer_of_two_counters_is_the_step() -> None:
    lines = []
    for epoch in range(1, 7):
        lines += [f"e{epoch} mb {n}/40 crit {1 / n + epoch}" for n in range(1, 41)]
        lines += [f"epoch {epoch} over, mean crit {1 / epoch}", f"epoch {epoch} val_crit {2 / epoch}"]
    steps = parse(lines).steps
    assert list(steps["step"]) == [*range(1, 41)] * 6


def test_an_evaluation_in_the_same_words_is_none() -> None:
    lines = []
    for n in range(1, 41):
        lines += [f"upd {n} crit {1 / n}"]
        lines += [f"validation upd {n} part {part} crit {1 / n}" for part in range(9)] if not n % 5 else []
    assert len(parse(lines).steps) == 40


def test_too_few_lines_teach_nothing() -> None:
    assert parse(spoken(DIALECTS["German"], 4).lines).learned == ()
    assert parse(spoken(DIALECTS["bracketed count with a cost"], 7).lines).learned == ()


def test_numbers_and_shapes_are_bounded_whatever_the_order_of_pages() -> None:
    said = spoken(DIALECTS["German"], 3000)
    random_text = [f"{''.join(random.Random(n).choices('abcdefgh', k=9))} loss {n}" for n in range(4000)]
    lines = [line for both in zip(said.lines, random_text, strict=False) for line in both] + random_text[3000:]
    found = []
    for backwards in (False, True):
        raw = Strangers(most_numbers=4000, most_shapes=700)
        cut = pages(lines, range(0, len(lines), 500))
        for page in reversed(cut) if backwards else cut:
            raw.add(page, Rows())
        kept = raw.found()
        assert sum(one.numbers.size for one in kept) <= 4000
        assert len(kept) <= 700
        found.append([(one.shape, one.line.tolist()) for one in kept])
    assert found[0] == found[1]


def test_of_a_long_run_every_so_many_counts_are_kept() -> None:
    said = spoken(DIALECTS["German"], 4000)
    raw = Strangers(most_numbers=6000)
    for page in pages(said.lines, range(0, 4000, 250)):
        raw.add(page, Rows())
    learned = learn(raw)
    assert learned is not None
    steps = learned.rows.table().step
    assert 500 <= len(steps) <= 1500
    assert len(set(np.diff(steps))) == 1


def test_many_redraws_and_any_other_report_close_it() -> None:
    raw, rows = Strangers(), Rows()
    page = LogPage.of("s", "algo-1", 1, spoken(DIALECTS["German"], 60).lines)
    rows.formats.add("tqdm")
    raw.add(page, rows)
    assert not raw.closed
    rows.formats.add("json")
    raw.add(page, rows)
    assert raw.closed
    assert learn(raw) is None


@pytest.mark.parametrize("title", DIALECTS)
def test_a_learned_line_is_told_by_its_shape(title: str) -> None:
    said = spoken(DIALECTS[title], 60)
    told = teller(parse(said.lines).learned)
    for line, step, loss in zip(said.lines, said.steps, said.losses, strict=True):
        expected = f"step {step:,}" + (f" · loss {loss:.4g}" if "loss" in DIALECTS[title].tells else "")
        assert told(line) == expected
    assert told("hello") == ""


@pytest.mark.parametrize(
    "line",
    [
        "Global-step {n} ++ accepted, alpha={a}, kl={loss}e-7, old=0.3",
        "upd {n} >> crit {loss} (kept)",
        "iteration #{n} => mean entropy {loss} / alpha {a}",
        "itr {n} ~~ took reward {loss}",
    ],
)
def test_a_step_of_which_something_is_told_only_sometimes_is_learned(line: str) -> None:
    dice = random.Random(3)
    steps = [n for n in range(400) if dice.random() < 0.25]
    lines = [line.format(n=n, a=1 / 2 ** (n % 5), loss=f"{9 / (n + 1):.4f}") for n in steps for _ in range(1 + n % 3)]
    assert sorted(set(parse(lines).steps["step"])) == steps


@pytest.mark.parametrize("grows", [lambda n: 3 * n * n * n, lambda n: 173 * n % 401, lambda n: n * 7 % 13])
def test_a_number_that_grows_as_no_step_does_is_not_learned(grows: Callable[[int], int]) -> None:
    assert parse([f"upd {grows(n)} >> crit {9 / n:.4f} (kept)" for n in range(1, 60)]).learned == ()


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("loss: {loss} acc: 0.{n}", None),
        ("INFO train loss {loss}, lr 1e-4", None),
        ("loss={loss} | lr=1e-4 | time=0.{n}s", 0.29),
        ("rl_loss: {loss}, time: 0.{n}, l2_norm: 3.{n}, rewards: {{'total_num': 256, 'total': 1{n}.0}}", 0.29),
        ("D loss: {loss}, G loss: 1{loss}", None),
        ("train_loss {loss} grad_norm 1.{n}", None),
        ("0.{n} s/iter, loss {loss}", 0.29),
        ("Epoch 1 - Batch loss: {loss}", None),
        ("loss:{loss}, accuracy:0.9{n}, recall:0.8{n}, precision:0.7{n}", None),
        ("Epoch [   1/   50] | d_loss: {loss} | g_loss: 1{loss}", None),
    ],
)
def test_lines_of_a_loss_that_count_nothing_are_a_step_each(line: str, seconds: float | None) -> None:
    steps = parse([line.format(n=10 + number * 7 % 40, loss=f"{9 / number:.4f}") for number in range(1, 40)]).steps
    assert list(steps["step"]) == list(range(1, 40))
    assert (
        steps["step_time_s"].median() == pytest.approx(seconds, rel=0.05)
        if seconds
        else steps["step_time_s"].isna().all()
    )


@pytest.mark.parametrize(
    "lines",
    [
        [f"Epoch {n}/20\ntrain Loss: {9 / n:.4f} Acc: 0.{n}\nval Loss: {8 / n:.4f} Acc: 0.{n}" for n in range(1, 21)],
        [f"loss: {9 / n:.4f} val_loss: {8 / n:.4f}" for n in range(1, 21)],
        [f"== {n} ==\ntrain mean loss: {9 / n:.4f}\ntest mean loss: {8 / n:.4f}" for n in range(1, 21)],
        [f"#{n}\ntraining loss = {9 / n:.4f}\ndev accuracy = 0.{n + 70}" for n in range(1, 21)],
        [f"Train: loss {9 / n:.4f}\nValid: ppl {80 / n:.4f}" for n in range(1, 21)],
        [
            f"mean loss: {9 / n:.4f}\n" * 2 + f"Test set: Average loss: {8 / n:.4f}, Accuracy: {n}/99"
            for n in range(1, 21)
        ],
        [f"Epoch [ {n}/ 20] | d_loss: {9 / n:.4f} | g_loss: {8 / n:.4f}" for n in range(1, 21)],
        [f"{n * 7919 % 83} position, training cost {9 / n:.4f}" for n in range(1, 21)],
        # A time and another count, or one that is no time between two lines.
        [f"case {n * 7919 % 83}, loss: {9 / n:.4f}, took 0.{n} s" for n in range(10, 40)],
        [f"2026-03-04 08:{n}:07 loss: {9 / n:.4f}, l2_norm: 0.{n}, time: 0.{n}" for n in range(10, 40)],
        # All batches of an epoch are done on every line.
        [f"[{10 * n}/500 | 11/11] fit-metrics: time/img: 0.0{n} | loss: {9 / n:.4f}" for n in range(1, 21)],
        # Trials of a search, each with a learning rate of its own.
        [
            f"{n}/22. {optimizer}, lr={rate}\naccuracy of training 0.9{n}"
            for n, (optimizer, rate) in enumerate(product(("SGD", "Adam"), (2.0, 0.001, 0.1, 0.3, 0.02) * 2), 1)
        ],
        # Short trainings one after the other, told by two losses an epoch.
        [
            f"INFO:run:Epoch: {epoch:04} avg_loss_{of}: {2 / (run + 1) + 1 / (epoch + 1):.3f} time: 9.{epoch}s"
            for run in range(12)
            for epoch in range(9)
            for of in ("left", "right")
        ],
    ],
)
def test_losses_of_epochs_and_of_other_work_count_no_steps(lines: list[str]) -> None:
    assert parse("\n".join(lines).split("\n")).steps.empty


def test_batches_between_epochs_are_trained_whatever_their_loss_is_called() -> None:
    lines = [
        line
        for epoch in range(1, 6)
        for line in (
            f"Epoch {epoch}/5",
            *(f"  Batch {n}/90 | Batch Energy: {9 / n:.3f} | Perplexity: {90 / n:.1f}" for n in (30, 60, 90)),
        )
    ]
    assert list(parse(lines).steps["step"]) == [30, 60, 90] * 5
    assert parse([line for line in lines if "Epoch" not in line]).steps.empty


@pytest.mark.parametrize(
    ("line", "learned"),
    [
        pytest.param("Epoch{e} [{n}/2500] Stage 0 = {f}({f})", True, id="figures of no known name"),
        pytest.param("Epoch {e}/3 [{n}/2500] Stage 0 = {f}", True, id="of so many epochs"),
        pytest.param("Epoch{e} [{n}] Stage 0 = {f}", False, id="no total"),
        pytest.param("Epoch{e} loading [{n}/2500] Stage 0 = {f}", False, id="other work"),
        pytest.param("Epoch{e} validation [{n}/2500] Stage 0 = {f}", False, id="an evaluation"),
    ],
)
def test_a_count_of_all_there_are_in_an_epoch_is_its_steps(line: str, learned: bool) -> None:
    lines = [line.format(e=epoch, n=n, f=f"{n % 7}.{n % 97:02}") for epoch in range(1, 4) for n in range(0, 2500, 100)]
    assert list(parse(lines).steps["step"]) == (list(range(0, 2500, 100)) * 3 if learned else [])


def test_names_before_their_numbers() -> None:
    lines = [
        f"2031-05-06 10:{at // 6:02}:{at % 6 * 10:02},000 - training curr batch, loss, lr: {100 * at}, {9 / (at + 1):.5f}, 1e-5"
        for at in range(40)
    ]
    found = parse(lines).steps
    assert list(found["step"]) == list(range(0, 4000, 100))
    assert found["loss"].iloc[1] == 4.5
    assert found["step_time_s"].median() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        pytest.param("[Step {n:5}/5000] Train {f} | Val~10% {f}", None, id="a figure of training without a name"),
        pytest.param("Iteration {n}, D: -{f}, D_real: 1.0, G: 1{f}", None, id="the two parts of a GAN"),
        pytest.param("{n}/5000 (2%) global average objf: -{f}", None, id="Kaldi's objective"),
        pytest.param("Cycle  0, K {n} (7), BinLoss {f}, TripleLoss 1{f}", None, id="two words in one"),
        pytest.param("Epoch: 1, Idx: {n}, Training Loss: {f}", None, id="an index"),
        pytest.param("INFO -- 1:02:{s:02} - upd {n}, crit: {f}", 0.1, id="a time without a name"),
        pytest.param("train.py[line:71] DEBUG: Train step_{n}: crit : {f}", None, id="a file, its line in brackets"),
        pytest.param("(lib/run.py, line 71)=> upd {n} crit {f}", None, id="a file and its line"),
        pytest.param("Iter: {n}, D: {f}, G:1{f}", None, id="the two parts, with nothing else"),
        pytest.param(
            "轮数: 7/20...  训练步数: {n}...  训练误差: {f}...  0.25 sec/batch", 0.25, id="words without blanks"
        ),
        pytest.param("Train Epoch: 1 dl: {n}/90000 Loss: {f}", None, id="a count of a name of its own"),
        pytest.param("upd{n:4}/5000 | crit:{f} | gnorm 0.25", None, id="a count padded with blanks up to its word"),
        pytest.param("INFO: {n}/9000: train/total_loss: {f}, eta: 3h 12m", None, id="a logger's level"),
        pytest.param("Training: [##--------] 1.0% | (Batch {n}/9000) (L:{f}) (loss:{f})", None, id="a bar of signs"),
        pytest.param("INFO -- 1:02:{s:02} - 0:00:07 - upd {n}, crit: {f}", None, id="two of them"),
    ],
)
def test_lines_as_they_were_published(line: str, seconds: float | None) -> None:
    lines = [line.format(n=100 * at, s=10 * at % 60, f=f"{9 / at:.4f}") for at in range(1, 6)]
    lines += [line.format(n=100 * at, s=10 * at % 60, f=f"{9 / at:.4f}").replace("1:02", "1:03") for at in range(6, 12)]
    steps = parse(lines).steps
    assert list(steps["step"]) == list(range(100, 1200, 100))
    median_s = steps["step_time_s"].median()
    assert median_s == pytest.approx(seconds) if seconds else median_s != median_s


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Num steps: {n}   Return: {r}.5", id="how many were made"),
        pytest.param("global step={n}, episodic return={few}.0", id="rewards of a game"),
    ],
)
@pytest.mark.parametrize(
    "counts",
    [
        pytest.param([50 * at + at % 3 for at in range(1, 400)], id="games of one length"),
        # The shortest stays the most usual one.
        pytest.param(
            list(accumulate(50 + at % 3 + (0 if at % 4 == 0 else 40 * at) for at in range(1, 400))),
            id="games that last longer the better they are played",
        ),
    ],
)
def test_steps_of_an_environment_are_learned_by_their_reward(line: str, counts: list[int]) -> None:
    steps = parse([line.format(n=n, r=at * 37 % 101, few=at * 37 % 13) for at, n in enumerate(counts, start=1)]).steps
    assert list(steps["step"]) == counts


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("value loss: {loss}, entropy: 0.{n}, episode: {episode}", id="updates within episodes"),
        pytest.param("Step {n}: Action = Up, Reward = {n}.5", id="a game that is played"),
    ],
)
def test_what_counts_something_else_is_no_step(line: str) -> None:
    dice = random.Random(5)
    lines = [line.format(n=n, loss=f"{9 / n:.4f}", episode=n // 3 * 2 + dice.randint(0, 1)) for n in range(1, 200)]
    assert parse(sorted(lines, key=lambda text: int(text.rpartition(" ")[2].split(".")[0]))).steps.empty


def test_a_number_of_steps_that_stands_still_is_no_counter() -> None:
    assert parse([f"Num steps: 1000   Return: {at * 37 % 101}.5" for at in range(1, 60)]).steps.empty


def _wordless(form: str, ms: Callable[[int], float], head: str = "Start training", many: int = 400) -> Parsed:
    """Lines of a count and a number, with the times at which they were taken in."""
    lines = [head, *(form.format(step=step, loss=3.0 / (1 + step) + 0.01 * (step % 7)) for step in range(many))]
    times = tuple(1_770_000_000_000 + round(ms(step)) for step in range(-1, many))
    raw = RawRows()
    raw.add(LogPage.of("job/algo-1-1", "algo-1", 1, lines, times))
    return assemble(raw.steps, raw.events, strangers=raw.strangers)


@pytest.mark.parametrize(
    "form", ["{step} {loss:.4f}", "{step}\t{loss:.6f}", "{step}: {loss:.3e}", "0\t{step}\t{loss:.6f}"]
)
def test_a_count_and_a_loss_without_a_word_are_learned_by_when_they_come(form: str) -> None:
    parsed = _wordless(form, lambda step: 700.0 * step)
    assert list(parsed.steps["step"]) == list(range(400))
    assert parsed.steps["step_time_s"].median() == pytest.approx(0.7)
    assert parsed.steps["loss"].iloc[3] == pytest.approx(3.0 / 4 + 0.03, rel=1e-3)


@pytest.mark.parametrize(
    ("form", "ms", "head"),
    [
        pytest.param("{step} {loss:.4f}", lambda step: 700.0 * step, "Start", id="nothing trains"),
        pytest.param("{step} {loss:.4f}", lambda step: 0.02 * step, "Start training", id="all at once"),
        pytest.param("{step} {step}", lambda step: 700.0 * step, "Start training", id="no figure"),
        pytest.param("{step} 52.1 {loss:.4f} {loss:.3f}", lambda step: 53_000.0 * step, "Start training", id="epochs"),
        pytest.param("{loss:.4f} 0.5", lambda step: 700.0 * step, "Start training", id="no count"),
    ],
)
def test_other_numbers_without_a_word_are_not(form: str, ms: Callable[[int], float], head: str) -> None:
    assert not len(_wordless(form, ms, head).steps)


def test_of_several_figures_without_a_word_none_is_called_the_loss() -> None:
    parsed = _wordless("[{step:4d}00, 0.0004]    {loss:.4f},    {loss:.3f}", lambda step: 700.0 * step, many=60)
    assert list(parsed.steps["step"]) == list(range(0, 6000, 100))
    assert parsed.steps["loss"].isna().all()


def test_numbers_without_a_word_and_without_a_time_are_not_learned() -> None:
    assert not len(parse(["Start training", *(f"{step} {3.0 / (1 + step):.4f}" for step in range(60))]).steps)


def test_of_a_line_for_each_part_of_the_loss_the_first_is_the_report() -> None:
    lines = [
        f"   1  {at:3} /  320 {name} = 0.{place}{at:03} time = 2026-06-04 16:{24 + at // 20:02}:41.87{place}269"
        for at in range(0, 300, 20)
        for place, name in enumerate(("whole_loss", "L1_loss", "SSIM_loss"), start=1)
    ]
    found = parse(lines)
    assert found.learned == ("N <step> / N whole_loss = <loss> time = <time>",)
    assert found.steps["loss"].tolist() == pytest.approx([0.1 + at / 10_000 for at in range(0, 300, 20)])
    assert found.steps["step_time_s"].dropna().tolist() == pytest.approx([3.0] * 14)


def test_two_fractions_with_a_comma_between_them_are_no_thousands() -> None:
    lines = [f"e: {epoch}/100,{20 * n}/151\t2.14 mb/s\tloss: 3.{n}{epoch}" for epoch in range(1, 4) for n in range(8)]
    assert parse(lines).steps["step"].tolist() == [20 * n for n in range(8)] * 3


def test_trained_images_count_samples() -> None:
    lines = [
        f"trained  {10_000 + 5 * at}  images   Batch training took 5.{at + 100}s   training loss: 3.{110_747 + at}"
        for at in range(0, 3000, 100)
    ]
    found = parse(lines)
    assert set(found.steps["format"]) == {"learned-samples"}
    assert found.steps["step"].tolist() == list(range(10_000, 25_000, 500))
    assert found.steps["loss"].notna().all()


def test_losses_of_evaluations_that_count_nothing_are_none_beside_a_count() -> None:
    lines = [
        line
        for epoch in range(1, 9)
        for line in (
            *(f"Train Epoch: {epoch} dl: {at}/302 Loss: {2 + at / 999:.6f}" for at in range(0, 302, 20)),
            f"-----Val Epoch: {epoch}, dl: 151/302-----",
            " R@1: 0.0825",
            f" Loss: {2 + epoch / 7:.15f}",
        )
    ]
    steps = parse(lines).steps
    assert list(steps["step"]) == list(range(0, 302, 20)) * 8
    assert set(steps["format"]) == {"learned"}


@pytest.mark.parametrize(("line", "many"), [("MSE: {f}", 0), ("train MSE: {f}", 40), ("loss: {f}", 40)])
def test_errors_that_count_nothing_are_steps_only_where_they_are_a_trainings(line: str, many: int) -> None:
    lines = [text for at in range(40) for text in (f"Img {at:04} and Count 13", line.format(f=f"{9 / (at + 1):.6f}"))]
    assert len(parse(lines).steps) == many


@pytest.mark.parametrize(
    ("told", "each_s"),
    [
        ("Time: 23m {s}s", 1410.0),
        ("time 1h 23m {s}s", 5010.0),
        ("Time: 2 min {s} sec", 150.0),
        ("Epoch Time: 23m {s}s", None),
    ],
)
def test_minutes_and_seconds_are_one_time(told: str, each_s: float | None) -> None:
    lines = [f"{n}/50 MSE: {3 / n:.4f} best 14.{643 + n} {told.format(s=10 + n * 17 % 40)}" for n in range(1, 40)]
    times = parse(lines).steps["step_time_s"]
    assert times.isna().all() if each_s is None else times.median() == pytest.approx(each_s, rel=0.02)


@pytest.mark.parametrize("stamp", ["", "2026-03-04 08:{m:02}:30,123 - INFO - "])
@pytest.mark.parametrize(
    "line",
    [
        "Ep. {n} | reward: {r}.5 | steps: {few}",
        "EP {n:04} | score: {r}.5 | eps=0.{few}",
        "ep: {n}/60  Average Return: {r}.2  length {few}",
        "Game {n}, Total reward: {r}.5, epsilon: 0.{left:02}",
        "Generation {n} - Mean reward: {r}.5 - entropy: 0.{few}",
        "Gen {n}  ep_rew_mean {r}.5",
        "Cycle {n}; return {r}.5; length {few}",
        "after cycle={n} avg(utility)={r}.5 avg(num_wins)=0.{few}",
        "[Rollout {n}] Mean reward: {r}.5",
    ],
)
def test_games_of_an_agent_are_counted_whatever_they_are_called(line: str, stamp: str) -> None:
    steps = parse(
        [(stamp + line).format(n=n, m=n, r=n * 37 % 101, few=10 + n * 7 % 13, left=99 - n) for n in range(1, 60)]
    ).steps
    assert list(steps["step"]) == list(range(1, 60))
    assert steps["step_time_s"].median() == pytest.approx(60) if stamp else steps["step_time_s"].isna().all()


@pytest.mark.parametrize(
    "name", ["Env steps: {n}", "Timestep {n}", "num_timesteps {n}", "Frames {n}", "total_timesteps={n}"]
)
def test_what_an_environment_counts_is_the_step_where_nothing_else_is_counted(name: str) -> None:
    line = f"{name} | mean reward: {{r}}.5 | entropy 0.{{r}}"
    steps = parse([line.format(n=2048 * n, r=10 + n * 37 % 83) for n in range(1, 60)]).steps
    assert list(steps["step"]) == list(range(2048, 2048 * 60, 2048))


@pytest.mark.parametrize(
    "line",
    [
        *("Step {n} | objective = {loss}", "Step {n} | nelbo {loss}", "iters={n}/4000, reconstruction {loss}"),
        *("Processed {n} batches | crit {loss}", "{n} iterations done, xent {loss}"),
    ],
)
def test_other_words_for_a_loss_and_for_what_is_done(line: str) -> None:
    steps = parse([line.format(n=10 * at, loss=f"{9 / at:.4f}") for at in range(1, 60)]).steps
    assert list(steps["step"]) == list(range(10, 600, 10))
