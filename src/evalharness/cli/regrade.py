"""`eval-harness regrade`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import SELECTION, Command
from evalharness.cli.container_flags import container_options, container_wishes
from evalharness.cli.flags import (
    concurrency_option,
    debug_option,
    env_option,
    format_option,
    gate_options,
    gate_overrides,
    grader_type_option,
    json_option,
    model_options,
    model_wishes,
    option,
    output_option,
    sandbox_option,
    save_sessions_option,
    scorer_option,
    selection_of,
    selection_options,
    store_option,
    var_option,
    verbosity_options,
)
from evalharness.cli.references import RUN


@click.command("regrade", cls=Command)
@click.argument("run", required=False, type=RUN)
@option(
    "--suite",
    metavar="FILE",
    heading=SELECTION,
    help="Grade with the graders of this suite.  [default: the suite stored in RUN]",
)
@option("--matrix", is_flag=True, heading=SELECTION, help="Also regrade the runs that were started together with RUN.")
@option(
    "--artifact",
    metavar="FILE",
    heading=SELECTION,
    help="Grade a stored workflow artifact instead of a run; needs --dataset.",
)
@option("--dataset", metavar="FILE", heading=SELECTION, help="The dataset with the assertions for the artifact.")
@option("--case", metavar="ID", heading=SELECTION, help="The case of the dataset that the artifact belongs to.")
@scorer_option
@format_option
@selection_options
@model_options
@concurrency_option
@grader_type_option
@gate_options
@sandbox_option
@container_options
@env_option
@var_option
@store_option
@verbosity_options
@save_sessions_option
@output_option
@json_option
@debug_option
def command(run: str | None, **flags: Any) -> int:
    """Grade the stored answers of RUN again, as a new run. The target is not run, and RUN does not change.

    Use it after fixing a grader or, with --suite, after changing what is expected. Cases whose question has changed
    are left out. The exit codes are those of `run`, for the new verdict.

    If only --judge-model is given and RUN has pending grades, only those are judged; --no-cache judges all of them
    again.
    """
    _check_usage(run, flags)
    return _regrade_artifact(flags) if run is None else _regrade_run(run, flags)


def _check_usage(run: str | None, flags: dict[str, Any]) -> None:
    from evalharness.errors import UsageError

    artifact, dataset = flags["artifact"], flags["dataset"]
    if run is None and artifact is None and dataset is None:
        raise UsageError(
            "name the run to grade again",
            hint="list runs: eval-harness runs; or give --artifact FILE --dataset FILE",
        )
    if run is None and (artifact is None or dataset is None):
        given, lacks = ("--artifact", "--dataset") if dataset is None else ("--dataset", "--artifact")
        raise UsageError(f"{given} needs {lacks}", hint="give --artifact FILE --dataset FILE")
    names = ("artifact", "dataset", "case", "scorer") if run else ("suite", "matrix")
    stray = [f"--{name}" for name in names if flags[name]]
    if stray:
        other = f"a run ({run})" if run else "--artifact"
        raise UsageError(
            f"{stray[0]} cannot be used with {other}",
            hint="give either RUN [--suite FILE], or --artifact FILE --dataset FILE [--case ID] [--scorer S]",
        )


def _regrade_run(run: str, flags: dict[str, Any]) -> int:
    from evalharness.actions.regrade_run import RegradeRequest, regrade_runs, regraded_environment
    from evalharness.cli.process import export, switch_threads_less
    from evalharness.cli.reporting import running
    from evalharness.domain.run import RunOptions
    from evalharness.harness import Harness

    request = RegradeRequest(
        run=run,
        suite=flags["suite"],
        format_name=flags["format_name"],
        matrix=flags["matrix"],
        selection=selection_of(flags),
        options=RunOptions(
            max_concurrency=flags["max_concurrency"],
            grader_type=flags["grader_type"],
            sandbox=flags["sandbox"],
            containers=container_wishes(flags),
            **model_wishes(flags),
        ),
        variables=flags["variables"],
        env=flags["env"],
        gate=gate_overrides(flags),
        outputs=tuple(flags["outputs"]),
    )
    export(request.env)
    switch_threads_less()
    with Harness.open(flags["store"], to_read=True) as harness, running(flags, harness) as command:
        export({**harness.call(regraded_environment, request), **request.env})
        runs = harness.call(regrade_runs, request, command.execution)
        command.print_doubts(runs)
        return command.report(runs, harness)


def _regrade_artifact(flags: dict[str, Any]) -> int:
    """A run like any other, on a target that gives the artifact as its answer."""
    from evalharness.actions.grade_artifacts import ArtifactFile, grade_artifacts
    from evalharness.actions.run_suite import RunRequest
    from evalharness.cli.process import export
    from evalharness.cli.reporting import running
    from evalharness.domain.run import RunOptions
    from evalharness.harness import Harness

    request = RunRequest(
        suites=(flags["dataset"],),
        format_name=flags["format_name"],
        selection=selection_of(flags),
        variables=flags["variables"],
        env=flags["env"],
        scorers=flags["scorer"],
        options=RunOptions(
            max_concurrency=flags["max_concurrency"], grader_type=flags["grader_type"], **model_wishes(flags)
        ),
        gate=gate_overrides(flags),
        outputs=tuple(flags["outputs"]),
    )
    export(request.env)
    artifact = ArtifactFile(Path(flags["artifact"]), flags["case"] or "")
    with Harness.open(flags["store"]) as harness, running(flags, harness) as command:
        runs = harness.call(grade_artifacts, artifact, request, command.execution)
        command.print_doubts(runs)
        return command.report(runs, harness)
