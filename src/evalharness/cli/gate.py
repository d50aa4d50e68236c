"""`eval-harness gate`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import (
    debug_option,
    gate_options,
    gate_output_option,
    gate_overrides,
    json_option,
    store_option,
    verbosity_options,
)
from evalharness.cli.references import RUN
from evalharness.reports.json_text import json_text


@click.command("gate", cls=Command)
@click.argument("run", type=RUN)
@gate_options
@gate_output_option
@store_option
@verbosity_options
@json_option
@debug_option
def command(run: str, **flags: Any) -> int:
    """Check RUN, or a JSON report file, against its own gate and these flags. Flags override the gate.

    A file is checked against the flags only. Nothing is run or stored; -o writes the report with this verdict. The
    gate decides the exit code, unless the run is INVALID or was interrupted.
    """
    from evalharness.actions.gate_run import gate_run
    from evalharness.cli.github import github_step
    from evalharness.cli.stdout import command_name, screen_on
    from evalharness.cli.written_files import say_written, write_below
    from evalharness.harness import Harness
    from evalharness.reports.terminal.gate import GateReport
    from evalharness.reports.without_details import shows_details, without_details
    from evalharness.reports.words.say import with_texts

    if flags["outputs"]:
        from evalharness.domain.reported_run import Presentation
        from evalharness.reports.report_files import check_baselines, write_reports  # slow to load: only for a file

        check_baselines(flags["outputs"], [Path(run)], "the report that is judged")
    with Harness.open(flags["store"], to_read=True) as harness:
        reported = harness.call(gate_run, run, gate_overrides(flags))
        report = reported.report
        if step := github_step(harness, flags):
            step.show_runs([reported])
        screen = screen_on(sys.stdout, harness.redact)
        if flags["as_json"]:
            kept = {"metadata", "verdict", "exit_code", "why", "gate", "comparison"}
            shown = reported if shows_details(reported.run) else without_details(reported)
            document = {"gate_report": with_texts(shown.report, include=kept)}
            show: Callable[[], object] = partial(print, json_text(document, harness.redact))
        else:
            show = partial(GateReport(screen, flags["verbosity"]).show, report)
        writes = []
        if flags["outputs"]:
            presentation = Presentation(harness.redact, command_name(), flags["store"])
            writes = [partial(write_reports, [path], [reported], presentation) for path in flags["outputs"]]
        code, files = write_below(show, report.exit_code, writes, harness.redact)
        if not flags["as_json"] and flags["verbosity"] >= 0:
            say_written(files, screen)
    return code
