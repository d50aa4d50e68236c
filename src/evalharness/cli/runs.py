"""`eval-harness runs` and `runs rm`."""

from __future__ import annotations

import json
from typing import Any

import click

from evalharness.cli.command import Group
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.numbers import Integer
from evalharness.cli.references import RUN


@click.group("runs", cls=Group, invoke_without_command=True)
@option("--limit", type=Integer(1), default=20, show_default=True, help="How many, newest first.")
@store_option
@json_option
@debug_option
@click.pass_context
def command(context: click.Context, limit: int, store: str | None, as_json: bool) -> int:
    """List the runs in the store, newest first."""
    context.obj = store
    if context.invoked_subcommand is not None:
        return 0
    from evalharness.actions.list_runs import list_runs
    from evalharness.cli.stdout import print_table
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        lines = harness.call(list_runs, limit)
    rows: list[dict[str, Any]] = []
    for line in lines:
        states = " ".join(f"{number} {state}" for state, number in sorted(line.counts.items()))
        pending = f" {line.pending} pending" if line.pending else ""
        rows.append(
            {
                "run": line.name,
                "id": line.id,
                "suite": line.suite_name,
                "started": line.created_at,
                "trials": line.planned,
                "verdict": line.verdict or "-",
                "states": (states + pending).strip(),
                "regrade_of": line.regrade_of,
            }
        )
    if as_json:
        for row, line in zip(rows, lines, strict=True):
            row["verdict"] = line.verdict or None
            row["states"] = {**line.counts, **({"pending": line.pending} if line.pending else {})}
        print(json.dumps({"runs": rows}, ensure_ascii=False, indent=1))
    elif rows:
        if not any(line.regrade_of for line in lines):
            rows = [{name: value for name, value in row.items() if name != "regrade_of"} for row in rows]
        print_table(rows)
    else:
        print("no runs yet; start one: eval-harness run SUITE")
    return 0


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
