"""`eval-harness capture`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, force_option, option, refuse, store_option
from evalharness.cli.numbers import Integer
from evalharness.cli.references import RUN

KINDS = ("regression", "case", "capability", "task", "session")
OF_REGRESSIONS = ("captured_version", "comparison", "criticality")


@click.command("capture", cls=Command)
@click.argument("source", type=RUN, metavar="RUN|FILE")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@option(
    "--as",
    "kind",
    type=click.Choice(KINDS),
    help="What to write. regression: later answers must equal this one. case (of a suite file), capability (an "
    "eval-harness file), task or session: the same tools must be called again.  [default: regression for a run, case "
    "for a file]",
)
@option("-o", "--output", required=True, metavar="FILE", help="The file to write: YAML; JSON for a task or session.")
@option("--trial", type=Integer(1), metavar="N", help="Trial whose answer to take.  [default: the first that passed]")
@option("--version", "captured_version", metavar="V", help="Version of the target.  [default: the suite's]")
@option(
    "--compare",
    "comparison",
    type=click.Choice(["exact", "structural", "numeric", "semantic"]),
    help="How to compare later answers.  [default: exact for text, structural for data]",
)
@option("--criticality", type=click.Choice(["critical", "high", "medium", "low"]), help="How serious a change is.")
@option("--any-arguments", is_flag=True, help="Expect arguments of the same kind, not the same ones.")
@option("--input", "question", default="", metavar="TEXT", help="What was asked, where FILE does not say it.")
@force_option
@store_option
@debug_option
def command(source: str, cases: tuple[str, ...], **flags: Any) -> int:
    """Turn what an agent did into a file of cases.

    From answers of RUN come regression evals, which compare later answers with them, or cases that expect the same
    tools to be called. FILE is a transcript (Claude Code, Codex, OpenTelemetry, chat messages), or a log in JSONL: of a
    gateway, or with one conversation a line.

    \b
    eval-harness capture latest greets-by-name -o regression/greeting.yaml
    eval-harness capture session.jsonl --as case -o cases.yaml
    """
    from evalharness.cli.stdout import command_name
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import Harness
    from evalharness.reports.wording import harmless
    from evalharness.reports.words.say import say

    kind = flags["kind"] or ("case" if Path(source).is_file() else "regression")
    _refuse_what_has_no_effect(kind)
    with Harness.open(flags["store"], to_read=True) as harness:
        written = _captured(harness, kind, source, cases, flags)
    for warning in written.warnings:
        print(harmless(f"warning: {say(warning)}"), file=sys.stderr)
    what = "regression eval" if kind == "regression" else "case"
    made = f"suite '{written.suite_name}', {count(len(written.cases), what)}"
    print(harmless(f"wrote  {written.path}: {made}"))
    target = "" if written.has_target else " --target file.py:function"
    print(harmless(f"next   {command_name()} run {shlex.quote(str(written.path))}{target}"))
    return 0


def _refuse_what_has_no_effect(kind: str) -> None:
    if kind == "regression":
        for name in ("any_arguments", "question"):
            refuse(name, f"--{'input' if name == 'question' else 'any-arguments'} is not for regression evals")
        return
    for name, flag in zip(OF_REGRESSIONS, ("--version", "--compare", "--criticality"), strict=True):
        refuse(name, f"{flag} is for regression evals")


def _captured(harness: Any, kind: Any, source: str, cases: tuple[str, ...], flags: dict[str, Any]) -> Any:
    from evalharness.actions.capture_case import CaptureRequest, capture_cases
    from evalharness.actions.capture_observed import ObserveRequest, capture_observed

    shared: dict[str, Any] = {
        "cases": cases,
        "output": Path(flags["output"]),
        "trial": flags["trial"],
        "replace": flags["force"],
    }
    if kind != "regression":
        options = {"question": flags["question"], "any_arguments": flags["any_arguments"]}
        return harness.call(capture_observed, ObserveRequest(source=source, kind=kind, **options, **shared))
    about: dict[str, Any] = {name.removeprefix("captured_"): flags[name] or "" for name in OF_REGRESSIONS}
    return harness.call(capture_cases, CaptureRequest(run=source, **about, **shared))
