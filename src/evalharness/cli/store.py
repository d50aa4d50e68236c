"""`eval-harness store`: housekeeping."""

from __future__ import annotations

import click

from evalharness.cli.command import Group
from evalharness.cli.flags import debug_option, option, store_option


@click.group("store", cls=Group)
def command() -> None:
    """Maintain the store."""


@command.command("prune")
@option("--older-than", required=True, metavar="AGE", help="Age of runs to remove: 30d, 12h, 2w.")
@option("--dry-run", is_flag=True, help="Show what would be removed; remove nothing.")
@store_option
@debug_option
def prune(older_than: str, dry_run: bool, store: str | None) -> int:
    """Remove old runs and release their space. Baselines are kept."""
    from evalharness.actions.prune_store import prune_store
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness
    from evalharness.reports.wording import baseline_text, harmless, removal_command

    with Harness.open(store, to_read=True) as harness:
        pruned = harness.call(prune_store, older_than, dry_run=dry_run)
    removed = pruned.removed
    for baseline in pruned.kept:
        print(
            harmless(
                f"kept: {baseline_text(baseline)} (to remove it: {removal_command(baseline.name, baseline.suite_name)})"
            )
        )
    for run in removed:
        print(f"{'would remove' if dry_run else 'removed'} {run.name} ({run.suite.name}, {run.created_at})")
    print(f"{count(len(removed), 'run')} {'would be ' if dry_run else ''}removed")
    return 0
