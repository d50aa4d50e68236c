"""`eval-harness runs` and `runs rm`."""

from __future__ import annotations

import sys
from typing import Any

import click

from evalharness.cli.command import Group
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.numbers import Integer
from evalharness.cli.references import RUN
from evalharness.reports.json_text import json_text


@click.group("runs", cls=Group, invoke_without_command=True)
@option("--suite", metavar="NAME", help="Only runs of this suite.")
@option("--limit", type=Integer(1), default=20, show_default=True, help="How many, newest first.")
@store_option
@json_option
@debug_option
@click.pass_context
def command(context: click.Context, suite: str | None, limit: int, store: str | None, as_json: bool) -> int:
    """List the runs in the store, newest first."""
    context.obj = store
    if context.invoked_subcommand is not None:
        return 0
    from evalharness.actions.list_runs import list_runs
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness
    from evalharness.reports.terminal.runs import RunsReport

    with Harness.open(store, to_read=True) as harness:
        listed = harness.call(list_runs, limit, suite)
    screen = screen_on(sys.stdout)
    if as_json:
        print(json_text({"runs": [_row(line) for line in listed.lines]}))
    elif listed.lines:
        RunsReport(screen).show(listed.lines, listed.total, listed.now if sys.stdout.isatty() else None)
    else:
        screen.say(f"no runs yet; start one: {screen.command} run SUITE")
    return 0


def _row(line: Any) -> dict[str, Any]:
    return {
        "run_name": line.name,
        "run_id": line.id,
        "suite_name": line.suite_name,
        "timestamp": line.created_at,
        "variant": line.variant,
        "verdict": line.verdict or None,
        "pass_rate": line.pass_rate.value if line.pass_rate else None,
        "cases": line.cases,
        "trials": line.planned,
        "states": {**line.counts, **({"pending": line.pending} if line.pending else {})},
        "regrade_of": line.regrade_of,
        "mode": line.mode,
    }


@command.command("rm")
@click.argument("run", type=RUN)
@store_option
@debug_option
@click.pass_context
def remove(context: click.Context, run: str, store: str | None) -> int:
    """Remove RUN (an id or a name) and its trials from the store."""
    from evalharness.actions.prune_store import remove_run
    from evalharness.harness import Harness

    with Harness.open(store or context.obj, to_read=True) as harness:
        removed = harness.call(remove_run, run)
    print(f"removed {removed.name} ({removed.id})")
    return 0
