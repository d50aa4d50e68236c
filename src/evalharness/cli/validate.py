"""`eval-harness validate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, format_option, json_option
from evalharness.domain.problem import Problem, without_repeats

MAX_NOTES = 20


@click.command("validate", cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_option
@json_option
@debug_option
def command(paths: tuple[str, ...], format_name: str | None, as_json: bool) -> int:
    """Check suite files, or every suite in a folder. Tells every problem at once; imports and starts nothing."""
    from evalharness.actions.validate_suites import validate_suites
    from evalharness.domain.plain_numbers import count
    from evalharness.harness import MEMORY, Harness
    from evalharness.reports.wording import harmless
    from evalharness.reports.words import problem_fields, say

    with Harness.open(MEMORY) as harness:
        met = harness.call(validate_suites, [Path(path) for path in paths], format_name)
    loaded = [file for file in met if not file.is_passed_over]
    rest = [problem for file in met if file.is_passed_over for problem in file.problems]
    errors = [problem for file in loaded for problem in file.problems if problem.severity == "error"]
    if as_json:
        files = [
            {
                "file": str(file.path),
                "format": file.format or None,
                "valid": not any(problem.severity == "error" for problem in file.problems),
                "problems": [problem_fields(problem) for problem in file.problems],
            }
            for file in loaded
        ]
        fields = {"files": files, "passed_over": [problem_fields(problem) for problem in rest]}
        print(json.dumps(fields, ensure_ascii=False, indent=1))
        return 2 if errors else 0
    for file in loaded:
        for problem in without_repeats(file.problems):
            print(harmless(say(problem)), file=sys.stderr if problem.severity == "error" else sys.stdout)
        if file.suite is not None:
            found = f"{file.format} suite '{file.suite.name}', {count(len(file.suite.cases), 'case')}"
            print(harmless(f"{file.path}: ok: {found}"))
    for line in _in_few_lines(rest):
        print(harmless(line))
    if errors:
        number = len({problem.file for problem in errors})
        print(f"error: {count(len(errors), 'problem')} in {count(number, 'file')}", file=sys.stderr)
        return 2
    return 0


def _in_few_lines(passed_over: Sequence[Problem]) -> Iterator[str]:
    """Every warning, and as many notes as somebody may read."""
    from evalharness.reports.words import say

    notes = [say(problem) for problem in passed_over if problem.severity == "note"]
    yield from (say(problem) for problem in passed_over if problem.severity != "note")
    yield from notes[:MAX_NOTES]
    if len(notes) > MAX_NOTES:
        yield f"note: {len(notes) - MAX_NOTES} more files were passed over; --json lists them all"
