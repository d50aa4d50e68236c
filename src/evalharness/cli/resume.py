"""`eval-harness resume`."""

from __future__ import annotations

from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import (
    concurrency_option,
    debug_option,
    env_option,
    json_option,
    output_option,
    save_sessions_option,
    spending_options,
    spending_wishes,
    store_option,
    var_option,
    verbosity_options,
)
from evalharness.cli.recording_flags import recording_options
from evalharness.cli.references import RUN


@click.command("resume", cls=Command)
@click.argument("run", required=False, type=RUN)
@concurrency_option
@recording_options
@spending_options
@env_option
@var_option
@store_option
@verbosity_options
@save_sessions_option
@output_option
@json_option
@debug_option
def command(run: str | None, **flags: Any) -> int:
    """Continue RUN: run pending trials, run trials that ended in error again, and grade what a spend cap left pending.

    Without RUN: the newest unfinished run; if there is none, print the verdict of the newest run again.
    """
    from evalharness.actions.resume_run import ResumeRequest, resume_runs, resumed_environment
    from evalharness.cli.process import export
    from evalharness.cli.reporting import running
    from evalharness.harness import Harness

    request = ResumeRequest(
        run=run,
        variables=flags["variables"],
        env=flags["env"],
        max_concurrency=flags["max_concurrency"],
        mode=flags["mode"],
        recordings=flags["recordings"],
        outputs=tuple(flags["outputs"]),
        **spending_wishes(flags),
    )
    export(request.env)
    with Harness.open(flags["store"], to_read=True) as harness, running(flags, harness) as command:
        export({**harness.call(resumed_environment, run), **request.env})
        return command.report(harness.call(resume_runs, request, command.execution), harness)
