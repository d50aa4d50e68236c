"""`eval-harness regrade`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalharness.cli.flags import (
    concurrency_option,
    debug_option,
    env_option,
    format_option,
    gate_options,
    gate_overrides,
    json_option,
    model_options,
    model_wishes,
    option,
    output_option,
    sandbox_option,
    save_sessions_option,
    scorer_option,
    split_at_commas,
    store_option,
    var_option,
    verbosity_options,
)


@click.command("regrade")
@click.argument("run", required=False)
@option("--suite", metavar="FILE", help="Grade with this suite's graders.  [default: the suite stored in RUN]")
@option("--matrix", is_flag=True, help="Also the runs that were started together with RUN.")
@option("--artifact", metavar="FILE", help="Grade a stored workflow artifact instead of a run; needs --dataset.")
@option("--dataset", metavar="FILE", help="The dataset whose assertions judge the artifact.")
@option("--case", metavar="ID", help="The case of the dataset that the artifact belongs to.")
@scorer_option
@format_option
@option("--only", multiple=True, metavar="P", help="Cases whose id, name or file matches a glob or holds a text.")
@option("--tag", "tags", multiple=True, metavar="T", help="Cases with this tag.")
@option("--category", "categories", multiple=True, metavar="C", help="Cases of this eval_type or category.")
@option("--difficulty", "difficulties", multiple=True, metavar="D", help="Cases that are easy, medium or hard.")
@option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N cases of each suite.")
@model_options
@concurrency_option
@option("--grader-type", type=click.Choice(["code", "model", "human"]), help="Use only the graders of this type.")
@gate_options
@sandbox_option
@env_option
@var_option
@store_option
@verbosity_options
@save_sessions_option
@output_option
@json_option
@debug_option
def command(run: str | None, **flags: Any) -> int:
    """Grade the stored transcripts of RUN (an id or a name) again, as a new run; RUN and its grades stay as they are.

    Nothing is re-run. Changed graders count, and with --suite changed expectations; a case that asks something else
    now is left out. Exit codes are those of `run`, by the new verdict.

    With --judge-model alone, a RUN with grades that are due gets those, and the verdicts of other judges stay;
    --no-cache has all of them judged anew.
    """
    _check_usage(run, flags)
    return _regrade_artifact(flags) if run is None else _regrade_run(run, flags)


def _check_usage(run: str | None, flags: dict[str, Any]) -> None:
    from evalharness.errors import UsageError

    artifact, dataset = flags["artifact"], flags["dataset"]
    if run is None and artifact is None and dataset is None:
        raise UsageError(
            "which run is to be graded again?",
            hint="name one of `eval-harness runs`, or give --artifact FILE --dataset FILE",
        )
    if run is None and (artifact is None or dataset is None):
        given, lacks = ("--artifact", "--dataset") if dataset is None else ("--dataset", "--artifact")
        raise UsageError(f"{given} needs {lacks}", hint="give --artifact FILE --dataset FILE")
    names = ("artifact", "dataset", "case", "scorer") if run else ("suite", "matrix")
    stray = [f"--{name}" for name in names if flags[name]]
    if stray:
        other = f"a run ({run})" if run else "--artifact"
        raise UsageError(
            f"{stray[0]} does not go together with {other}",
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
        selection=_selection(flags),
        options=RunOptions(
            max_concurrency=flags["max_concurrency"],
            grader_type=flags["grader_type"],
            sandbox=flags["sandbox"],
            **model_wishes(flags),
        ),
        variables=flags["variables"],
        env=flags["env"],
        gate=gate_overrides(flags),
        outputs=tuple(flags["outputs"]),
    )
    export(request.env)
    switch_threads_less()
    with Harness.open(flags["store"], to_read=True) as harness, running(flags) as command:
        export({**harness.call(regraded_environment, request), **request.env})
        runs = harness.call(regrade_runs, request, command.execution)
        command.print_doubts(runs)
        return command.report(runs, harness)


def _selection(flags: dict[str, Any]) -> Any:
    from evalharness.domain.suite import Selection

    return Selection(
        only=split_at_commas(flags["only"]),
        tags=flags["tags"],
        categories=flags["categories"],
        difficulties=flags["difficulties"],
        limit=flags["limit"],
    )


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
        selection=_selection(flags),
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
    with Harness.open(flags["store"]) as harness, running(flags) as command:
        runs = harness.call(grade_artifacts, artifact, request, command.execution)
        command.print_doubts(runs)
        return command.report(runs, harness)
