"""`eval-harness export`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import OUTPUT, Command
from evalharness.cli.flags import (
    as_written,
    debug_option,
    details_option,
    format_choice,
    option,
    output_to,
    store_option,
)
from evalharness.cli.references import RUN

DEFAULT_FORMAT = "csv"


@click.command("export", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=RUN)
@option(
    "--what",
    type=click.Choice(["trials", "grades"]),
    default="trials",
    show_default=True,
    heading=OUTPUT,
    help="One row per trial, or one per grade.",
)
@option(
    "--recordings",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    heading=OUTPUT,
    help="Instead: write the recorded calls and replies to DIR, for --mode replay --recordings DIR.",
)
@option(
    "--layout",
    type=click.Choice(["cases", "nodes"]),
    default="cases",
    show_default=True,
    heading=OUTPUT,
    help="With --recordings: one file per case, or one recording per node as workflow datasets have them.",
)
@format_choice(
    "EVALHARNESS_EXPORT_FORMAT",
    "The data format.  [default: by the extension of FILE, else csv]",
    type=click.Choice(["csv", "jsonl", "json"]),
)
@output_to("EVALHARNESS_EXPORT_OUTPUT", as_written, "Write to FILE instead of printing: .csv, .jsonl or .json.")
@details_option
@store_option
@debug_option
def command(runs: tuple[str, ...], **flags: Any) -> int:
    """Write the trials or grades of stored runs as data, for spreadsheets and programs.

    RUN is a run, a baseline or a JSON report file; a report file has only the beginning of each answer.
    """
    if flags["recordings"] is not None:
        return _export_recordings(runs, flags)
    from evalharness.actions.write_report import find_reported
    from evalharness.cli.stdout import screen_on
    from evalharness.cli.written_files import say_written, write_all
    from evalharness.domain.reported_run import Presentation
    from evalharness.harness import Harness
    from evalharness.reports.report_files import check_baselines, check_tables, print_table, write_tables

    files = check_tables(flags["outputs"], flags["format_name"])
    check_baselines([path for path, _ in files], map(Path, runs), "a report that this command reads")
    with Harness.open(flags["store"], to_read=True) as harness:
        reported = harness.call(find_reported, runs)
        presentation = Presentation(harness.redact, with_details=not flags["no_details"])
        if not files:
            print_table(flags["what"], flags["format_name"] or DEFAULT_FORMAT, reported, sys.stdout, presentation)
            return 0
        writes = [partial(write_tables, [file], flags["what"], reported, presentation) for file in files]
        code, written = write_all(0, writes, harness.redact)
        say_written(written, screen_on(sys.stdout, harness.redact))
    return code


def _export_recordings(runs: tuple[str, ...], flags: dict[str, Any]) -> int:
    from evalharness.actions.export_recordings import export_recordings
    from evalharness.harness import Harness

    folder = flags["recordings"]
    with Harness.open(flags["store"], to_read=True) as harness:
        written = harness.call(export_recordings, runs, folder, flags["layout"])
    print(f"{folder}: {written} file{'' if written == 1 else 's'} written")
    return 0
