"""`eval-harness verify`."""

from __future__ import annotations

import sys
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.numbers import Integer
from evalharness.cli.references import RUN
from evalharness.domain.bounds import MOST_TASKS, MOST_TRIALS
from evalharness.reports.json_text import json_text


def _tasks(_context: click.Context, _option: click.Parameter, written: tuple[str, ...]) -> dict[str, int]:
    """`114` for every row, `retail=114` for one."""
    tasks: dict[str, int] = {}
    for word in written:
        name, _, number = word.rpartition("=")
        if not number.isdecimal() or not 1 <= int(number) <= MOST_TASKS:
            raise click.BadParameter(f"must be a number of tasks or NAME=NUMBER (114, retail=114), not '{word}'")
        tasks[name.strip()] = int(number)
    return tasks


@click.command("verify", cls=Command)
@click.argument("what", metavar="RUN|FILE", type=RUN)
@option(
    "--tasks",
    multiple=True,
    metavar="[NAME=]N",
    callback=_tasks,
    help="For a table of pass^k: number of tasks in every row, or in the row NAME.",
)
@option(
    "--trials",
    type=Integer(1, MOST_TRIALS),
    metavar="N",
    help="For a table of pass^k: number of trials per task.",
)
@store_option
@json_option
@debug_option
def command(what: str, **flags: Any) -> int:
    """Recalculate and check a report: every figure, from its trials. Exit code 1 if one differs.

    RUN (an id or a name) is checked in the store. FILE is a JSON report, with or without its trials, or a published
    table of pass^1 … pass^n (JSON or CSV), which is checked by arithmetic: can complete trials give these figures?
    """
    from evalharness.actions.verify_report import verify_any
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness
    from evalharness.reports.terminal.verified import VerifiedReport
    from evalharness.reports.words.say import with_texts

    with Harness.open(flags["store"], to_read=True) as harness:
        found = harness.call(verify_any, what, flags["tasks"], flags["trials"])
        for flag in [flag for flag in ("tasks", "trials") if flags[flag] and found.reports]:
            print(f"note: --{flag} is for tables of pass^k and has no effect here", file=sys.stderr)
        redact = harness.redact
        if flags["as_json"]:
            document: dict[str, Any] = {"verified": [with_texts(verified) for verified in found.reports]}
            if found.rates:
                document = {"rates": [with_texts(check) for check in found.rates]}
            print(json_text(document, redact))
        else:
            shown = VerifiedReport(screen_on(sys.stdout, redact))
            for verified in found.reports:
                shown.show(verified)
            shown.show_rates(found.rates)
    return 1 if found.differs else 0
