"""`eval-harness show`."""

from __future__ import annotations

import sys
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, json_option, option, store_option, verbosity_options
from evalharness.cli.references import RUN, RunReference
from evalharness.reports.json_text import json_text


@click.command("show", cls=Command)
@click.argument("words", nargs=-1, type=RUN, metavar="[RUN] [CASE]...")
@option("--failed", is_flag=True, help="Show every case of RUN that failed, is flaky or ended in error.")
@option(
    "--against",
    type=RunReference(),
    metavar="RUN",
    help="Show the first step at which CASE went differently in the other run.",
)
@store_option
@verbosity_options
@json_option
@debug_option
def command(
    words: tuple[str, ...], failed: bool, against: str | None, store: str | None, verbosity: int, as_json: bool
) -> int:
    """Show RUN again, or everything about some of its cases: answers, checks, printed output, stack traces.

    RUN and CASE are ids or names. Without RUN, the newest run is shown.
    """
    from evalharness.actions.align_trials import align_trials
    from evalharness.actions.show_run import find_shown, show_cases, show_failed_cases, show_kept
    from evalharness.cli.stdout import command_name, is_live
    from evalharness.domain.reported_run import Presentation
    from evalharness.harness import Harness
    from evalharness.reports.report_files import print_report

    presentation = Presentation(str, command_name(), store, is_live(sys.stdout), is_shown=True, verbosity=verbosity)
    with Harness.open(store, to_read=True) as harness:
        is_brief = verbosity <= 0 and not as_json and not failed and against is None
        if is_brief and (kept := harness.call(show_kept, words)):
            print_report("terminal", [kept], sys.stdout, presentation)
            return 0
        run, names = harness.call(find_shown, words)
        if failed and names:
            raise click.UsageError("give case names or --failed, not both")
        if against is not None:
            if failed or not names:
                raise click.UsageError("--against needs the name of a case: show RUN CASE --against RUN")
            return _show_alignments(harness.call(align_trials, run, names, against), as_json=as_json)
        if not failed and not names:
            print_report("json" if as_json else "terminal", [harness.reported(run)], sys.stdout, presentation)
            return 0
        found = harness.call(show_failed_cases, run) if failed else harness.call(show_cases, run, names)
        _show_cases(run, found, as_json=as_json, several=failed or len(names) > 1)
    return 0


def _show_alignments(found: Any, *, as_json: bool) -> int:
    from evalharness.cli.stdout import screen_on
    from evalharness.reports.terminal.alignment import show_alignment

    if as_json:
        documents = [{**each.model_dump(mode="json"), "first_difference": each.first_difference} for each in found]
        print(json_text(documents[0] if len(documents) == 1 else {"cases": documents}))
        return 0
    screen = screen_on(sys.stdout)
    for position, each in enumerate(found):
        if position:
            screen.say()
        show_alignment(screen, each)
    return 0


def _show_cases(run: Any, found: Any, *, as_json: bool, several: bool) -> None:
    from evalharness.cli.stdout import screen_on
    from evalharness.reports.json_report import case_data
    from evalharness.reports.terminal.cases import CaseReport, no_failures_text

    if as_json:
        documents = [case_data(shown.case, shown.history, shown.trials) for shown in found]
        print(json_text({"cases": documents} if several else documents[0]))
        return
    screen = screen_on(sys.stdout)
    for position, shown in enumerate(found):
        if position:
            screen.say()
        CaseReport(screen).show(shown.case, shown.state, shown.graders, shown.trials, shown.history)
    if not found:
        screen.say(no_failures_text(run.name, run.report.summary))
