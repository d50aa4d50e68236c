"""`eval-harness init` (alias `create`)."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, option
from evalharness.cli.references import FOLDER


@click.command("init", cls=Command)
@click.argument("folder", required=False, default=".", metavar="[DIR]", type=FOLDER)
@option(
    "--template",
    type=click.Choice(["function", "command", "http", "chat", "agent", "judge"]),
    default="function",
    show_default=True,
    help="What to evaluate: a Python function, a program, a service, a prompt, an agent with tools, or answers that a "
    "language model grades.",
)
@debug_option
def command(folder: str, template: str) -> int:
    """Create a small project in DIR (default: here) that runs right away, offline. Existing files are kept."""
    from evalharness.actions.init_project import init_project
    from evalharness.cli.stdout import command_name
    from evalharness.harness import MEMORY, Harness

    with Harness.open(MEMORY) as harness:
        result = harness.call(init_project, Path(folder), template)
    for name in result.written:
        print(f"wrote  {result.folder / name}")
    for name in result.kept:
        print(f"kept   {result.folder / name} (exists)")
    enter = "" if folder == "." else f"cd {shlex.quote(folder)} && "
    print(f"next   {enter}{command_name()} run suite.yaml")
    return 0
