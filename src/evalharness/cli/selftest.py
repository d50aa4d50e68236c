"""`eval-harness selftest`, and `run --selftest`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

import click

from evalharness.cli.command import Command
from evalharness.cli.container_flags import container_options, container_wishes
from evalharness.cli.flags import (
    concurrency_of,
    debug_option,
    env_for,
    format_option,
    json_option,
    judge_options,
    model_wishes,
    option,
    sandbox_option,
    store_option,
    var_option,
)
from evalharness.cli.numbers import Integer
from evalharness.cli.references import SUITE
from evalharness.reports.json_text import json_text

MOST_REPEATS = 1000


@click.command("selftest", cls=Command)
@click.argument("suites", nargs=-1, required=True, metavar="SUITE...", type=SUITE)
@option(
    "--repeat-judges",
    type=Integer(0, MOST_REPEATS),
    default=3,
    show_default=True,
    metavar="K",
    help="Ask each judge K times about the same answer, and report how often it contradicts itself. 0 turns this off.",
)
@judge_options
@concurrency_of("Grade up to N answers")
@sandbox_option
@container_options
@format_option
@var_option
@env_for("graders and judges")
@store_option
@json_option
@debug_option
def command(suites: tuple[str, ...], **flags: Any) -> int:
    """Check SUITE (a file, a folder or a name): right answers must pass, wrong ones must fail.

    No target is run; only judges cost anything. Exit codes: 0 sound, 1 UNSOUND, 2 wrong usage or a broken file,
    3 something could not be graded.
    """
    from evalharness.actions.selftest_suite import SelftestRequest, selftest_suites
    from evalharness.cli.process import export, orphans_adopted, reserved_stdout
    from evalharness.domain.run import RunOptions
    from evalharness.harness import Harness

    request = SelftestRequest(
        suites=suites,
        format_name=flags["format_name"],
        variables=flags["variables"],
        env=flags["env"],
        options=RunOptions(
            max_concurrency=flags["max_concurrency"],
            sandbox=flags["sandbox"],
            containers=container_wishes(flags),
            **model_wishes(flags),
        ),
        repeat_judges=flags["repeat_judges"],
    )
    export(request.env)
    with Harness.open(flags["store"]) as harness, reserved_stdout() as stream, orphans_adopted():
        result = harness.call(selftest_suites, request)
        return show(result, stream, flags)


def show(result: Any, stream: TextIO, flags: Mapping[str, Any]) -> int:
    """Every selftest as text or as one JSON document; returns the exit code."""
    from evalharness.cli.stdout import screen_on
    from evalharness.domain.report import worst
    from evalharness.reports.terminal.selftest import SelftestReport
    from evalharness.reports.words.say import with_texts

    redact = result.redactor.redact
    if flags["as_json"]:
        tested = [with_texts(each) for each in result.selftests]
        document = {"selftest": tested[0]} if len(tested) == 1 else {"selftests": tested}
        stream.write(json_text(document, redact) + "\n")
    else:
        SelftestReport(screen_on(stream, redact), flags["store"]).show(result.selftests)
    stream.flush()
    return worst([each.exit_code for each in result.selftests])
