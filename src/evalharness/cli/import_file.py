"""`eval-harness import`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, force_option, format_option, option
from evalharness.cli.numbers import Integer
from evalharness.cli.references import FILE


@click.command("import", cls=Command, short_help="Turn a table, or a suite of another format, into a suite file.")
@click.argument("file", metavar="FILE", type=FILE)
@option(
    "--map",
    "mapping",
    multiple=True,
    metavar="KEY=COLUMN",
    help="Where a field of the cases comes from: input=question, expected=answer, expected.contains=answer, "
    "metadata.source=url, … To combine columns, write them in braces. Repeatable.",
)
@option(
    "--preset",
    type=click.Choice(["humaneval", "mbpp"]),
    help="The file contains programming problems with tests, in the columns of this benchmark.",
)
@option("-o", "--output", default="-", metavar="FILE", help="Where to write the suite.  [default: - (stdout)]")
@option("--name", metavar="NAME", help="Name of the suite.  [default: the file name]")
@option("--limit", type=Integer(1), metavar="N", help="Use at most N cases.")
@format_option
@force_option
@debug_option
def command(file: str, **flags: Any) -> int:
    """Turn a table (CSV, TSV, JSONL, a JSON list) or a suite of another format into a native suite file.

    eval-harness import gsm.jsonl --map input=question --map expected.numeric=answer -o suite.yaml
    """
    from evalharness.actions.import_suite import ImportRequest, import_suite, write_suite
    from evalharness.cli.stdout import command_name
    from evalharness.domain.plain_numbers import count
    from evalharness.domain.problem import without_repeats
    from evalharness.harness import MEMORY, Harness
    from evalharness.reports.wording import harmless
    from evalharness.reports.words.say import say

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
        print("note   relative paths in the suite now start at its new folder")
    target = "" if suite.target or suite.variants else " --target file.py:function"
    print(harmless(f"next   {command_name()} run {shlex.quote(str(output))}{target}"))
    return 0
