"""`eval-harness schema`."""

from __future__ import annotations

import json

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option


@click.command("schema", cls=Command)
@debug_option
def command() -> int:
    """Print the JSON Schema of suite files, for your editor."""
    from evalharness.actions.validate_suites import suite_schema
    from evalharness.harness import MEMORY, Harness

    with Harness.open(MEMORY) as harness:
        print(json.dumps(harness.call(suite_schema), indent=2, ensure_ascii=False))
    return 0
