"""`eval-harness compare`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from evalharness.cli.command import GATE, SELECTION, Command
from evalharness.cli.flags import (
    debug_option,
    json_option,
    json_output_option,
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
@json_output_option
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
    from evalharness.harness import Harness

    code = 0
    with Harness.open(flags["store"], to_read=True) as harness:
        if flags["fail"]:
            comparisons, code = harness.call(judge_runs, references, rule_overrides(flags), flags["suite"])
        else:
            comparisons = harness.call(compare_runs, references, rule_overrides(flags), flags["suite"])
        redact = harness.redact
        if flags["as_json"] or flags["outputs"]:
            from evalharness.reports.words.say import with_texts

            rows = [with_texts(comparison) for comparison in comparisons]
            document = {"comparison": rows[0]} if len(rows) == 1 else {"comparisons": rows}
            text = redact(json.dumps(document, ensure_ascii=False, indent=1))
        if flags["outputs"]:
            from evalharness.reports.report_files import write_documents  # slow to load: only for a file

            write_documents(flags["outputs"], text)
        if flags["as_json"]:
            print(text)
        else:
            from evalharness.cli.stdout import screen_on
            from evalharness.reports.terminal.comparison import ComparisonReport

            ComparisonReport(screen_on(sys.stdout, redact), flags["store"], flags["verbosity"]).show_all(comparisons)
    return code
