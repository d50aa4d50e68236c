"""`eval-harness list-suites`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from evalharness.cli.options import debug_option, json_option


@click.command("list-suites")
@click.argument("folder", required=False, default=".", metavar="[DIR]")
@json_option
@debug_option
def command(folder: str, as_json: bool) -> int:
    """List the suites in DIR and the folders below it (default: here)."""
    from evalharness.cli.tables import print_table
    from evalharness.errors import UsageError
    from evalharness.formats.loading import find_suites

    if not Path(folder).is_dir():
        raise UsageError(f"there is no folder {folder}")
    loaded = find_suites(Path(folder))
    rows = []
    for file in loaded:
        suite = file.suite
        rows.append(
            {
                "suite": suite.name if suite else "(broken)",
                "cases": len(suite.cases) if suite else None,
                "trials": suite.trials if suite else None,
                "target": suite.target.label if suite and suite.target else "",
                "file": str(file.path),
            }
        )
    if as_json:
        print(json.dumps({"suites": rows}, ensure_ascii=False, indent=1))
    elif rows:
        print_table(rows)
        if not all(file.suite for file in loaded):
            print(f"some are broken; see why: eval-harness validate {folder}", file=sys.stderr)
    else:
        print(f"no suites in {folder}; write one with: eval-harness init {folder}")
    return 0
