"""`eval-harness plan`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.numbers import Integer, Number, Points
from evalharness.domain.bounds import ALPHA, LEAST_ALPHA, POWER


@click.command("plan", cls=Command)
@click.argument("suite")
@option(
    "--effect",
    type=Points(),
    default="5",
    show_default=True,
    metavar="POINTS",
    help="The drop of the pass rate that is to be seen.",
)
@option(
    "--power",
    type=Number(0.5, 1, least_open=True, most_open=True),
    default=POWER,
    show_default=True,
    metavar="P",
    help="How surely such a drop is to be seen.",
)
@option(
    "--alpha",
    type=Number(LEAST_ALPHA, 0.25, most_open=True),
    default=ALPHA,
    show_default=True,
    metavar="P",
    help="How often a drop may be claimed where there is none.",
)
@option(
    "--cases",
    type=Integer(1, 1_000_000),
    metavar="N",
    help="Plan for N cases.  [default: those of the suite]",
)
@option(
    "--trials",
    type=Integer(1, 10_000),
    metavar="K",
    help="Plan for K trials per case.  [default: those of the run it judges by]",
)
@option("--run", metavar="RUN", help="Judge by this run (an id or a name).  [default: the newest that serves]")
@store_option
@json_option
@debug_option
def command(suite: str, store: str | None, as_json: bool, **asked: Any) -> int:
    """Say how many cases and trials of SUITE (a file or a name) it takes to see a drop; nothing is started.

    Judges by how much the results of the suite's last run of an agent with repeats varied, and by what it cost.
    """
    from evalharness.actions.plan_trials import PlanRequest, plan_trials
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness
    from evalharness.reports.plan_text import PlanReport
    from evalharness.reports.words import with_texts

    request = PlanRequest(
        suite, asked["effect"], asked["power"], asked["alpha"], asked["cases"], asked["trials"], asked["run"]
    )
    with Harness.open(store, to_read=True) as harness:
        plan = harness.call(plan_trials, request)
    if as_json:
        print(json.dumps({"plan": with_texts(plan)}, ensure_ascii=False, indent=1))
    else:
        PlanReport(screen_on(sys.stdout)).show(plan)
    return 0
