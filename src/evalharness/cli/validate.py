"""`eval-harness validate`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, format_option, json_option
from evalharness.cli.references import SUITE
from evalharness.domain.problem import Problem, without_repeats
from evalharness.reports.json_text import json_text

MAX_NOTES = 20
WARNED = ("!", "yellow")


@click.command("validate", cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=SUITE)
@format_option
@json_option
@debug_option
def command(paths: tuple[str, ...], format_name: str | None, as_json: bool) -> int:
    """Check suite and phase files, or all of them in a folder. Report all problems at once; import and run nothing."""
    from evalharness.actions.validate_suites import validate_suites
    from evalharness.harness import MEMORY, Harness

    with Harness.open(MEMORY) as harness:
        met = harness.call(validate_suites, [Path(path) for path in paths], format_name)
    loaded = [file for file in met if not file.is_passed_over]
    rest = [problem for file in met if file.is_passed_over for problem in file.problems]
    errors = [problem for file in loaded for problem in file.problems if problem.severity == "error"]
    if as_json:
        _print_json(loaded, rest)
    else:
        _show(loaded, rest, errors)
    return 2 if errors else 0


def _print_json(loaded: Sequence[Any], rest: Sequence[Problem]) -> None:
    from evalharness.reports.words.say import problem_fields

    files = [
        {
            "file": str(file.path),
            "format": file.format or None,
            "valid": not any(problem.severity == "error" for problem in file.problems),
            "variants": file.suite.variant_count if file.suite else None,
            "problems": [problem_fields(problem) for problem in file.problems],
        }
        for file in loaded
    ]
    fields = {"files": files, "passed_over": [problem_fields(problem) for problem in rest]}
    print(json_text(fields))


def _show(loaded: Sequence[Any], rest: Sequence[Problem], errors: Sequence[Problem]) -> None:
    """Each file with its mark, its problems below it; at last how many there are. What is broken goes to stderr."""
    from evalharness.cli.stdout import screen_on
    from evalharness.domain.plain_numbers import count
    from evalharness.reports.terminal.screen import MARKS
    from evalharness.reports.words.say import say

    out, err = screen_on(sys.stdout), screen_on(sys.stderr)
    for file in loaded:
        is_broken = any(problem.severity == "error" for problem in file.problems)
        screen = err if is_broken else out
        about = f"   {file.format} suite '{file.suite.name}', {_size(file.suite)}" if file.suite else _phase(file.phase)
        mark, colour = MARKS["failed" if is_broken else "passed"] if is_broken or not file.problems else WARNED
        screen.entry([(mark, colour), " "], str(file.path), about)
        for problem in without_repeats(file.problems):
            screen.entry(["  "], say(problem))
    for line in _in_few_lines(rest):
        out.entry([], line)
    valid = sum(not any(problem.severity == "error" for problem in file.problems) for file in loaded)
    fine = f"{count(valid, 'file')} {'is' if valid == 1 else 'are'} valid" if valid else ""
    if not errors:
        out.say()
        out.say(MARKS["passed"], f" {fine}")
        return
    files = len({problem.file for problem in errors})
    text = f"{count(len(errors), 'problem')} in {count(files, 'file')}"
    err.say()
    err.say(MARKS["failed"], f" {text}{f'; {fine}' if fine else ''}")


def _phase(phase: Any) -> str:
    from evalharness.domain.plain_numbers import count

    if phase is None:
        return ""
    named = f"phase '{phase.name}', " if phase.name else "phase, "
    return f"   {named}{count(len(phase.evals), 'eval')}"


def _size(suite: Any) -> str:
    from evalharness.domain.plain_numbers import count

    cases = count(len(suite.cases), "case")
    return f"{cases} × {count(suite.variant_count, 'variant')}" if suite.variant_count > 1 else cases


def _in_few_lines(passed_over: Sequence[Problem]) -> Iterator[str]:
    """Every warning, and as many notes as somebody may read."""
    from evalharness.reports.words.say import say

    notes = [say(problem) for problem in passed_over if problem.severity == "note"]
    yield from (say(problem) for problem in passed_over if problem.severity != "note")
    yield from notes[:MAX_NOTES]
    if len(notes) > MAX_NOTES:
        yield f"{len(notes) - MAX_NOTES} more files were skipped; --json lists them all"
