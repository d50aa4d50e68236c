"""`eval-harness report`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from evalharness.cli.command import Command
from evalharness.cli.flags import (
    as_written,
    debug_option,
    details_option,
    format_choice,
    output_to,
    store_option,
    verbosity_options,
)
from evalharness.cli.references import RUN

DEFAULT_FORMAT = "markdown"


@click.command("report", cls=Command)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=RUN)
@format_choice(
    "EVALHARNESS_REPORT_FORMAT",
    "terminal, html, markdown, github-comment, json, junit, csv, jsonl or a format of a plug-in.  [default: by the "
    "extension of FILE, else markdown]",
    metavar="NAME",
)
@output_to("EVALHARNESS_REPORT_OUTPUT", as_written, "Write the report to FILE instead of printing it.")
@details_option
@store_option
@verbosity_options
@debug_option
def command(runs: tuple[str, ...], **flags: Any) -> int:
    """Write a report of stored runs in any format. Several runs appear side by side.

    RUN is a run, a baseline or a JSON report file. Nothing is run or judged: the exit code is 0 whatever the verdict.
    """
    from evalharness.actions.write_report import find_reported
    from evalharness.cli.stdout import command_name, is_live, screen_on
    from evalharness.cli.written_files import say_written, write_all
    from evalharness.domain.reported_run import Presentation
    from evalharness.harness import Harness
    from evalharness.reports.report_files import check_baselines, check_outputs, print_report, write_reports

    chosen = [(path, _format_of(path, flags["format_name"])) for path in flags["outputs"]]
    files = [(path, name) for written, name in chosen for path in check_outputs([written], name)]
    check_baselines([path for path, _ in files], map(Path, runs), "a report that this command reads")
    with Harness.open(flags["store"], to_read=True) as harness:
        reported = harness.call(find_reported, runs)
        presentation = Presentation(
            harness.redact,
            command_name(),
            flags["store"],
            is_live(sys.stdout),
            verbosity=flags["verbosity"],
            with_details=not flags["no_details"],
        )
        if not files:
            print_report(flags["format_name"] or DEFAULT_FORMAT, reported, sys.stdout, presentation)
            return 0
        writes = [partial(write_reports, [path], reported, presentation, name) for path, name in files]
        code, written = write_all(0, writes, harness.redact)
        say_written(written if flags["verbosity"] >= 0 else (), screen_on(sys.stdout, harness.redact))
    return code


def _format_of(path: str, named: str | None) -> str | None:
    """The flag wins over the file's extension, the extension over the variable. None: by the extension."""
    from evalharness.reports.report_files import is_written_by_ending

    source = click.get_current_context().get_parameter_source("format_name")
    is_flag = source is ParameterSource.COMMANDLINE
    return named if is_flag or not is_written_by_ending(Path(path)) else None
