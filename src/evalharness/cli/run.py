"""`eval-harness run`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import EXECUTION, GATE, OUTPUT, SELECTION, Command
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
    refuse,
    sandbox_option,
    save_sessions_option,
    scorer_option,
    selection_of,
    selection_options,
    store_option,
    var_option,
    verbosity_options,
)
from evalharness.cli.numbers import Integer, Integers, Points
from evalharness.cli.recording_flags import gateway_options, recording_options, recording_wishes
from evalharness.cli.references import SUITE, RunReference, file_names
from evalharness.cli.trial_flags import repeat_option, timeout_option
from evalharness.errors import NothingFailed, UsageError

STDIN = "-"
LARGEST_SEED = 2**63 - 1


def _given_name(_context: click.Context, _option: click.Parameter, written: str | None) -> str:
    if written is not None and not written.strip():
        raise click.BadParameter("is empty; give a name, or leave the flag out")
    return written or ""


@click.command("run", cls=Command, short_help="Run suites and print a verdict with error bars.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=SUITE)
@option(
    "--suite",
    "suites",
    multiple=True,
    metavar="FILE",
    heading=SELECTION,
    help="A suite file; the same as PATH. Repeatable.",
)
@selection_options
@option(
    "--failed",
    type=RunReference(is_optional=True),
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[RUN]",
    heading=SELECTION,
    help="Only cases that did not pass last time, or in RUN.",
)
@format_option
@option(
    "--target",
    "targets",
    multiple=True,
    metavar="T",
    shell_complete=lambda _context, _option, incomplete: file_names(incomplete),
    heading=EXECUTION,
    help="What to test: file.py:function, module:function, cmd:COMMAND, a URL, chat:provider/model, "
    "agent:provider/model, container:IMAGE, docker-agent:FILE, oracle, null, echo, or a target file. Repeatable: "
    "one run per target, side by side.",
)
@repeat_option("case")
@concurrency_option
@timeout_option("; overrides the suite's, but not a case's timeout_seconds")
@option(
    "--seed",
    type=Integer(0, LARGEST_SEED),
    metavar="N",
    heading=EXECUTION,
    help="Seed for the trials; overrides the suite's.  [default: 0]",
)
@option("-x", "stops_at_first", is_flag=True, heading=EXECUTION, help="Stop at the first failed trial.")
@option("--max-failures", type=Integer(1), metavar="N", heading=EXECUTION, help="Stop after N failed trials.")
@recording_options
@gateway_options
@sandbox_option
@container_options
@env_option
@var_option
@option(
    "--selftest",
    is_flag=True,
    heading=EXECUTION,
    help="Selftest the suites first; run nothing if one is UNSOUND or INVALID.",
)
@option("--dry-run", is_flag=True, heading=EXECUTION, help="Show what would run and what it would cost; run nothing.")
@scorer_option
@grader_type_option
@model_options
@gate_options
@option(
    "--sequential",
    is_flag=True,
    heading=GATE,
    help="Stop as soon as it is clear whether --fail-under is reached, or whether the run is worse than --baseline.",
)
@option(
    "--sequential-effect",
    type=Points(may_be_all=False),
    default="10",
    show_default=True,
    metavar="POINTS",
    heading=GATE,
    help="With --sequential: the drop to detect; 10, 10% or 0.1.",
)
@option(
    "--k",
    metavar="N,…",
    type=Integers(),
    heading=OUTPUT,
    help="Values of k to report for pass@k and pass^k.  [default: 1, 3, half the trials]",
)
@option(
    "--open",
    "opens",
    is_flag=True,
    heading=OUTPUT,
    help="Open the page of the run if a server is running on the store (see serve), else the HTML report.",
)
@option(
    "--run-name", callback=_given_name, metavar="NAME", heading=OUTPUT, help="Name of the run.  [default: generated]"
)
@option("--run-id", default="", hidden=True, envvar=None)  # of a run that a server starts
@verbosity_options
@output_option
@save_sessions_option
@json_option
@store_option
@debug_option
def command(paths: tuple[str, ...], **flags: Any) -> int:
    """Run suites and print a verdict with error bars.

    PATH is a suite file, a folder with suites, the name of a suite (see list-suites), or - to read a suite from
    standard input.  [default: the current folder]

    Exit codes: 0 all passed, 1 a case or the gate failed, 2 wrong usage or a broken file, 3 the run broke,
    4 undecided, 130 interrupted (resumable). With a gate, the gate alone decides between 0, 1 and 4.
    """
    # Imported here: `--help` must not pay for what only a run needs.
    from evalharness.actions.run_suite import plan_dry, read_suite_text, run_suites
    from evalharness.cli.process import export
    from evalharness.cli.reporting import Announcer, print_dry_run, running
    from evalharness.harness import Execution, Harness

    named, failed_of = _named(paths, flags)
    request = _request(named, failed_of, flags)
    export(request.env)
    with Harness.open(flags["store"]) as harness:
        if STDIN in request.suites:
            piped = harness.call(read_suite_text, _stdin(), request.format_name)
            request = replace(request, suites=tuple(piped if name == STDIN else name for name in request.suites))
        if flags["dry_run"]:
            announcer = Announcer()
            planned = _unless_all_passed(lambda: harness.call(plan_dry, request, Execution(announcer)), announcer)
            return print_dry_run(planned, announcer, as_json=flags["as_json"])
        with running(flags, harness) as command:
            if flags["selftest"]:
                code, request = command.selftest(request, harness)
                if code:
                    return code
            runs = _unless_all_passed(lambda: harness.call(run_suites, request, command.execution), command)
            return command.report(runs, harness)


def _unless_all_passed(call: Callable[[], list[Any]], speaker: Any) -> list[Any]:
    """What the call returns; nothing, and a line that says why, if --failed finds no case."""
    from evalharness.reports.wording import harmless

    try:
        return call()
    except NothingFailed as error:
        print(harmless(f"nothing to run: {speaker.redact(error.message)}"), file=sys.stderr)
        return []


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UsageError("standard input is not UTF-8 text") from None


def _named(paths: tuple[str, ...], flags: dict[str, Any]) -> tuple[list[str], str | None]:
    """The paths and names of what to run, and the run whose failures are meant (empty: the last one)."""
    named, failed_of = [*paths, *flags["suites"]], flags["failed"]
    if failed_of and Path(failed_of).exists():  # `run --failed suite.yaml`: the word after the flag is a path
        named.insert(0, failed_of)
        failed_of = ""
    return named or ["."], failed_of


def _request(named: list[str], failed_of: str | None, flags: dict[str, Any]) -> Any:
    from evalharness.actions.run_suite import RunRequest
    from evalharness.domain.run import RunOptions

    return RunRequest(
        suites=tuple(named),
        format_name=flags["format_name"],
        targets=flags["targets"],
        trials=flags["trials"],
        k=flags["k"] or (),
        scorers=flags["scorer"],
        timeout_s=flags["timeout"],
        seed=flags["seed"],
        selection=selection_of(flags),
        failed_of=failed_of,
        variables=flags["variables"],
        env=flags["env"],
        gate=gate_overrides(flags),
        sequential=_sequential(flags),
        outputs=tuple(flags["outputs"]),
        run_id=flags["run_id"],
        options=RunOptions(
            max_concurrency=flags["max_concurrency"],
            max_failures=1 if flags["stops_at_first"] else flags["max_failures"],
            grader_type=flags["grader_type"],
            sandbox=flags["sandbox"],
            containers=container_wishes(flags),
            sessions_folder=str(Path(flags["save_sessions"]).absolute()) if flags["save_sessions"] else "",
            run_name=flags["run_name"],
            **model_wishes(flags),
            **recording_wishes(flags),
            gateway=flags["gateway"],
            keeps_pace=flags["replay_timing"],
        ),
    )


def _sequential(flags: dict[str, Any]) -> Any:
    if not flags["sequential"]:
        refuse("sequential_effect", "--sequential-effect needs --sequential")
        return None
    refuse("k", "--k cannot be used with --sequential: a run that stops early has too few trials of some cases")
    from evalharness.domain.sequential import SequentialRequest

    return SequentialRequest(flags["sequential_effect"], flags["trials"])
