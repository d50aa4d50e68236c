"""`eval-harness import`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, format_option, option


@click.command("import", cls=Command, short_help="Turn a table, or a suite of another format, into a suite file.")
@click.argument("file", metavar="FILE")
@option(
    "--map",
    "mapping",
    multiple=True,
    metavar="KEY=COLUMN",
    help="What a column of the table is: input=question, expected=answer, expected.contains=answer, "
    "metadata.source=url, … A text with columns in braces puts several together.",
)
@option(
    "--preset",
    type=click.Choice(["humaneval", "mbpp"]),
    help="The file holds programming problems with their tests, in the columns of this benchmark.",
)
@option("-o", "--output", default="-", metavar="FILE", help="Where to write the suite; - (the default) is stdout.")
@option("--name", metavar="NAME", help="The suite's name; default: the file's.")
@option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N cases.")
@format_option
@option("--force", is_flag=True, help="Replace the output file if it exists.")
@debug_option
def command(file: str, **flags: Any) -> int:
    """Turn a table (CSV, TSV, JSONL, a JSON list) into a suite, or a suite file of any format into native YAML.

    eval-harness import gsm.jsonl --map input=question --map expected.numeric=answer -o suite.yaml
    """
    from evalharness.actions.import_suite import ImportRequest, import_suite, write_suite
    from evalharness.cli.stdout import command_name
    from evalharness.domain.plain_numbers import count
    from evalharness.domain.problem import without_repeats
    from evalharness.harness import MEMORY, Harness
    from evalharness.reports.wording import harmless
    from evalharness.reports.words import say

    request = ImportRequest(
        Path(file), flags["mapping"], flags["name"], flags["limit"], flags["format_name"], flags["preset"]
    )
    with Harness.open(MEMORY) as harness:
        imported = harness.call(import_suite, request)
        for problem in without_repeats(imported.problems):
            print(harmless(say(problem)), file=sys.stderr)
        if flags["output"] == "-":
            print(imported.text, end="")
            return 0
        output = Path(flags["output"])
        keeps_paths = harness.call(write_suite, imported, output, replace=flags["force"])
    suite = imported.suite
    print(harmless(f"wrote  {output}: suite '{suite.name}', {count(len(suite.cases), 'case')}"))
    if not keeps_paths:
        print("note   relative paths in a suite start at its own folder, which is now another one")
    target = "" if suite.target or suite.variants else " --target file.py:function"
    print(harmless(f"next   {command_name()} run {shlex.quote(str(output))}{target}"))
    return 0
