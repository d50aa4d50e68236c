"""`eval-harness capture`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import RUN, Command
from evalharness.cli.flags import debug_option, option, store_option


@click.command("capture", cls=Command)
@click.argument("run", type=RUN)
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@option(
    "--as",
    "kind",
    type=click.Choice(["regression"]),
    default="regression",
    show_default=True,
    help="What it becomes: an eval that compares later answers with this one.",
)
@option("-o", "--output", required=True, metavar="FILE", help="The file to write (YAML).")
@option("--trial", type=click.IntRange(min=1), metavar="N", help="Whose answer; default: the first trial that passed.")
@option("--version", "captured_version", metavar="V", help="The version of what answered; default: the suite's.")
@option(
    "--compare",
    "comparison",
    type=click.Choice(["exact", "structural", "numeric", "semantic"]),
    help="How later answers are compared; default: exact for texts, structural for data.",
)
@option("--criticality", type=click.Choice(["critical", "high", "medium", "low"]), help="How bad a change would be.")
@option("--force", is_flag=True, help="Replace the output file if it exists.")
@store_option
@debug_option
def command(run: str, cases: tuple[str, ...], **flags: Any) -> int:
    """Turn answers of RUN into regression evals: what works today must work tomorrow.

    eval-harness capture brave-otter-042 greets-by-name --as regression -o regression/greeting.yaml
    """
    from evalharness.actions.capture_case import CaptureRequest, capture_cases
    from evalharness.cli.stdout import command_name
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness
    from evalharness.reports.wording import harmless
    from evalharness.reports.words import say

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
