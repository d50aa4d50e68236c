"""`eval-harness run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalharness.cli.flags import (
    Points,
    concurrency_option,
    debug_option,
    env_option,
    format_option,
    gate_options,
    gate_overrides,
    json_option,
    model_options,
    model_wishes,
    numbers,
    option,
    output_option,
    refuse,
    sandbox_option,
    save_sessions_option,
    scorer_option,
    split_at_commas,
    store_option,
    var_option,
    verbosity_options,
)


def _given_name(_context: click.Context, _option: click.Parameter, written: str | None) -> str:
    if written is not None and not written.strip():
        raise click.BadParameter("it is empty: name the run, or leave the flag out")
    return written or ""


@click.command("run", short_help="Run suites and print a verdict with error bars.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@format_option
@option("--suite", "suites", multiple=True, metavar="FILE", help="A suite file; the same as PATH.")
@option(
    "--target",
    "targets",
    multiple=True,
    metavar="T",
    help="file.py:attr, module:attr, cmd:COMMAND LINE, a URL, chat:provider/model, agent:provider/model, oracle, null, "
    "echo, or a file that describes a target. "
    "Repeated: one run each, side by side.",
)
@option("--repeat", "--trials", "--epochs", "trials", type=click.IntRange(min=1), metavar="N", help="Trials per case.")
@option(
    "--k",
    metavar="N,…",
    callback=numbers,
    help="Values of k to report for pass@k and pass^k.  [default: 1, 3, half of N]",
)
@concurrency_option
@option("--only", multiple=True, metavar="P", help="Cases whose id, name or file matches a glob or holds a text.")
@option("--tag", "tags", multiple=True, metavar="T", help="Cases with this tag.")
@option("--category", "categories", multiple=True, metavar="C", help="Cases of this eval_type or category.")
@option("--difficulty", "difficulties", multiple=True, metavar="D", help="Cases that are easy, medium or hard.")
@option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N cases of each suite.")
@scorer_option
@option("--grader-type", type=click.Choice(["code", "model", "human"]), help="Use only the graders of this type.")
@model_options
@sandbox_option
@env_option
@var_option
@store_option
@option(
    "--failed",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[RUN]",
    help="Only cases that did not pass last time, or in RUN.",
)
@option(
    "--run-name",
    callback=_given_name,
    metavar="NAME",
    help="What to call the run, in place of a name that is made up.",
)
@option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Stop after N failed trials.")
@save_sessions_option
@gate_options
@option(
    "--sequential",
    is_flag=True,
    help="Stop as soon as it is decided whether --fail-under is reached, or whether it is worse than --baseline.",
)
@option(
    "--sequential-effect",
    type=Points(min=0, max=100, min_open=True, max_open=True),
    default=10.0,
    show_default=True,
    metavar="POINTS",
    help="With --sequential: how much lower is too low.",
)
@option(
    "--selftest",
    is_flag=True,
    help="First prove the suites without a target; if one is UNSOUND or INVALID, nothing is run.",
)
@option("--dry-run", is_flag=True, help="Show what would be run, and its known cost; start nothing.")
@verbosity_options
@output_option
@json_option
@debug_option
def command(paths: tuple[str, ...], **flags: Any) -> int:
    """Run suite files, every suite in a folder, or suites by name (list-suites), and print a verdict with error bars.

    Exit codes: 0 all well, 1 a case or the gate failed, 2 wrong usage or a broken file, 3 the run broke,
    4 undecided, 130 interrupted (resumable). With a gate, the gate alone decides between 0, 1 and 4.
    """
    # Imported here: `--help` must not pay for what only a run needs.
    from evalharness.actions.run_suite import plan_dry, run_suites
    from evalharness.cli.process import export
    from evalharness.cli.reporting import Announcer, print_dry_run, running
    from evalharness.harness import Execution, Harness

    named, failed_of = _named(paths, flags)
    request = _request(named, failed_of, flags)
    export(request.env)
    with Harness.open(flags["store"]) as harness:
        if flags["dry_run"]:
            announcer = Announcer()
            planned = harness.call(plan_dry, request, Execution(announcer))
            return print_dry_run(planned, announcer, as_json=flags["as_json"])
        with running(flags) as command:
            if flags["selftest"]:
                code, request = command.selftest(request, harness)
                if code:
                    return code
            return command.report(harness.call(run_suites, request, command.execution), harness)


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
    from evalharness.domain.suite import Selection

    return RunRequest(
        suites=tuple(named),
        format_name=flags["format_name"],
        targets=flags["targets"],
        trials=flags["trials"],
        k=flags["k"],
        scorers=flags["scorer"],
        selection=Selection(
            only=split_at_commas(flags["only"]),
            tags=flags["tags"],
            categories=flags["categories"],
            difficulties=flags["difficulties"],
            limit=flags["limit"],
        ),
        failed_of=failed_of,
        variables=flags["variables"],
        env=flags["env"],
        gate=gate_overrides(flags),
        sequential=_sequential(flags),
        outputs=tuple(flags["outputs"]),
        options=RunOptions(
            max_concurrency=flags["max_concurrency"],
            max_failures=flags["max_failures"],
            grader_type=flags["grader_type"],
            sandbox=flags["sandbox"],
            run_name=flags["run_name"],
            **model_wishes(flags),
        ),
    )


def _sequential(flags: dict[str, Any]) -> Any:
    if not flags["sequential"]:
        refuse("sequential_effect", "--sequential-effect has a meaning only with --sequential")
        return None
    refuse("k", "--k does not work with --sequential: a run that may stop early does not try every case that often")
    from evalharness.domain.sequential import SequentialRequest

    return SequentialRequest(flags["sequential_effect"] / 100, flags["trials"])
