"""`eval-harness completion`, and what is completed: runs, baselines and suites of the store."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option

MOST_RUNS = 20
VARIABLE = "_EVAL_HARNESS_COMPLETE"
"""What the script calls this program with; click made it up."""
PROGRAM = "eval-harness"


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@debug_option
def command(shell: str) -> int:
    """Print a script that makes a shell complete commands, flags, runs and suites.

    \b
    bash   eval "$(eval-harness completion bash)"             in ~/.bashrc
    zsh    eval "$(eval-harness completion zsh)"              in ~/.zshrc
    fish   eval-harness completion fish | source              in ~/.config/fish/config.fish
    """
    from evalharness.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    print(kind(cli, {}, PROGRAM, VARIABLE).source())
    return 0


def run_references(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Runs, newest first, and baselines."""
    from evalharness.actions.list_runs import list_runs
    from evalharness.actions.set_baseline import list_baselines
    from evalharness.errors import HarnessError
    from evalharness.harness import Harness

    try:
        with Harness.open(context.params.get("store"), to_read=True) as harness:
            names = [(line.name, line.suite_name) for line in harness.call(list_runs, MOST_RUNS)]
            names += [(baseline.name, "baseline") for baseline in harness.call(list_baselines)]
    except HarnessError:  # a store that cannot be read completes nothing
        return []
    known = [("latest", "the newest run"), *names]
    return [CompletionItem(name, help=about) for name, about in known if name.startswith(incomplete)]


def suite_names(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Files, and registered suites."""
    from evalharness.errors import HarnessError
    from evalharness.harness import Harness

    try:
        with Harness.open(context.params.get("store"), to_read=True) as harness:
            names = [line.name for line in harness.context.store.registered_suites()]
    except HarnessError:
        names = []
    listed = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return [*listed, CompletionItem(incomplete, type="file")]
