"""`eval-harness validate`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from evalharness.cli.options import debug_option, json_option


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@json_option
@debug_option
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Check suite files, or every suite in a folder. Tells every problem at once; imports and starts nothing."""
    from evalharness.formats.loading import load_paths
    from evalharness.reports.wording import count, harmless

    loaded = load_paths([Path(path) for path in paths])
    broken = [file for file in loaded if any(problem.severity == "error" for problem in file.problems)]
    if as_json:
        files = [
            {"file": str(file.path), "valid": file not in broken, "problems": [asdict(p) for p in file.problems]}
            for file in loaded
        ]
        print(json.dumps({"files": files}, ensure_ascii=False, indent=1))
        return 2 if broken else 0
    for file in loaded:
        for problem in file.problems:
            print(harmless(str(problem)), file=sys.stderr if problem.severity == "error" else sys.stdout)
        if file not in broken and file.suite is not None:
            print(harmless(f"{file.path}: ok: suite '{file.suite.name}', {count(len(file.suite.cases), 'case')}"))
    if broken:
        number = sum(problem.severity == "error" for file in broken for problem in file.problems)
        print(f"error: {count(number, 'problem')} in {count(len(broken), 'file')}", file=sys.stderr)
        return 2
    return 0
