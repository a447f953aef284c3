"""What a threshold expression may say, and what is said of one that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alert.conditions import MEASURES, FindingCondition, Lasting, Threshold, name_of, number, parse
from monitor.alert.rules import rules_of
from monitor.errors import BadCall


@st.composite
def conditions(draw: st.DrawFn) -> Threshold:
    metric = draw(st.sampled_from(sorted(MEASURES)))
    kind = MEASURES[metric].kind
    relative = kind != "cost" and draw(st.booleans())
    value = draw(st.floats(0.001, 1e4).map(lambda x: float(f"{x:.6g}")))
    units = ["s", "m", "h"] + (["steps"] if kind in {"host", "step"} else [])
    unit = draw(st.sampled_from(units))
    amount = draw(st.integers(1, 10_000)) if unit == "steps" else draw(st.integers(1, 9999)) / 4
    lasting = draw(st.none() | st.just(Lasting(float(amount), unit)))  # type: ignore[arg-type]
    nodes = ["algo-1", "algo-17"] if kind != "cost" else []
    scope = draw(st.sampled_from(["any", "all", "mean", *nodes]))
    low, high = (max(-1e9, MEASURES[metric].span[0]), min(1e9, MEASURES[metric].span[1]))
    if not relative:
        # Within what the metric can be: beyond it a condition always or never holds.
        value = float(f"{low + (high - low) * draw(st.floats(0.001, 0.999)):.6g}")
    return Threshold(metric, draw(st.sampled_from(["<", "<=", ">", ">="])), value, relative, lasting, scope)  # type: ignore[arg-type]


@given(conditions())
def test_what_is_written_out_reads_as_the_same(condition: Threshold) -> None:
    assert parse(str(condition)) == condition


@given(conditions())
def test_spaces_do_not_matter(condition: Threshold) -> None:
    assert parse(f"  {str(condition).replace(' ', '   ')} ") == condition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu_utilization < 40 for 10m", Threshold("gpu_utilization", "<", 40.0, False, Lasting(10.0, "m"))),
        ("gpu_utilization<40 for 10m", Threshold("gpu_utilization", "<", 40.0, False, Lasting(10.0, "m"))),
        ("step_time > 1.3x for 20 steps on any", Threshold("step_time", ">", 1.3, True, Lasting(20.0, "steps"))),
        ("step_time > 1.3x for 1 step", Threshold("step_time", ">", 1.3, True, Lasting(1.0, "steps"))),
        ("loss >= 1e-3 on algo-3", Threshold("loss", ">=", 0.001, scope="algo-3")),
        ("gpu_utilization < 40 on algo-3/gpu5", Threshold("gpu_utilization", "<", 40.0, scope="algo-3/gpu5")),
        ("cost_usd > 500", Threshold("cost_usd", ">", 500.0)),
        ("throughput > 300 for 90s on mean", Threshold("throughput", ">", 300.0, False, Lasting(90.0, "s"), "mean")),
        ("gpu_utilization < 40%", Threshold("gpu_utilization", "<", 40.0)),
        ("gpu_utilization < 40 % for 10 min", Threshold("gpu_utilization", "<", 40.0, False, Lasting(10.0, "m"))),
        ("gpu_utilization<40percent for 1 hour", Threshold("gpu_utilization", "<", 40.0, False, Lasting(1.0, "h"))),
        ("step_time > 500 ms for 90 seconds", Threshold("step_time", ">", 0.5, False, Lasting(90.0, "s"))),
        ("seconds_since_last_step > 15 min", Threshold("seconds_since_last_step", ">", 900.0)),
        ("seconds_since_last_step > 0.5H", Threshold("seconds_since_last_step", ">", 1800.0)),
        ("step_time > 1.3 x", Threshold("step_time", ">", 1.3, True)),
        ("cost_usd > $500", Threshold("cost_usd", ">", 500.0)),
        ("cost_usd > 500 USD", Threshold("cost_usd", ">", 500.0)),
        ("loss < 3 for 10 minutes on any", Threshold("loss", "<", 3.0, False, Lasting(10.0, "m"))),
        ("finding stall", FindingCondition("stall")),
        ("finding critical", FindingCondition("critical")),
        ("finding warning", FindingCondition("warning")),
    ],
)  # fmt: skip
def test_expressions(text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("gpu_utilisation < 40", "nearest is gpu_utilization", "gpu_utilisation"),
        ("gpu < 40", "nearest is gpu_utilization", "gpu"),
        ("step-time > 1", "nearest is step_time", "step-time"),
        ("Loss > 1", "nearest is loss", "Loss"),
        ("quux > 1", "Metrics are gpu_utilization", "quux"),
        ("40 > loss", "begins with a metric", "40"),
        ("loss", "needs a comparison", None),
        ("loss = 3", "not a comparison", "="),
        ("loss == 3", "not a comparison", "=="),
        ("loss => 3", "written >=", "=>"),
        ("loss above 3", "not a comparison. Write loss > 3.", "above"),
        ("loss >", "needs a value", None),
        ("loss > high", "not a value", "high"),
        ("loss > nan", "not a value", "nan"),
        ("loss > 1e999", "not a value", "1e999"),
        ("gpu_utilization < 40s", "is in percent. Write gpu_utilization < 40%.", "40s"),
        ("gpu_utilization < 40 min", "is in percent", "40"),
        ("step_time > 3%", "has a time such as 15 min. Write step_time > 2s.", "3%"),
        ("cost_usd > 3h", "is in USD. Write cost_usd > 500.", "3h"),
        ("cost_usd > $3h", "is in USD", "$3h"),
        ("loss > 3%", "has no unit", "3%"),
        ("step_time > $3", "is in seconds", "$3"),
        ("loss > 3 for $10m", "not a duration", "$10m"),
        ("step_time > -1.3x", "not a multiple", "-1.3x"),
        ("cost_usd > 1.3x", "no typical value", "1.3x"),
        ("loss > 3 for", "needs a duration", None),
        ("loss > 3 for ten", "not a duration", "ten"),
        ("loss > 3 for 10", "lacks a unit", "10"),
        ("loss > 3 for 10 on any", "lacks a unit", "10"),
        ("loss > 3 for 10 parsecs", "not a unit", "parsecs"),
        ("loss > 3 for 10d", "not a unit", "10d"),
        ("loss > 3 for 0m", "more than 0", "0m"),
        ("loss > 3 for 1.5 steps", "whole", "1.5"),
        ("cost_usd > 3 for 20 steps", "not counted in steps", "20"),
        ("loss > 3 on", "needs a scope", None),
        ("loss > 3 on nodes", "not a scope", "nodes"),
        ("loss > 3 on algo-0", "not a scope", "algo-0"),
        ("loss > 3 on evry", "not a scope", "evry"),
        ("cost_usd > 3 on algo-1", "whole job", "algo-1"),
        ("loss > 3 on any for 10m", "comes before", "for"),
        ("loss > 3 for 1m for 2m", "appears twice", "for"),
        ("loss > 3 and loss < 2", "one condition", "and"),
        ("loss > 3 during 10m", "not understood", "during"),
        ("finding", "needs the id", None),
        ("finding stal", "nearest is stall", "stal"),
        ("finding stall on algo-1", "Nothing can follow", "on"),
    ],
)
def test_a_wrong_word_is_named_and_marked(text: str, words: str, marked: str | None) -> None:
    with pytest.raises(BadCall) as caught:
        parse(text)
    sentence, shown, carets = str(caught.value).split("\n")
    assert words in sentence
    assert shown == f"  {text}"
    place = carets.index("^") - 2
    assert carets.strip() == "^" * (len(marked) if marked else 1)
    assert text[place:].startswith(marked) if marked else place == len(text) + 1


_UNITS = {"%": ["%", " %", "percent", " percent"], "s": ["", "s", " s", " seconds"], "USD": ["", "$", " USD"]}


@given(conditions(), st.data())
def test_units_say_the_same_as_none(condition: Threshold, data: st.DataObject) -> None:
    value = f"{number(condition.value)}{'x' if condition.relative else ''}"
    unit = "" if condition.relative else data.draw(st.sampled_from(_UNITS.get(MEASURES[condition.metric].unit, [""])))
    words = {"s": ["s", " seconds"], "m": ["m", " min", " minutes"], "h": ["h", " hours"], "steps": [" steps", "steps"]}
    lasting = condition.lasting
    spelled = (
        "" if lasting is None else f" for {number(lasting.amount)}{data.draw(st.sampled_from(words[lasting.unit]))}"
    )
    text = f"{condition.metric} {condition.op} {value}{unit}{spelled} on {condition.scope}"
    assert parse(text) == condition


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "gpu_utilization < 400",
            ["GPU utilization below 400 %", "always true", "percent of one GPU", "gpu_utilization < 40%"],
        ),
        ("gpu_utilization <= 100", ["at most 100 %", "always true"]),
        ("gpu_utilization > 100%", ["above 100 %", "never true", "gpu_utilization > 90%"]),
        ("cpu_utilization >= 100.5", ["never true", "percent of one host"]),
        ("gpu_utilization < 0", ["never true"]),
        ("gpu_utilization >= 0 for 10m on all", ["always true", "gpu_utilization >= 90% for 10m on all"]),
        ("step_time < 0", ["never true", "never below 0"]),
        ("step_time > -1", ["always true", "step_time > 2s"]),
        ("cost_usd <= -5", ["cost at most -5 USD", "never true"]),
        ("seconds_since_last_step >= 0", ["always true", "seconds_since_last_step >= 15 min"]),
        ("throughput < 0", ["never true"]),
    ],
)
def test_what_can_never_or_always_hold_is_refused_in_a_sentence(text: str, words: list[str]) -> None:
    with pytest.raises(BadCall) as caught:
        parse(text)
    sentence, shown, carets = str(caught.value).split("\n")
    assert sentence.startswith("Understood as ")
    assert all(word in sentence for word in words), sentence
    assert (shown, carets) == (f"  {text}", f"  {'^' * len(text)}")
    assert str(parse(text, strict=False))  # as it was saved before that was asked
    nearest = sentence.rpartition("for example, ")[2].removesuffix(".")
    assert parse(nearest)


@pytest.mark.parametrize(
    "text",
    ["gpu_utilization <= 0", "gpu_utilization >= 100", "gpu_utilization < 100", "gpu_utilization > 0", "cost_usd > 0",
     "loss > -3", "loss < 0", "step_time > 0", "gpu_utilization < 1.3x"],
)  # fmt: skip
def test_what_can_hold_and_fail_is_taken(text: str) -> None:
    assert parse(text)


@pytest.mark.parametrize("text", ["", "   ", "x" * 400])
def test_what_is_no_expression_gets_one_sentence(text: str) -> None:
    with pytest.raises(BadCall) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    said = ""
    try:
        parse(text)
    except BadCall as error:
        said = str(error)
    assert all(sign.isprintable() or sign == "\n" for sign in said)


def test_rules_of_the_command_line_have_different_names() -> None:
    names = [rule.name for rule in rules_of(["loss > 3", "loss > 3.0", "step_time > 1.3x for 20 steps on all"])]
    assert names == ["loss-above-3", "loss-above-3-2", "step_time-above-1.3x-for-20-steps-on-all"]
    assert name_of(FindingCondition("stall")) == "finding-stall"
