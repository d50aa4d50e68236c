"""`eval-harness schema`."""

from __future__ import annotations

import json

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, option
from evalharness.errors import UsageError


@click.command("schema", cls=Command)
@option("--report", is_flag=True, help="Print the JSON Schema of JSON reports instead.")
@option("--comparison", is_flag=True, help="Print the JSON Schema of what `compare` writes as JSON instead.")
@debug_option
def command(report: bool, comparison: bool) -> int:
    """Print the JSON Schema of suite files, for your editor, or of JSON reports or comparisons, for your programs."""
    if report and comparison:
        raise UsageError("--report and --comparison are two schemas: ask for one of them")
    if report or comparison:
        from evalharness.reports.report_schema import comparison_schema, report_schema

        print(json.dumps(report_schema() if report else comparison_schema(), indent=2, ensure_ascii=False))
        return 0
    from evalharness.actions.validate_suites import suite_schema
    from evalharness.harness import MEMORY, Harness

    with Harness.open(MEMORY) as harness:
        print(json.dumps(harness.call(suite_schema), indent=2, ensure_ascii=False))
    return 0
