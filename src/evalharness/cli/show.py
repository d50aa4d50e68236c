"""`eval-harness show`."""

from __future__ import annotations

import json
import sys

import click

from evalharness.cli.options import debug_option, json_option, store_option


@click.command("show")
@click.argument("run")
@click.argument("case", required=False)
@store_option
@json_option
@debug_option
def command(run: str, case: str | None, store: str | None, as_json: bool) -> int:
    """Show RUN (an id or a name) again, or the transcripts and grades of one CASE (an id or a name) of it."""
    from evalharness.actions.analyse_items import with_items
    from evalharness.actions.make_report import case_histories, with_report
    from evalharness.actions.open_store import open_store
    from evalharness.cli.stdout import screen_on
    from evalharness.engine.planning import filled_case
    from evalharness.engine.tallying import count_trials
    from evalharness.errors import UnknownName
    from evalharness.reports.json_report import trial_data, write_json
    from evalharness.reports.terminal import TerminalReport
    from evalharness.reports.transcripts import TranscriptReport
    from evalharness.reports.wording import history_text

    screen = screen_on(sys.stdout)
    with open_store(store, to_read=True) as opened:
        found = with_items(opened, with_report(opened, opened.find_run(run)))
        assert found.report is not None
        if case is None and as_json:
            write_json([(found.report, opened.trials(found.id))], sys.stdout)
        elif case is None:
            TerminalReport(screen, store).show([found], with_next_step=found.report.summary.trials.pending > 0)
            measured = count_trials(found.suite, found.lock.trials, opened.outcomes(found.id))
            threshold = found.suite.case_threshold
            lines = [(id_, tally.state(threshold), tally.reason) for id_, tally in measured.tallies.items()]
            TranscriptReport(screen).show_cases(found, lines, store)
        else:
            cases = found.suite.cases
            chosen = next((one for one in cases if one.id == case), None)
            chosen = chosen or next((one for one in cases if one.name == case), None)
            if chosen is None:
                raise UnknownName(f"case in run {found.name}", case, [one.id for one in cases])
            chosen = filled_case(chosen, found.suite, {n: v for n, v in found.lock.variables.items() if v is not None})
            trials = list(opened.trials(found.id, chosen.id))
            history = case_histories(opened, found)[chosen.id]
            if as_json:
                rows = [{**trial_data(trial), "trial": trial.model_dump(mode="json")} for trial in trials]
                shown = {"case": chosen.model_dump(mode="json"), "history": history._asdict(), "trials": rows}
                print(json.dumps(shown, ensure_ascii=False, indent=1))
            else:
                TranscriptReport(screen).show_case(chosen, trials, history_text(**history._asdict()))
    return 0
