"""`eval-harness cache`: the verdicts of judges that are kept."""

from __future__ import annotations

import json

import click

from evalharness.cli.command import Group
from evalharness.cli.flags import debug_option, json_option, option, store_option


@click.group("cache", cls=Group, invoke_without_command=True)
@store_option
@json_option
@debug_option
@click.pass_context
def command(context: click.Context, store: str | None, as_json: bool) -> int:
    """Show how many judge verdicts are cached; `cache clear` removes them."""
    if context.invoked_subcommand is not None:
        return 0
    from evalharness.actions.clear_cache import judge_cache_line
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        held = harness.call(judge_cache_line)
    if as_json:
        print(json.dumps({"verdicts": held.verdicts, "size_bytes": held.size_bytes, "oldest": held.oldest or None}))
    elif held.verdicts:
        print(f"{count(held.verdicts, 'verdict')}, {held.size_bytes / 1_000_000:.1f} MB, oldest {held.oldest}")
    else:
        print("no verdicts are cached")
    return 0


@command.command("clear")
@option("--older-than", metavar="AGE", help="Only verdicts older than this: 30d, 12h, 2w.")
@store_option
@json_option
@debug_option
def clear(older_than: str | None, store: str | None, as_json: bool) -> int:
    """Remove cached judge verdicts. The next run asks the judges again and pays for it."""
    from evalharness.actions.clear_cache import clear_judge_cache
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness

    with Harness.open(store, to_read=True) as harness:
        removed = harness.call(clear_judge_cache, older_than)
    print(json.dumps({"removed": removed}) if as_json else f"{count(removed, 'verdict')} removed")
    return 0
