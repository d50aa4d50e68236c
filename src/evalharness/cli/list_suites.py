"""`eval-harness list-suites`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from evalharness.cli.options import debug_option, json_option, option, store_option


@click.command("list-suites")
@click.argument("folder", required=False, default=".", metavar="[DIR]")
@option("--register", is_flag=True, help="Keep the suites found in DIR in the store, so that `run NAME` finds them.")
@store_option
@json_option
@debug_option
def command(folder: str, register: bool, store: str | None, as_json: bool) -> int:
    """List the suites in DIR and the folders below it (default: here), then registered and ready-made ones."""
    from evalharness.actions.list_suites import list_suites
    from evalharness.cli.tables import print_table

    listed = list_suites(Path(folder), store, register=register)
    rows = [suite._asdict() for suite in listed]
    if as_json:
        print(json.dumps({"suites": rows}, ensure_ascii=False, indent=1))
        return 0
    print_table(rows)
    files = [suite for suite in listed if suite.where == "file"]
    if not files:
        print(f"no suites in {folder}; write one with: eval-harness init {folder}", file=sys.stderr)
    elif any(suite.cases is None for suite in files):
        print(f"some are broken; see why: eval-harness validate {folder}", file=sys.stderr)
    return 0
