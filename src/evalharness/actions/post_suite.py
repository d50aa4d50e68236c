"""Post a suite: register one that came over the network, if it asks for nothing that only the owner may decide."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalharness.contracts.context import Context
from evalharness.domain.problem import Problem
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import PYTHON, Suite
from evalharness.errors import InvalidFile, UsageError
from evalharness.formats.suite_files import load_text, ready_made_suites, suites_below
from evalharness.steps.check_posted_suite import POSTED, document_problems, suite_problems
from evalharness.steps.check_targets import check_asked_target
from evalharness.steps.choose_targets import asked_target
from evalharness.steps.collect_variables import redactor_for
from evalharness.steps.find_suites import register_suites, without_file
from evalharness.values.variables import needed

MOST_CASES = 100_000
_NOT_ASCII = re.compile("[\x7f-\uffff]")


class NameTaken(UsageError):
    """A suite in a file, or one that is ready-made, has the name already."""


class RefusedSuite(InvalidFile):
    """`message` says the first problem: whoever posts a suite sees no terminal."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        first = next(problem for problem in problems if problem.severity == "error")
        self.message = f"{first.field}: {first.message}" if first.field else first.message


async def post_suite(context: Context, written: Mapping[str, Any], targets: Mapping[str, str], folder: Path) -> str:
    """Returns its name. `targets` are those it may use, `folder` has the owner's own suites."""
    name = written.get("name")
    if not isinstance(name, str) or not name.strip():
        raise UsageError("name: a suite needs a name")
    if problems := document_problems(written, targets):
        raise RefusedSuite(problems)
    _check_name(name)
    _check_free(context, name, folder)
    loaded = _read(_as_yaml({key: value for key, value in written.items() if key != "target"}))
    target = asked_target(targets[written["target"]]) if "target" in written else None
    if loaded.name != name:
        raise UsageError("this is not a suite", hint="give it `tasks`, or `test_cases`")
    suite = loaded.model_copy(update={"target": target})
    problems = [*suite_problems(suite, _models(targets)), *_lost_values(context, suite), *_taken(suite, targets)]
    if not suite.cases or len(suite.cases) > MOST_CASES:
        problems.append(Problem(POSTED, 0, "test_cases", f"must have between 1 and {MOST_CASES:,} cases"))
    if problems:
        raise RefusedSuite(problems)
    await register_suites(context, [without_file(suite, Path.cwd())])
    return name


def _as_yaml(written: Mapping[str, Any]) -> str:
    """JSON that is YAML as well: YAML has no pairs of escapes for one character, such as an emoji, and breaks lines at
    characters that JSON writes as they are."""
    return _NOT_ASCII.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(written, ensure_ascii=False))


def _read(text: str) -> Suite:
    """In a folder of its own: nothing that it may name can be found there."""
    with TemporaryDirectory(prefix="evalharness-posted-") as folder:
        loaded = load_text(text, Path(folder) / POSTED)
    problems = [replace(problem, file=POSTED) for problem in loaded.problems]
    if loaded.suite is None or any(problem.severity == "error" for problem in problems):
        raise RefusedSuite(problems or [Problem(POSTED, 0, "", "this is not a suite")])
    return loaded.suite


def _lost_values(context: Context, suite: Suite) -> Iterator[Problem]:
    """Secrets are not stored: a run would take the value from the environment of the server."""
    redact = redactor_for([suite], {}, context.settings).redact
    for name, value in suite.vars.items():
        if "[redacted" in value or redact(value) != value:
            yield Problem(POSTED, 0, f"vars.{name}", "must not be a secret, which would not be stored")


def _taken(suite: Suite, targets: Mapping[str, str]) -> Iterator[Problem]:
    """The owner says what the variables of a registered target stand for; it may be run on any of them."""
    owned = {name for written in targets.values() for name in needed(_plain(asked_target(written)))}
    for name in suite.vars:
        if name.lower() in owned:
            yield Problem(POSTED, 0, f"vars.{name}", "must not be a variable of a target that this server registered")


def _plain(target: TargetSpec) -> Any:
    """Its prompt is filled in by cases."""
    return target.model_dump(mode="json", exclude={"prompt"})


def _models(targets: Mapping[str, str]) -> set[str]:
    """The language models among the registered targets: these may judge as well."""
    return {asked_target(written).model for written in targets.values()} - {""}


def _check_name(name: str) -> None:
    """`run NAME` takes the name of a suite for a path where there is one."""
    if "\0" in name:
        raise UsageError("name: must not contain the character NUL")
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise UsageError(f"name: '{name}' is a path, not a name")
    if Path(name).exists():
        raise NameTaken(f"'{name}' is the name of a file or folder of the server", hint="take another name")


def _check_free(context: Context, name: str, folder: Path) -> None:
    known = {line.name for line in context.store.registered_suites()}
    in_files = {file.suite.name for file in suites_below(folder) if file.suite is not None}
    if name in in_files or name in ready_made_suites() or (name in known and not _is_posted(context, name)):
        raise NameTaken(f"a file already has a suite named {name}", hint="choose another name")


def _is_posted(context: Context, name: str) -> bool:
    return any(line.name == name and line.format == PYTHON for line in context.store.registered_suites())


async def check_targets(context: Context, targets: Mapping[str, str]) -> None:
    """Raises UsageError for one that could never be run."""
    for name, written in targets.items():
        try:
            check_asked_target(asked_target(written), context.settings)
        except InvalidFile:  # which names the file, with all its problems
            raise
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}", hint=error.hint) from None


async def run_target(context: Context, suite_name: str, agent: str | None, targets: Mapping[str, str]) -> str:
    """What `--target` is to be: a registered target by its name, or nothing for the suite's own. Raises UsageError."""
    known = ", ".join(sorted(targets)) or "none"
    if agent is not None:
        if agent not in targets:
            raise UsageError(f"agentId: '{agent}' is not a target of this server; registered: {known}")
        return targets[agent]
    if not _is_posted(context, suite_name):  # a file or a ready-made suite: they may be large, and are read by `run`
        return ""
    registered = context.store.registered_suite(suite_name)
    if registered is not None and registered.suite.target is None:
        raise UsageError(f"agentId is missing: the suite has no target of its own; registered: {known}")
    return ""
