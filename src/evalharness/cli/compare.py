"""`eval-harness compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
from evalharness.domain.comparison import Comparison, Regressions
from evalharness.errors import UsageError
from evalharness.reports.terminal.screen import Screen


@click.command("compare", cls=Command)
@click.argument("old", required=False, metavar="A", type=RUN)
@click.argument("new", nargs=-1, metavar="B...", type=RUN)
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
def command(old: str | None, new: tuple[str, ...], **flags: Any) -> int:
    """Compare A (old) with B (new), case by case; differences are new − old. Several Bs are each compared with A.

    A and B are runs, baselines or JSON report files. B's gate sets the rule and the quarantine; flags override it.
    The exit code is 0 whatever the result; with --fail it is 1 if B is worse, as with `regressions`.
    """
    from evalharness.cli.process import without_collecting

    if old is None or not new:
        compared = "with what" if old else "what"
        raise UsageError(
            f"compare {compared}? Name two runs, the old one first",
            hint="the last run with the one before it: eval-harness compare -2 -1; list runs: eval-harness runs",
        )
    with without_collecting():
        return _compare([old, *new], flags)


def _compare(references: Sequence[str], flags: Mapping[str, Any]) -> int:
    from evalharness.actions.compare_runs import compare_runs, judge_runs
    from evalharness.cli.github import github_step
    from evalharness.cli.stdout import command_name, screen_on
    from evalharness.harness import Harness

    code, judged = 0, None
    with Harness.open(flags["store"], to_read=True) as harness:
        if flags["fail"]:
            judged = harness.call(judge_runs, references, rule_overrides(flags), flags["suite"])
            comparisons, code = list(judged.comparisons), judged.exit_code
        else:
            comparisons = harness.call(compare_runs, references, rule_overrides(flags), flags["suite"])
        redact = harness.redact
        if flags["fail"] and (step := github_step(harness, flags)):
            step.show_comparisons(comparisons, code)
        show: Callable[[], object] = partial(_show, comparisons, judged, screen_on(sys.stdout, redact), flags)
        if flags["as_json"] or flags["outputs"]:
            from evalharness.actions.compare_runs import report_comparisons
            from evalharness.cli.written_files import say_written, write_below
            from evalharness.domain.reported_run import Presentation
            from evalharness.reports.report_files import print_comparisons, write_comparisons  # slow to load

            compared = harness.call(report_comparisons, comparisons)
            presentation = Presentation(redact, command_name(), flags["store"])
            if flags["as_json"]:
                show = partial(print_comparisons, "json", compared, sys.stdout, presentation)
            writes = [partial(write_comparisons, [path], compared, presentation) for path in flags["outputs"]]
            code, files = write_below(show, code, writes, redact)
            if not flags["as_json"] and flags["verbosity"] >= 0:
                say_written(files, screen_on(sys.stdout, redact))
        else:
            show()
    return code


def _show(
    comparisons: Sequence[Comparison], judged: Regressions | None, screen: Screen, flags: Mapping[str, Any]
) -> None:
    from evalharness.reports.terminal.comparison import ComparisonReport
    from evalharness.reports.terminal.regressions import RegressionsReport

    if judged is not None:
        RegressionsReport(screen, flags["store"], flags["verbosity"]).show(judged)
    else:
        ComparisonReport(screen, flags["store"], flags["verbosity"]).show_all(comparisons)
