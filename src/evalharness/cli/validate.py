"""`eval-harness validate`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from evalharness.cli.options import debug_option, format_option, json_option


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_option
@json_option
@debug_option
def command(paths: tuple[str, ...], format_name: str | None, as_json: bool) -> int:
    """Check suite files, or every suite in a folder. Tells every problem at once; imports and starts nothing."""
    from evalharness.formats.loading import load_paths
    from evalharness.reports.wording import count, harmless

    loaded = load_paths([Path(path) for path in paths], format_name)
    broken = [file for file in loaded if any(problem.severity == "error" for problem in file.problems)]
    if as_json:
        files = [
            {
                "file": str(file.path),
                "format": file.format,
                "valid": file not in broken,
                "problems": [asdict(p) for p in file.problems],
            }
            for file in loaded
        ]
        print(json.dumps({"files": files}, ensure_ascii=False, indent=1))
        return 2 if broken else 0
    for file in loaded:
        for problem in file.problems:
            print(harmless(str(problem)), file=sys.stderr if problem.severity == "error" else sys.stdout)
        if file not in broken and file.suite is not None:
            found = f"{file.format} suite '{file.suite.name}', {count(len(file.suite.cases), 'case')}"
            print(harmless(f"{file.path}: ok: {found}"))
    if broken:
        number = sum(problem.severity == "error" for file in broken for problem in file.problems)
        print(f"error: {count(number, 'problem')} in {count(len(broken), 'file')}", file=sys.stderr)
        return 2
    return 0
