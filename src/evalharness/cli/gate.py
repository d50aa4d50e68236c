"""`eval-harness gate`."""

from __future__ import annotations

import json
import sys
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
    from evalharness.cli.stdout import screen_on
    from evalharness.harness import Harness
    from evalharness.reports.terminal.gate import GateReport
    from evalharness.reports.words.say import with_texts

    if flags["outputs"]:
        from evalharness.domain.reported_run import Presentation
        from evalharness.reports.report_files import check_baselines, write_reports  # slow to load: only for a file

        check_baselines(flags["outputs"], [Path(run)], "the report that is judged")
    with Harness.open(flags["store"], to_read=True) as harness:
        reported = harness.call(gate_run, run, gate_overrides(flags))
        report = reported.report
        if flags["outputs"]:
            write_reports(flags["outputs"], [reported], Presentation(harness.redact))
        if flags["as_json"]:
            kept = {"metadata", "verdict", "exit_code", "why", "gate", "comparison"}
            shown = with_texts(report, include=kept)
            print(harness.redact(json.dumps({"gate_report": shown}, ensure_ascii=False, indent=1)))
        else:
            GateReport(screen_on(sys.stdout, harness.redact), flags["verbosity"]).show(report)
    return report.exit_code
