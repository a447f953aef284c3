"""Rules files and saved thresholds: what is read, what is refused and where, and that nothing is lost in between."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.alert.conditions import AlertRule, parse
from monitor.alert.rules import add, as_toml, read_rules, remove, rules_in, saved, saved_file
from monitor.alert.sinks.names import sink_of
from monitor.errors import BadCall, CannotDo
from tests.alert.test_grammar import conditions

GOOD = """# ours
[[rule]]
name = "idle"
when = "gpu_utilization < 40 for 10m"

# loud
[[rule]]
name = "dear"
when = "cost_usd > 500"
severity = "critical"
notify = ["stdout", "slack:env:HOOK"]
"""


def test_a_rules_file(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(GOOD, encoding="utf-8")
    idle, dear = read_rules(tmp_path / "rules.toml")
    assert idle == AlertRule("idle", parse("gpu_utilization < 40 for 10m"), "gpu_utilization < 40 for 10m")
    assert (dear.severity, dear.notify) == ("critical", ("stdout", "slack:env:HOOK"))


def _rule(more: str = "", name: str = '"x"', when: str = '"loss > 3"') -> str:
    return f"[[rule]]\nname = {name}\nwhen = {when}\n{more}"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[[rule]]\nname = "x\n', 2, "is not valid TOML"),
        ("[[rule]]\nname = ", 2, "is not valid TOML"),
        ("\n\n[[rules]]\n", 3, "rules: it stands outside of a rule, where nothing can. The nearest is [[rule]]."),
        ('when = "loss > 3"\n', 1, "when: it stands outside"),
        ('[rule]\nname = "x"\n', 1, "rule: rules are a list"),
        ("rule = 3", 1, "rule: rules are a list"),
        ('[[rule]]\nnam = "x"\n', 2, "nam: there is no such key; the nearest is name"),
        ('\n[[rule]]\nname = "x"\n', 2, "when: it is missing"),
        (_rule(name="3"), 2, "name: it must be a string"),
        (_rule(name='""'), 2, "name: a name is"),
        (_rule(name='" x"'), 2, "name: a name is"),
        (_rule(when="3"), 3, "when: it must be a string"),
        (_rule(when='"los > 3"'), 3, "when: There is no metric"),
        (_rule('severity = "loud"'), 4, "severity: write"),
        (_rule("severity = 3"), 4, "severity: write"),
        (_rule('notify = "stdout"'), 4, "notify: it must be a list"),
        (_rule('notify = ["slak:https://x"]'), 4, "notify: There is no sink"),
        (_rule() + _rule(), 5, 'name: another rule is already called "x"'),
        (_rule() + _rule('note = "x"', name='"y"'), 7, "note: there is no such key"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_key(text: str, line: int, words: str) -> None:
    with pytest.raises(BadCall) as caught:
        rules_in(text, "rules.toml")
    assert str(caught.value).startswith(f"rules.toml, line {line}")
    assert words in str(caught.value)


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("# nothing yet\n", encoding="utf-8")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name, words in (("empty.toml", "no rules"), ("binary.toml", "not UTF-8"), ("none.toml", "No such file")):
        with pytest.raises(BadCall, match=words):
            read_rules(tmp_path / name)


_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20)
_RULES = st.lists(
    st.builds(
        lambda name, when, severity, notify: AlertRule(name, when, str(when), severity, tuple(notify)),
        _NAMES,
        conditions(),
        st.sampled_from(["warning", "critical"]),
        st.lists(
            st.sampled_from(["stdout", "exec:'/opt/a b' \"c\"", "webhook:file:C:\\hook", "slack:env:HOOK"]), max_size=2
        ),
    ),
    max_size=4,
    unique_by=lambda rule: rule.name,
)


@settings(max_examples=50, deadline=None)
@given(_RULES)
def test_rules_written_as_toml_are_read_as_the_same(rules: list[AlertRule]) -> None:
    assert rules_in(as_toml(rules), "") == tuple(rules)


def test_saving_and_removing_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "thresholds.toml"
    assert saved(path) == ()
    path.parent.mkdir()
    path.write_text(GOOD, encoding="utf-8")
    added = add("slow", "step_time > 1.3x for 20 steps", "critical", ("stdout",), path)
    assert path.read_text(encoding="utf-8").startswith(GOOD)
    assert [rule.name for rule in saved(path)] == ["idle", "dear", "slow"]
    assert saved(path)[2] == added
    assert remove("idle", path).name == "idle"
    assert path.read_text(encoding="utf-8").startswith('# ours\n\n# loud\n[[rule]]\nname = "dear"')
    remove("slow", path)
    remove("dear", path)
    assert saved(path) == ()


def test_the_same_again_is_fine_and_another_of_that_name_is_not(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    add("idle", "loss > 3", path=path)
    before = path.read_text(encoding="utf-8")
    add("idle", "loss > 3", path=path)
    assert path.read_text(encoding="utf-8") == before
    with pytest.raises(BadCall, match="already saved"):
        add("idle", "loss > 4", path=path)
    with pytest.raises(BadCall, match="There are idle"):
        remove("nope", path)
    with pytest.raises(BadCall, match="nearest is loss"):
        add("new", "los > 4", path=path)
    with pytest.raises(BadCall, match="printable"):
        add("a\nb", "loss > 4", path=path)


def test_tables_in_one_line_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text('rule = [{name = "a", when = "loss > 3"}, {name = "b", when = "loss > 4"}]', encoding="utf-8")
    remove("a", path)
    assert [rule.name for rule in saved(path)] == ["b"]


def test_many_may_save_at_once(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add(f"rule {number}", f"loss > {number}", path=path), range(24)))
    assert {rule.name for rule in saved(path)} == {f"rule {number}" for number in range(24)}
    assert {entry.name for entry in tmp_path.iterdir()} == {"thresholds.toml", "thresholds.lock"}


def test_the_file_is_its_owners_alone_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    link = tmp_path / "thresholds.toml"
    link.symlink_to(tmp_path / "dotfiles" / "thresholds.toml")
    add("idle", "loss > 3", path=link)
    assert link.is_symlink()
    assert stat.S_IMODE((tmp_path / "dotfiles" / "thresholds.toml").stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CannotDo, match="cannot be written"):
        add("idle", "loss > 3", path=tmp_path / "thresholds.toml")


def test_where_thresholds_are_saved(tmp_path: Path) -> None:
    assert saved_file({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "trainwatch" / "thresholds.toml"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("stdout", "stdout"),
        ("sns:arn:aws:sns:us-east-1:123456789012:training", "sns:arn:aws:sns:us-east-1:123456789012:training"),
        ("slack:https://hooks.slack.com/services/T0/B0/SECRET", "slack:https://hooks.slack.com/…"),
        ("webhook:https://user:SECRET@example.com:8443/x?key=SECRET", "webhook:https://example.com/…"),
        ("slack:env:SLACK_WEBHOOK", "slack:env:SLACK_WEBHOOK"),
        ("webhook:file:/run/secrets/hook", "webhook:file:/run/secrets/hook"),
        ("exec:/usr/bin/page --token SECRET", "exec:/usr/bin/page"),
    ],
)
def test_sinks_are_shown_without_secrets(text: str, shown: str) -> None:
    assert sink_of(text).text == text
    assert sink_of(text).shown == shown


@pytest.mark.parametrize(
    "text",
    [
        "", "mail:SECRET", "https://hooks.slack.com/SECRET", "stdout:SECRET", "sns:", "sns:SECRET", "slack:", "slack:SECRET",
        "slack:ftp://example.com/SECRET", "webhook:https:///SECRET", "slack:env:", "slack:env:9X", "webhook:file:", "exec:",
        "exec:'SECRET", "webhook:https://exa mple.com/SECRET", "webhook:https://[SECRET",
    ],
)  # fmt: skip
def test_wrong_sinks_are_refused(text: str) -> None:
    with pytest.raises(BadCall) as caught:
        sink_of(text)
    assert "SECRET" not in str(caught.value) or text == "sns:SECRET"


_OLD = """[[rule]]
name = "always"
when = "gpu_utilization < 400"

[[rule]]
name = "idle"
when = "gpu_utilization < 40% for 10 min"
"""


def test_what_was_saved_before_it_was_refused_is_kept_and_named(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text(_OLD, encoding="utf-8")
    always, idle = saved(path)
    assert "always true" in always.doubt
    assert (idle.name, idle.doubt) == ("idle", "")
    add("new", "step_time > 2s", path=path)
    assert [rule.name for rule in saved(path)] == ["always", "idle", "new"]
    assert remove("always", path=path).doubt
    assert [rule.name for rule in saved(path)] == ["idle", "new"]
    with pytest.raises(BadCall, match="always true"):
        add("again", "gpu_utilization < 400", path=path)
    add("again", "gpu_utilization < 400", path=path, strict=False)
    # A rules file of a call is refused, with its line.
    path.write_text(_OLD, encoding="utf-8")
    with pytest.raises(BadCall, match=r"line 3, when: Understood as GPU utilization below 400 %"):
        read_rules(path)
