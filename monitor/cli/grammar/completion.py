"""What ``completion`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import add_command
from monitor.installed import COMMAND


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "completion",
        "completion of commands and options for bash, zsh or fish",
        f"Prints a script for your shell that completes the commands, options and files of {COMMAND}. The shell "
        "reads it as it starts, from the file below, or each time with a line such as: "
        f'eval "$({COMMAND} completion bash)"',
        (
            "completion bash > ~/.local/share/bash-completion/completions/trainwatch",
            "completion zsh > ~/.zfunc/_trainwatch",
            "completion fish > ~/.config/fish/completions/trainwatch.fish",
        ),
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
