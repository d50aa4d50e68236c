"""Suite files: paths → suites with all their problems. A folder is walked; a file named outright must be a suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from evalharness.domain.problem import Problem
from evalharness.domain.suite import CasePlace, LoadedFile, Suite
from evalharness.errors import InvalidFile
from evalharness.formats.native.folder import is_config
from evalharness.formats.problems import Findings
from evalharness.formats.recognition import (
    SESSIONS,
    TABLE,
    Format,
    mentions_a_suite,
    named_format,
    recognise,
    recognise_named,
)
from evalharness.syntax.source import DELIMITED, ENDINGS, Source, import_hint, parse_text, read_source
from evalharness.values.variables import needed

PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "build", "dist"))
RESULTS = "results"
"""Where results of recorded sessions are saved, beside the sessions or above folders of them."""


def load_paths(paths: Iterable[Path], format_name: str | None = None) -> list[LoadedFile]:
    """A file that is named twice is loaded once. `format_name` forces a format; else each file's content decides."""
    return [file for file in survey_paths(paths, format_name) if not file.is_passed_over]


def survey_paths(paths: Iterable[Path], format_name: str | None = None) -> list[LoadedFile]:
    """The same, and what else lies in the folders: files that were passed over, each with the reason."""
    forced = named_format(format_name) if format_name else None
    loaded: list[LoadedFile] = []
    for path in {path.resolve(): path for path in paths}.values():
        if path.is_dir():
            found = _look_through(path, forced)
            if all(file.is_passed_over for file in found):
                wanted = "recorded session" if forced is SESSIONS else "suite"
                loaded.append(_broken(path, f"no {wanted} was found in this folder"))
            loaded += found
        elif not path.exists():
            loaded.append(_broken(path, "no such file or folder"))
        else:
            loaded.append(load_file(path, forced))
    return loaded


def suites_below(folder: Path, forced: Format | None = None) -> list[LoadedFile]:
    """Every suite below a folder; a file that another suite there is made of is not one of its own."""
    return [file for file in _look_through(folder, forced) if not file.is_passed_over]


def _look_through(folder: Path, forced: Format | None) -> list[LoadedFile]:
    found = [_load_met(path, forced) for path in walk_suite_files(folder, forced)]
    parts = {part for file in found for part in file.parts}
    reported = {problem.file for file in found if not file.is_passed_over for problem in file.problems}
    return [
        file
        for file in found
        if file.path.resolve() not in parts and not (file.is_passed_over and str(file.path) in reported)
    ]


def load_file(path: Path, forced: Format | None = None, *, with_places: bool = False) -> LoadedFile:
    try:
        if path.suffix.lower() in DELIMITED:
            return _load_delimited(path, with_places=with_places)
        source = read_source(path)
    except InvalidFile as error:
        return _load_rest(path, error, forced)
    return load_source(source, forced, with_places=with_places)


def load_with_places(path: Path, format_name: str = "") -> LoadedFile:
    """One suite, a file or a folder of recorded sessions, and where each of its cases is written."""
    forced = named_format(format_name) if format_name else None
    return _load_met(path, forced) if path.is_dir() else load_file(path, forced, with_places=True)


def _load_delimited(path: Path, *, with_places: bool) -> LoadedFile:
    from evalharness.formats.tables.columns import columns_of, usual_mapping  # here: most files are suites
    from evalharness.formats.tables.rows import read_table

    source = read_table(path)
    if source.data and not usual_mapping(source.data):
        columns = ", ".join(columns_of(source.data))
        message = f"is a table with the columns {columns}; none of them is known to be the question"
        return LoadedFile(path, None, (Problem(str(path), 0, "", message, hint=import_hint(path)),))
    return _load(source, TABLE, with_places=with_places)


def load_text(text: str, path: Path, format_name: str | None = None) -> LoadedFile:
    """A text as if it were the content of `path`; JSON is YAML, too."""
    forced = named_format(format_name) if format_name else None
    try:
        source = parse_text(text, ".yaml", path)
    except InvalidFile as error:
        return _load_rest(path, error, forced)
    return load_source(source, forced)


def load_source(source: Source, forced: Format | None = None, *, with_places: bool = False) -> LoadedFile:
    format_ = forced or recognise_named(source.data)
    if format_ is not None:
        return _load(source, format_, with_places=with_places)
    from evalharness.formats.recognition import not_a_suite  # here: most files are suites

    return LoadedFile(source.path, None, (not_a_suite(source),))


def walk_suite_files(folder: Path, forced: Format | None = None) -> Iterator[Path]:
    """Every file of a known ending, hidden and generated folders left out, in a stable order.

    A folder of recorded sessions comes itself, in place of its files; folders below it hold what belongs to them.
    """
    from evalharness.formats.session_folders import holds_sessions  # here: a file named outright needs none of it

    has_sessions = forced in (None, SESSIONS) and holds_sessions(folder, forced=forced is not None)
    if has_sessions:
        yield folder
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in PASSED_OVER or path.is_symlink():
            continue
        if path.is_dir():
            are_results = forced is SESSIONS and path.name == RESULTS
            if not has_sessions and not are_results:
                yield from walk_suite_files(path, forced)
        elif path.suffix.lower() in ENDINGS and not is_config(path):
            yield path


def _load_met(path: Path, forced: Format | None) -> LoadedFile:
    """A file of a folder. A broken one counts as a suite when it mentions what only suites have."""
    if path.is_dir():
        from evalharness.formats.session_folders import load_sessions

        sessions = load_sessions(path, forced=forced is not None)
        places = {str(file.case["id"]): CasePlace(str(file.path), 1) for file in sessions.recorded}
        return LoadedFile(path, sessions.suite, sessions.problems, SESSIONS.name, sessions.files, places=places)
    try:
        source = read_source(path)
    except InvalidFile as error:
        is_known = error.rest is not None and recognise(error.rest.data) is not None
        if is_known or (path.is_file() and mentions_a_suite(path.read_bytes())):
            return _load_rest(path, error, forced)
        problems = tuple(replace(problem, severity="warning") for problem in error.problems)
        return LoadedFile(path, None, problems, is_passed_over=True)
    found = recognise(source.data)
    if found is not None and forced in (None, found):
        return _load(source, found)
    from evalharness.formats.recognition import passed_over

    return LoadedFile(path, None, (passed_over(source, found),), is_passed_over=True)


def _load(source: Source, format_: Format, *, with_places: bool = False) -> LoadedFile:
    suite, findings = format_.load(source)
    problems = list(findings.problems)
    if suite is not None:
        given = {name.lower() for name in suite.vars}
        unfilled = _needed_variables(suite) - given if suite.templated else set()
        by_prompts = {name: where for name, where in _lacking_in_prompts(suite).items() if name not in given | unfilled}
        problems += [
            Problem(str(source.path), 0, "", f"needs the variable {name}{by_prompts.get(name, '')}", severity="note")
            for name in sorted(unfilled | by_prompts.keys())
        ]
    return LoadedFile(
        source.path,
        suite,
        tuple(problems),
        format_.name,
        frozenset(findings.parts),
        findings.thresholds_from,
        places=_places(findings) if with_places else {},
    )


def _places(findings: Findings) -> dict[str, CasePlace]:
    """Only on request: counting the lines of a large file takes a while."""
    return {
        case_id: CasePlace(str(source.path), source.line_of(path)) for case_id, (source, path) in findings.cases.items()
    }


def _needed_variables(suite: Suite) -> set[str]:
    """Those that nothing in the cases gives a value to; prompts not counted."""
    names = needed(suite.model_dump(mode="json", include={"target", "targets", "variants", "notify"}))
    shared = needed(suite.model_dump(mode="json", include={"graders"}))
    for case in suite.cases:
        names |= (shared | needed(case.model_dump(mode="json", exclude={"vars"}))) - case.own_values.keys()
    return names


def _lacking_in_prompts(suite: Suite) -> dict[str, str]:
    """The same for prompts: each name with the first prompt and case that lack it."""
    found: dict[str, str] = {}
    for prompt in suite.prompts:
        names = prompt.variables
        for case in suite.cases:
            for name in names - case.values_for(names).keys():
                found.setdefault(name, f" for the prompt '{prompt.name}' in case '{case.id}'")
    return found


def _load_rest(path: Path, error: InvalidFile, forced: Format | None) -> LoadedFile:
    """What is wrong with the file as text, and with what could be read of it all the same."""
    rest = load_source(error.rest, forced) if error.rest is not None else LoadedFile(path, None)
    problems = tuple(sorted((*error.problems, *rest.problems), key=lambda problem: problem.line))
    return replace(rest, suite=None, problems=problems)


def _broken(path: Path, message: str) -> LoadedFile:
    return LoadedFile(path, None, (Problem(str(path), 0, "", message),))


# The suites that come with the harness: one task suite per category, found by name.

FOLDER = Path(__file__).parents[1] / "ready_made"
PREFIX = "ready/"


def ready_made_suites() -> dict[str, Path]:
    """Name → file: `code_generation.json` holds `ready/code-generation`."""
    return {PREFIX + path.stem.replace("_", "-"): path for path in sorted(FOLDER.glob("*.json"))}


def is_ready_made(path: Path) -> bool:
    return path.parent == FOLDER
