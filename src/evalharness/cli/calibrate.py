"""`eval-harness calibrate`."""

from __future__ import annotations

import sys
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import (
    concurrency_option,
    debug_option,
    format_option,
    json_option,
    judge_options,
    model_wishes,
    option,
    store_option,
    var_option,
)
from evalharness.cli.references import SUITE
from evalharness.reports.json_text import json_text


@click.command("calibrate", cls=Command)
@click.argument("suite", type=SUITE)
@option("--examples", is_flag=True, help="Let judges score the examples in their rubrics.  [default without --attacks]")
@option("--attacks", is_flag=True, help="Measure how often known tricks make a judge pass a wrong answer.")
@judge_options
@concurrency_option
@format_option
@var_option
@store_option
@json_option
@debug_option
def command(suite: str, **flags: Any) -> int:
    """Show how far the judges of SUITE (a file or a name) are from the known scores of their rubrics' examples.

    Each example is scored by a judge that sees the other examples. No target is run. Exit code 3 if nothing could be
    measured for a judge.
    """
    from evalharness.actions.calibrate_judge import CalibrationRequest, calibrate_judge
    from evalharness.cli.stdout import screen_on
    from evalharness.domain.run import RunOptions
    from evalharness.harness import Harness
    from evalharness.reports.terminal.calibration import CalibrationReport
    from evalharness.reports.words.say import say, with_texts

    request = CalibrationRequest(
        suite,
        flags["format_name"],
        examples=flags["examples"] or not flags["attacks"],
        attacks=flags["attacks"],
        variables=flags["variables"],
        options=RunOptions(max_concurrency=flags["max_concurrency"], **model_wishes(flags)),
    )
    with Harness.open(flags["store"]) as harness:
        calibration, redactor = harness.call(calibrate_judge, request, lambda found: _print(say(found)))
    redact = redactor.redact
    if flags["as_json"]:
        print(json_text({"calibration": with_texts(calibration)}, redact))
    else:
        CalibrationReport(screen_on(sys.stdout, redact)).show(calibration)
    return calibration.exit_code


def _print(line: str) -> None:
    from evalharness.reports.wording import harmless

    print(harmless(line), file=sys.stderr, flush=True)
