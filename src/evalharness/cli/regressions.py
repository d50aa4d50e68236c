"""`eval-harness regressions`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import (
    debug_option,
    json_option,
    json_output_option,
    option,
    refuse,
    rule_options,
    rule_overrides,
    store_option,
    verbosity_options,
)
from evalharness.cli.numbers import Number
from evalharness.cli.references import RUN, SUITE
from evalharness.reports.json_text import json_text


@click.command("regressions", cls=Command)
@click.argument("suite", metavar="SUITE", type=SUITE)
@option(
    "--baseline",
    type=RUN,
    metavar="B",
    help="A baseline's name, a run, or a JSON report.  [default: the suite's newest]",
)
@option("--baseline-variant", metavar="V", help="Compare the other variants of the newest run with this one instead.")
@option(
    "--run", type=RUN, metavar="R", help="The run to check.  [default: the newest finished one, with all its variants]"
)
@rule_options
@option(
    "--inconclusive",
    type=click.Choice(["pass", "fail"]),
    help="Exit code if the result is inconclusive: 0 (pass) or 4 (fail).  [default: from the gate, else pass]",
)
@option(
    "--threshold",
    type=Number(0, 1),
    metavar="SHARE",
    help="Exit code 1 if the score of any single task fell by more than this, else 0.  "
    "[default: 0.1, only to list such tasks]",
)
@json_output_option
@store_option
@json_option
@verbosity_options
@debug_option
def command(suite: str, **flags: Any) -> int:
    """Check whether SUITE (a name or a file) got worse than its baseline. Exit code 1 if so, else 0.

    With --threshold, the scores of single tasks decide instead of the comparison. Other exit codes: 4 inconclusive,
    with --inconclusive fail; 3 the run broke, so nothing is known.
    """
    from evalharness.actions.check_regressions import RegressionRequest, check_regressions
    from evalharness.cli.github import github_step
    from evalharness.harness import Harness

    if flags["threshold"] is not None and flags["inconclusive"] is not None:
        refuse("inconclusive", "--threshold decides by single scores, so the result is never inconclusive")
    request = RegressionRequest(
        suite=suite,
        baseline=flags["baseline"],
        baseline_variant=flags["baseline_variant"],
        run=flags["run"],
        rule=rule_overrides(flags),
        inconclusive=flags["inconclusive"],
        threshold=flags["threshold"],
    )
    with Harness.open(flags["store"], to_read=True) as harness:
        found = harness.call(check_regressions, request)
        redact, code = harness.redact, int(found.exit_code)
        if step := github_step(harness, flags):
            step.show_regressions(found)
        if flags["as_json"] or flags["outputs"]:
            from evalharness.reports.words.say import with_texts

            data = with_texts(found, by_alias=True)
            document = json_text({"regressions": data}, redact)
        if flags["as_json"]:
            show: Callable[[], object] = partial(print, document)
        else:
            from evalharness.cli.stdout import screen_on
            from evalharness.reports.terminal.regressions import RegressionsReport

            screen = screen_on(sys.stdout, redact)
            show = partial(RegressionsReport(screen, flags["store"], flags["verbosity"]).show, found)
        if not flags["outputs"]:
            show()
            return code
        from evalharness.cli.written_files import say_written, write_below
        from evalharness.reports.report_files import write_documents  # slow to load: only for a file

        writes = [partial(write_documents, [path], document) for path in flags["outputs"]]
        code, files = write_below(show, code, writes, redact)
        if not flags["as_json"] and flags["verbosity"] >= 0:
            say_written(files, screen)
    return code
