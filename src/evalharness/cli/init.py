"""`eval-harness init` (alias `create`)."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option


@click.command("init", cls=Command)
@click.argument("folder", required=False, default=".", metavar="[DIR]")
@debug_option
def command(folder: str) -> int:
    """Create a small working project in DIR (default: here): a suite and a toy agent. Existing files are kept."""
    from evalharness.actions.init_project import init_project
    from evalharness.cli.stdout import command_name
    from evalharness.harness import MEMORY, Harness

    with Harness.open(MEMORY) as harness:
        result = harness.call(init_project, Path(folder))
    for name in result.written:
        print(f"wrote  {result.folder / name}")
    for name in result.kept:
        print(f"kept   {result.folder / name} (exists)")
    print(f"next   {'' if folder == '.' else f'cd {shlex.quote(folder)} && '}{command_name()} run suite.yaml")
    return 0
