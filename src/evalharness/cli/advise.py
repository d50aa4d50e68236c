"""`eval-harness advise`."""

from __future__ import annotations

import sys
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, format_option, json_option, option, store_option
from evalharness.reports.json_text import json_text


@click.command("advise", cls=Command)
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...")
@option(
    "--goal",
    type=click.Choice(["retries", "reliable"]),
    help="retries: a wrong answer can be tried again; reliable: every answer has to be right.  "
    "[default: what the suite's retries and gate say]",
)
@format_option
@store_option
@json_option
@debug_option
def command(suites: tuple[str, ...], **flags: Any) -> int:
    """Say which graders, which metric and which gate fit SUITE (a file, a folder or a name).

    Nothing is run. The exit code is 0 whatever is found: advice is not a verdict.
    """
    from evalharness.actions.advise_suites import advise_suites
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness

    with Harness.open(flags["store"], to_read=True) as harness:
        advice = harness.call(advise_suites, suites, flags["goal"], flags["format_name"])
        redact = harness.redact
    if flags["as_json"]:
        from evalharness.reports.words.say import with_texts

        print(json_text({"advice": [with_texts(each) for each in advice]}, redact))
    else:
        from evalharness.reports.terminal.advice import AdviceReport

        AdviceReport(screen_on(sys.stdout, redact), flags["store"]).show(advice)
    return 0
