"""`eval-harness plan`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from evalharness.cli.flags import (
    NumberType,
    VisiblePoints,
    debug_option,
    json_option,
    option,
    store_option,
    verbosity_options,
)
from evalharness.domain.bounds import ALPHA, LEAST_ALPHA, POWER


@click.command("plan")
@click.argument("suite")
@option(
    "--effect",
    type=VisiblePoints(min=0, max=100, min_open=True),
    default=5.0,
    show_default=True,
    metavar="POINTS",
    help="The drop of the pass rate to detect.",
)
@option(
    "--power",
    type=NumberType(min=0.5, max=1, min_open=True, max_open=True),
    default=POWER,
    show_default=True,
    metavar="P",
    help="How likely such a drop is detected.",
)
@option(
    "--alpha",
    type=NumberType(min=LEAST_ALPHA, max=0.25, max_open=True),
    default=ALPHA,
    show_default=True,
    metavar="P",
    help="How often a false alarm is accepted.",
)
@option(
    "--cases",
    type=click.IntRange(min=1, max=1_000_000),
    metavar="N",
    help="Plan for N cases.  [default: those of the suite]",
)
@option(
    "--trials",
    type=click.IntRange(min=1, max=10_000),
    metavar="K",
    help="Plan for K trials per case.  [default: those of the run it is based on]",
)
@option(
    "--run", metavar="RUN", help="Base the plan on this run (an id or a name).  [default: the newest that is suitable]"
)
@store_option
@json_option
@verbosity_options
@debug_option
def command(suite: str, store: str | None, as_json: bool, **asked: Any) -> int:
    """Say how many cases and trials of SUITE (a file or a name) it takes to detect a drop; nothing is run.

    Based on how much results varied in the suite's last run with several trials, and on what it cost.
    """
    from evalharness.actions.plan_trials import PlanRequest, plan_trials
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness
    from evalharness.reports.plan_text import PlanReport
    from evalharness.reports.words import with_texts

    request = PlanRequest(
        suite, asked["effect"] / 100, asked["power"], asked["alpha"], asked["cases"], asked["trials"], asked["run"]
    )
    with Harness.open(store, to_read=True) as harness:
        plan = harness.call(plan_trials, request)
    if as_json:
        print(json.dumps({"plan": with_texts(plan)}, ensure_ascii=False, indent=1))
    else:
        PlanReport(screen_on(sys.stdout), asked["verbosity"]).show(plan)
    return 0
