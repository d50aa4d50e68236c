"""`eval-harness capture`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, force_option, option, store_option
from evalharness.cli.numbers import Integer
from evalharness.cli.references import RUN


@click.command("capture", cls=Command)
@click.argument("run", type=RUN)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@option(
    "--as",
    "kind",
    type=click.Choice(["regression"]),
    default="regression",
    show_default=True,
    help="Kind of eval: regression compares later answers with this one.",
)
@option("-o", "--output", required=True, metavar="FILE", help="The file to write (YAML).")
@option("--trial", type=Integer(1), metavar="N", help="Trial whose answer to take.  [default: the first that passed]")
@option("--version", "captured_version", metavar="V", help="Version of the target.  [default: the suite's]")
@option(
    "--compare",
    "comparison",
    type=click.Choice(["exact", "structural", "numeric", "semantic"]),
    help="How to compare later answers.  [default: exact for text, structural for data]",
)
@option("--criticality", type=click.Choice(["critical", "high", "medium", "low"]), help="How serious a change is.")
@force_option
@store_option
@debug_option
def command(run: str, cases: tuple[str, ...], **flags: Any) -> int:
    """Turn answers of RUN into regression evals, which compare later answers with them.

    eval-harness capture latest greets-by-name -o regression/greeting.yaml
    """
    from evalharness.actions.capture_case import CaptureRequest, capture_cases
    from evalharness.cli.stdout import command_name
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness
    from evalharness.reports.wording import harmless
    from evalharness.reports.words.say import say

    request = CaptureRequest(
        run=run,
        cases=cases,
        output=Path(flags["output"]),
        trial=flags["trial"],
        version=flags["captured_version"] or "",
        comparison=flags["comparison"] or "",
        criticality=flags["criticality"] or "",
        replace=flags["force"],
    )
    with Harness.open(flags["store"], to_read=True) as harness:
        written = harness.call(capture_cases, request)
    for warning in written.warnings:
        print(harmless(f"warning: {say(warning)}"), file=sys.stderr)
    made = f"suite '{written.suite_name}', {count(len(written.cases), 'regression eval')}"
    print(harmless(f"wrote  {written.path}: {made}"))
    print(harmless(f"next   {command_name()} run {shlex.quote(str(written.path))}"))
    return 0
