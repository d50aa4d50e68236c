"""`eval-harness list-suites`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, json_option, option, store_option
from evalharness.cli.references import FOLDER
from evalharness.reports.json_text import json_text


@click.command("list-suites", cls=Command)
@click.argument("folder", required=False, default=".", metavar="[DIR]", type=FOLDER)
@option(
    "--register", is_flag=True, help="Register the suites found in DIR in the store, so that `run NAME` finds them."
)
@store_option
@json_option
@debug_option
def command(folder: str, register: bool, store: str | None, as_json: bool) -> int:
    """List the suites in DIR and the folders below it (default: here), then registered and ready-made ones."""
    from evalharness.actions.list_suites import list_suites
    from evalharness.cli.stdout import screen_on
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness
    from evalharness.reports.terminal.suites import SuitesReport

    with Harness.open(store) as harness:
        listed = harness.call(list_suites, Path(folder), register=register)
    if as_json:
        rows = [suite._asdict() for suite in listed.suites]
        print(json_text({"suites": rows, "registered": listed.registered}))
    else:
        SuitesReport(screen_on(sys.stdout)).show(listed.suites)
    for warning in listed.warnings:
        _say(str(warning))
    if listed.registered and not as_json:
        _say(f"registered {count(len(listed.registered), 'suite')}: {', '.join(listed.registered)}")
    files = [suite for suite in listed.suites if suite.where == "file"]
    broken = any(suite.cases is None for suite in files)
    if not files and not as_json:
        _say(f"no suites in {folder}; write one with: eval-harness init {shlex.quote(folder)}")
    if broken and (register or not as_json):
        lacks = " and not registered" if register else ""
        _say(f"some are broken{lacks}; see why: eval-harness validate {shlex.quote(folder)}")
    return 2 if broken and register else 0


def _say(text: str) -> None:
    """Beside the list, which other programs may read."""
    from evalharness.reports.wording import harmless

    print(harmless(text), file=sys.stderr)
