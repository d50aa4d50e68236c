"""`eval-harness plan`."""

from __future__ import annotations

import sys
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, json_option, option, store_option, verbosity_options
from evalharness.cli.numbers import Integer, Number, Points
from evalharness.cli.references import SUITE
from evalharness.domain.bounds import ALPHA, LEAST_ALPHA, POWER
from evalharness.reports.json_text import json_text


@click.command("plan", cls=Command)
@click.argument("suite", type=SUITE)
@option(
    "--effect",
    type=Points(),
    default="5",
    show_default=True,
    metavar="POINTS",
    help="Drop in the pass rate to detect.",
)
@option(
    "--power",
    type=Number(0.5, 1, least_open=True, most_open=True),
    default=POWER,
    show_default=True,
    metavar="P",
    help="Probability of detecting such a drop.",
)
@option(
    "--alpha",
    type=Number(LEAST_ALPHA, 0.25, most_open=True),
    default=ALPHA,
    show_default=True,
    metavar="P",
    help="Accepted false-alarm rate.",
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
    help="Plan for K trials per case.  [default: those of the run it is based on]",
)
@option("--run", metavar="RUN", help="Base the plan on this run (an id or a name).  [default: the newest suitable one]")
@store_option
@json_option
@verbosity_options
@debug_option
def command(suite: str, store: str | None, as_json: bool, **asked: Any) -> int:
    """Estimate how many cases and trials of SUITE (a file or a name) it takes to detect a drop. Nothing is run.

    The estimate is based on how much results varied in the suite's last run with several trials, and on its cost.
    """
    from evalharness.actions.plan_trials import PlanRequest, plan_trials
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness
    from evalharness.reports.terminal.plan import PlanReport
    from evalharness.reports.words.say import with_texts

    request = PlanRequest(
        suite, asked["effect"], asked["power"], asked["alpha"], asked["cases"], asked["trials"], asked["run"]
    )
    with Harness.open(store, to_read=True) as harness:
        plan = harness.call(plan_trials, request)
    if as_json:
        print(json_text({"plan": with_texts(plan)}))
    else:
        PlanReport(screen_on(sys.stdout), asked["verbosity"]).show(plan)
    return 0
