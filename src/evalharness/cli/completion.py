"""`eval-harness completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option
from evalharness.cli.process import PROGRAM

IMPROVED = {
    "zsh": {  # a .zshrc that never asked for completion has no `compdef`
        "    compdef _": "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n    compdef _",
    },
    "fish": {  # descriptions contain commas
        'string split ","': 'string split --max 1 ","',
    },
}
"""What click's scripts get wrong, and the correction."""


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
@debug_option
def command(shell: str) -> int:
    """Print a completion script for commands, flags, runs and suites; SHELL is bash, zsh or fish.

    \b
    bash   eval "$(eval-harness completion bash)"             in ~/.bashrc
    zsh    eval "$(eval-harness completion zsh)"              in ~/.zshrc
    fish   eval-harness completion fish | source              in ~/.config/fish/config.fish
    """
    from evalharness.cli.main import COMPLETION_VARIABLE, cli  # here: it is what calls this

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    script = kind(cli, {}, PROGRAM, COMPLETION_VARIABLE).source()
    for written, better in IMPROVED.get(shell, {}).items():
        script = script.replace(written, better)
    print(script)
    return 0
