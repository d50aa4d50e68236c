"""`eval-harness compare`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from evalharness.cli.command import GATE, SELECTION, Command
from evalharness.cli.flags import (
    comparison_output_option,
    debug_option,
    json_option,
    option,
    rule_options,
    rule_overrides,
    store_option,
    verbosity_options,
)
from evalharness.cli.references import RUN


@click.command("compare", cls=Command)
@click.argument("old", metavar="A", type=RUN)
@click.argument("new", nargs=-1, required=True, metavar="B...", type=RUN)
@option(
    "--suite", metavar="S", heading=SELECTION, help="Suite of the baselines, if several suites have one of this name."
)
@rule_options
@option("--fail", is_flag=True, heading=GATE, help="Exit code 1 if B is worse, as with regressions.")
@comparison_output_option
@store_option
@json_option
@verbosity_options
@debug_option
def command(old: str, new: tuple[str, ...], **flags: Any) -> int:
    """Compare A (old) with B (new), case by case; differences are new − old. Several Bs are each compared with A.

    A and B are runs, baselines or JSON report files. B's gate sets the rule and the quarantine; flags override it.
    The exit code is 0 whatever the result; with --fail it is 1 if B is worse, as with `regressions`.
    """
    from evalharness.cli.process import without_collecting

    with without_collecting():
        return _compare([old, *new], flags)


def _compare(references: Sequence[str], flags: Mapping[str, Any]) -> int:
    from evalharness.actions.compare_runs import compare_runs, judge_runs
    from evalharness.cli.stdout import command_name, screen_on
    from evalharness.harness import Harness

    code = 0
    with Harness.open(flags["store"], to_read=True) as harness:
        if flags["fail"]:
            comparisons, code = harness.call(judge_runs, references, rule_overrides(flags), flags["suite"])
        else:
            comparisons = harness.call(compare_runs, references, rule_overrides(flags), flags["suite"])
        redact = harness.redact
        if flags["as_json"] or flags["outputs"]:
            from evalharness.actions.compare_runs import report_comparisons
            from evalharness.domain.reported_run import Presentation
            from evalharness.reports.report_files import print_comparisons, write_comparisons  # slow to load

            compared = harness.call(report_comparisons, comparisons)
            presentation = Presentation(redact, command_name(), flags["store"])
            write_comparisons(flags["outputs"], compared, presentation)
        if flags["as_json"]:
            print_comparisons("json", compared, sys.stdout, presentation)
        else:
            from evalharness.reports.terminal.comparison import ComparisonReport

            ComparisonReport(screen_on(sys.stdout, redact), flags["store"], flags["verbosity"]).show_all(comparisons)
    return code
