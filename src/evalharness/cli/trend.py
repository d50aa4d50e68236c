"""`eval-harness trend`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import SELECTION, Command
from evalharness.cli.flags import debug_option, json_option, option, output_to, store_option
from evalharness.cli.numbers import Integer


def _trend_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.trend_files import check_trend_outputs  # slow to load: only for those who want a file

    return check_trend_outputs(paths)


@click.command("trend", cls=Command)
@click.argument("suite", metavar="SUITE")
@option(
    "--since",
    envvar="EVALHARNESS_TREND_SINCE",
    metavar="WHEN",
    default="",
    heading=SELECTION,
    help="Only runs since a day (2026-01-31) or an age (30d).",
)
@option(
    "--target", "targets", multiple=True, metavar="T", heading=SELECTION, help="Only runs on this target. Repeatable."
)
@option(
    "--limit",
    type=Integer(1),
    default=30,
    show_default=True,
    heading=SELECTION,
    help="How many runs of each target, the newest ones.",
)
@output_to("EVALHARNESS_TREND_OUTPUT", _trend_files, "Also write the trend to FILE: .html, .svg, .md or .json.")
@store_option
@json_option
@debug_option
def command(suite: str, **flags: Any) -> int:
    """Show how the runs of SUITE (a name or a file) went over time: pass rate, latency, cost, and each case.

    Each target has lines of its own. Baselines, changes of the suite and broken runs are marked. Regrades do not count.
    """
    from evalharness.actions.show_trend import TrendRequest, show_trend
    from evalharness.cli.stdout import command_name, screen_on
    from evalharness.harness import Harness

    request = TrendRequest(suite=suite, since=flags["since"], targets=flags["targets"], limit=flags["limit"])
    code, files = 0, list[Path]()
    with Harness.open(flags["store"], to_read=True) as harness:
        trend = harness.call(show_trend, request)
        redact = harness.redact
        if flags["outputs"] or flags["as_json"]:
            from evalharness.cli.written_files import write_all
            from evalharness.domain.reported_run import Presentation
            from evalharness.reports.trend_files import print_trend, write_trend

            presentation = Presentation(redact, command_name(), flags["store"])
            code, files = write_all(
                code, [partial(write_trend, path, trend, presentation) for path in flags["outputs"]], redact
            )
        if flags["as_json"]:
            print_trend(trend, sys.stdout, presentation)
            return code
        from evalharness.cli.written_files import say_written
        from evalharness.reports.terminal.trend import TrendReport

        now = harness.context.clock() if sys.stdout.isatty() else None
        screen = screen_on(sys.stdout, redact)
        report = TrendReport(screen, flags["store"], now)
        if trend.targets:
            report.show(trend)
        else:
            report.show_nothing(trend, flags["since"])
        say_written(files, screen)
    return code
