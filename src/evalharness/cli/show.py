"""`eval-harness show`."""

from __future__ import annotations

import json
import sys

import click

from evalharness.cli.flags import debug_option, json_option, store_option, verbosity_options


@click.command("show")
@click.argument("run")
@click.argument("case", required=False)
@store_option
@verbosity_options
@json_option
@debug_option
def command(run: str, case: str | None, store: str | None, as_json: bool, verbosity: int) -> int:
    """Show RUN (an id or a name) again, or the transcripts and grades of one CASE (an id or a name) of it."""
    from evalharness.actions.show_run import show_case, show_run
    from evalharness.cli.stdout import command_name, is_live, screen_on
    from evalharness.domain.reported_run import Presentation
    from evalharness.harness import Harness
    from evalharness.reports.json_report import case_data
    from evalharness.reports.report_files import print_report
    from evalharness.reports.transcripts import TranscriptReport
    from evalharness.reports.wording import history_text

    screen = screen_on(sys.stdout)
    with Harness.open(store, to_read=True) as harness:
        found = harness.call(show_run, run)
        assert found.report is not None
        reported = harness.reported(found)
        if case is None and as_json:
            print_report("json", [reported], sys.stdout, Presentation())
        elif case is None:
            live = is_live(sys.stdout)
            presentation = Presentation(str, command_name(), store, live, verbosity=verbosity)
            print_report("terminal", [reported], sys.stdout, presentation)
        else:
            shown = harness.call(show_case, found, case)
            if as_json:
                document = case_data(shown.case, shown.history, shown.trials)
                print(json.dumps(document, ensure_ascii=False, indent=1))
            else:
                history_line = history_text(**shown.history._asdict())
                TranscriptReport(screen).show_case(shown.case, list(shown.trials), history_line)
    return 0
