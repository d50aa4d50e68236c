"""Import a suite: a table with a mapping of its columns or a preset for them, or a suite file → a native YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.problem import Problem
from evalharness.domain.suite import Suite
from evalharness.errors import Hint, InvalidFile, UsageError
from evalharness.formats.native.writer import dump_suite
from evalharness.formats.recognition import recognise
from evalharness.formats.tables.columns import columns_of, parse_mapping, usual_mapping
from evalharness.formats.tables.presets import Preset, read_rows, suite_from_preset
from evalharness.formats.tables.rows import looks_like_table, read_table
from evalharness.formats.tables.table_suites import looks_like_usual_table, suite_from_rows
from evalharness.steps.find_suites import load_suites
from evalharness.syntax import limits
from evalharness.syntax.source import DELIMITED, read_source

YAML_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """`mapping` holds KEY=COLUMN pairs; it or a `preset` makes the file a table; without both the file is a suite."""

    path: Path
    mapping: tuple[str, ...] = ()
    name: str | None = None
    limit: int | None = None
    format_name: str | None = None
    preset: Preset | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    source: Path
    suite: Suite
    text: str
    problems: tuple[Problem, ...]
    """Warnings only: errors are raised."""


async def import_suite(context: Context, request: ImportRequest) -> Imported:
    """Raises InvalidFile with every problem of the file."""
    if request.name is not None and not 0 < len(request.name) <= 500:
        raise UsageError("the name of a suite must have 1 to 500 characters")
    if request.mapping or request.preset or (not request.format_name and _is_usual_table(request.path)):
        suite, problems = _from_table(request)
    else:
        suite, problems = _from_suite(request)
    text = dump_suite(suite)
    if len(text) > limits.MAX_CHARS:
        raise UsageError(
            f"the suite would be larger than {limits.MAX_CHARS // 1_000_000} MB, more than a suite file may be",
            hint=Hint("hint.fewer_cases"),
        )
    return Imported(request.path, suite, text, tuple(problem for problem in problems if problem.severity == "warning"))


async def write_suite(
    context: Context,
    imported: Imported,
    path: Path,
    *,
    replace: bool = False,
) -> bool:
    """Replaces a file only where asked to; what stands there is kept when writing fails half-way.

    Returns False where the suite may name files, which are looked for beside the suite, and is now in another folder.
    """
    if path.suffix.lower() not in YAML_ENDINGS:
        raise UsageError(f"{path}: a suite is written as YAML", hint="name a file that ends in .yaml")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already", hint=Hint("hint.replace_file"))
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(imported.text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    return not _names_files(imported.suite) or imported.source.resolve().parent == path.resolve().parent


def _from_table(request: ImportRequest) -> tuple[Suite, list[Problem]]:
    if request.format_name:
        by = "a mapping of its columns" if request.mapping else "a preset"
        raise UsageError(f"formats are for suite files; with {by} the file is a table")
    if request.mapping and request.preset:
        raise UsageError(f"give a mapping or a preset, not both: {request.preset} knows its columns")
    if request.preset:
        name = request.name or request.path.name.partition(".")[0] or request.path.name
        findings = read_rows(request.path)
        suite = suite_from_preset(findings, request.preset, name=name, limit=request.limit)
    else:
        source = read_table(request.path)
        mapping = parse_mapping(request.mapping) if request.mapping else usual_mapping(source.data)
        name = request.name or request.path.stem
        suite, findings = suite_from_rows(source, mapping, name=name, limit=request.limit)
    if suite is None:
        raise InvalidFile(findings.problems)
    return suite, findings.problems


def _from_suite(request: ImportRequest) -> tuple[Suite, list[Problem]]:
    if request.path.is_dir():
        raise UsageError(f"{request.path} is a folder", hint="import one suite file at a time")
    [file] = load_suites([request.path], request.format_name)
    assert file.suite is not None, "load_suites raises for a file without a suite"
    cases = file.suite.cases[: request.limit]
    suite = file.suite.model_copy(update={"cases": cases, "name": request.name or file.suite.name})
    return suite, list(file.problems)


def _is_usual_table(path: Path) -> bool:
    """Whether the file is a table whose columns have the usual names; raises where they have others."""
    is_table = path.suffix.lower() in DELIMITED
    if path.is_dir():
        return False
    try:
        rows = read_table(path).data if is_table else read_source(path).data
    except InvalidFile:
        if is_table:
            raise
        return False  # what is wrong with it is reported by whoever loads it
    if looks_like_usual_table(rows) or (is_table and usual_mapping(rows)):
        return True
    if is_table or (looks_like_table(rows) and recognise(rows) is None):
        raise UsageError(
            f"{path} is a table: map its columns",
            hint=Hint("hint.columns", columns=list(columns_of(rows))),
        )
    return False


def _names_files(suite: Suite) -> bool:
    targets = (suite.target, *suite.targets.values(), *suite.variants, *(case.target for case in suite.cases))
    graders = (spec for case in suite.cases for spec in suite.graders_for(case))
    return (
        any(targets)
        or any(file.path for case in suite.cases for file in case.files.values())
        or any(spec.kind == "function" or ".py:" in str(spec.options) for spec in graders)
    )
