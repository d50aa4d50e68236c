"""`eval-harness calibrate`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from evalharness.cli.model_options import model_options, model_wishes
from evalharness.cli.options import (
    concurrency_option,
    debug_option,
    format_option,
    json_option,
    option,
    store_option,
    var_option,
)


@click.command("calibrate")
@click.argument("suite")
@option("--examples", is_flag=True, help="Let judges score their rubrics' examples.  [default, without --attacks]")
@option("--attacks", is_flag=True, help="Measure how often known tricks make a judge pass a wrong answer.")
@model_options
@concurrency_option
@format_option
@var_option
@store_option
@json_option
@debug_option
def command(suite: str, **flags: Any) -> int:
    """Show how far the judges of SUITE (a file or a name) are from the scores that their rubrics' examples deserve.

    Each example is scored by a judge that is shown the others. No target is asked. Exit code 3 where nothing became
    known of a judge.
    """
    from evalharness import settings
    from evalharness.actions.calibrate_judge import CalibrationRequest, calibrate_judge
    from evalharness.actions.collect_variables import redactor_for
    from evalharness.actions.find_suites import find_suites
    from evalharness.actions.open_store import open_store
    from evalharness.cli.redacting import errors_redacted, redaction_of
    from evalharness.cli.stdout import screen_on
    from evalharness.domain.run import RunOptions
    from evalharness.errors import UsageError
    from evalharness.reports.calibration_text import CalibrationReport

    files = find_suites([suite], flags["store"], flags["format_name"])
    if len(files) != 1:
        raise UsageError(f"{suite} holds {len(files)} suites, and one is taken at a time", hint="name one of them")
    request = CalibrationRequest(
        examples=flags["examples"] or not flags["attacks"],
        attacks=flags["attacks"],
        variables=settings.parse_assignments(flags["variables"], "--var"),
        options=RunOptions(max_concurrency=flags["max_concurrency"], **model_wishes(flags)),
    )
    redactor = redactor_for([file.suite for file in files if file.suite], request.variables)
    with open_store(flags["store"], redactor) as store:
        redact = redaction_of(store)
        with errors_redacted(redact):
            calibration = calibrate_judge(files[0], request, store, lambda line: _say(redact(line)))
    if flags["as_json"]:
        print(redact(json.dumps({"calibration": calibration.model_dump(mode="json")}, ensure_ascii=False, indent=1)))
    else:
        CalibrationReport(screen_on(sys.stdout, redact)).show(calibration)
    return calibration.exit_code


def _say(line: str) -> None:
    from evalharness.reports.wording import harmless

    print(harmless(line), file=sys.stderr, flush=True)
