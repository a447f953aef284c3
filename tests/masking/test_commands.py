"""Passwords in commands: whatever the text, the places are in order, within it, and found in any piece of it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.masking import MASK, without_secrets
from monitor.masking.names import passwords

_PIECES = st.sampled_from(
    ["mysql", "sshpass", "docker", "login", "htpasswd", "curl", "az", "-p", "-b", "-n", "-u", "-px7Y", "a:b", "x", "'", '"',
     "\\", "\\'", " ", " ", ",", ";", "|", "\n", "[", "]", "${A}", "é", "\U0001f600"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
@example("mysql")
@example("sshpass -p")
@example("docker login")
@example("curl -u")
@example("htpasswd -nb")
def test_any_text_can_be_asked(text: str) -> None:
    ends = [0]
    for start, end in passwords(text):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
    shown = without_secrets(text)
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a && mysql -uroot -pX1y && b", f"a && mysql -uroot -p{MASK} && b"),
        ("mysql -pX1y; sshpass -p Z2w ssh -p 22", f"mysql -p{MASK}; sshpass -p {MASK} ssh -p 22"),
        ("docker login -p X1y host\ndocker run -p 80:80", f"docker login -p {MASK} host\ndocker run -p 80:80"),
        ("['sshpass', '-p', 'X1y', 'ssh', '-p', '22']", f"['sshpass', '-p', '{MASK}', 'ssh', '-p', '22']"),
        ("curl -u 'kim:X 1' https://host", f"curl -u 'kim:{MASK}' https://host"),
        ("htpasswd -b -c file kim X1y", f"htpasswd -b -c file kim {MASK}"),
    ],
)
def test_only_the_password_goes(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_a_long_line_of_commands_takes_few_steps_a_word() -> None:
    text = "mysql mysql " * 2_000 + "sshpass -p X1y"
    assert without_secrets(text).endswith(f"sshpass -p {MASK}")
