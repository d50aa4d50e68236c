"""`eval-harness docker-agent`: `run` for a folder of recorded sessions, with an agent of docker-agent in containers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import EXECUTION, OUTPUT, SELECTION, Command, Option
from evalharness.cli.container_flags import container_options, container_wishes
from evalharness.cli.flags import (
    assignments,
    concurrency_of,
    debug_option,
    gate_options,
    gate_overrides,
    json_option,
    model_options,
    model_wishes,
    option,
    sandbox_option,
    split_at_commas,
    store_option,
    verbosity_options,
)
from evalharness.cli.trial_flags import repeat_option, timeout_option
from evalharness.errors import UsageError

FORMAT = "recorded-sessions"
ONE_PER_CPU = 0
"""The default concurrency."""


def _agent_variables(context: click.Context, option: click.Parameter, written: tuple[str, ...]) -> dict[str, str]:
    """Warn of each KEY that is not set, and leave it out: the agent may not need it."""
    assigned = assignments(context, option, written)
    for item in written:
        if "=" not in item and item not in assigned:
            print(f"warning: the variable {item} is not set, so the agent does not get it", file=sys.stderr)
    return assigned


@click.command("docker-agent", cls=Command)
@click.argument("agent", metavar="AGENT")
@click.argument("evals_dir", metavar="[EVALS_DIR]", default="evals", type=click.Path(path_type=Path))
@option(
    "--only",
    multiple=True,
    metavar="P",
    heading=SELECTION,
    help="Only sessions whose id, name or file matches this glob or contains this text. Repeatable.",
)
@repeat_option("session")
@concurrency_of(default=ONE_PER_CPU)
@timeout_option()
@option("--base-image", default="", metavar="IMAGE", heading=EXECUTION, help="The image to put the agent's program in.")
@option(
    "--agent-image",
    default="",
    metavar="IMAGE",
    heading=EXECUTION,
    help="The image that has the agent's program, or its version; none: the base has it.  "
    "[default: docker/docker-agent:edge]",
)
@option(
    "--network",
    type=click.Choice(["none", "open"]),
    default="none",
    show_default=True,
    heading=EXECUTION,
    help="What the agent can reach. With open, the keys of providers are passed on.",
)
@option("--privileged", is_flag=True, heading=EXECUTION, help="Give the containers all rights of root on this machine.")
@container_options
@sandbox_option
@option(
    "-e",
    "--env",
    multiple=True,
    metavar="KEY[=VALUE]",
    callback=_agent_variables,
    heading=EXECUTION,
    help="Set an environment variable for the agent; KEY alone passes on its value. Repeatable.",
)
@model_options
@gate_options
@click.option(
    "--output",
    "folder",
    cls=Option,
    envvar=["EVALHARNESS_DOCKER_AGENT_OUTPUT"],
    type=click.Path(path_type=Path),
    metavar="DIR",
    heading=OUTPUT,
    help="Where to write sessions and results.  [default: EVALS_DIR/results]",
)
@verbosity_options
@json_option
@store_option
@debug_option
def command(agent: str, evals_dir: Path, **flags: Any) -> int:
    """Ask the recorded sessions of EVALS_DIR (./evals) again: AGENT, a file of docker-agent, answers in containers.

    The same as `run EVALS_DIR --target docker-agent:AGENT --save-sessions EVALS_DIR/results`, with its exit codes.
    """
    from evalharness.actions.run_suite import RunRequest, run_suites
    from evalharness.cli.reporting import running
    from evalharness.domain.run import RunOptions
    from evalharness.domain.specification import TargetSpec
    from evalharness.domain.suite import Selection
    from evalharness.harness import Harness

    if not evals_dir.is_dir():  # before a folder for results is made in it
        raise UsageError(f"there is no folder {evals_dir}", hint="name the folder of the recorded sessions after AGENT")
    options = {
        "agent": agent,
        "base_image": flags["base_image"],
        "agent_image": flags["agent_image"],
        "network": flags["network"],
        "privileged": flags["privileged"],
    }
    concurrency = flags["max_concurrency"]
    folder = flags["folder"] or evals_dir / "results"
    request = RunRequest(
        suites=(str(evals_dir),),
        format_name=FORMAT,
        targets=(TargetSpec(kind="docker-agent", options={name: value for name, value in options.items() if value}),),
        trials=flags["trials"],
        timeout_s=flags["timeout"],
        selection=Selection(only=split_at_commas(flags["only"])),
        env=flags["env"],
        gate=gate_overrides(flags),
        options=RunOptions(
            max_concurrency=ONE_PER_CPU if concurrency is None else concurrency,
            sandbox=flags["sandbox"],
            containers=container_wishes(flags),
            sessions_folder=str(folder.absolute()),
            **model_wishes(flags),
        ),
    )
    shown = {**flags, "outputs": (), "save_sessions": str(folder)}
    with Harness.open(flags["store"]) as harness, running(shown, harness) as run:
        return run.report(harness.call(run_suites, request, run.execution), harness)
