"""Check targets: whether the targets and judges that a suite names are there, without importing or calling anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.problem import FieldPath, Problem, field_text
from evalharness.domain.specification import MODEL_TARGETS, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.errors import InvalidFile, UnknownName, UsageError
from evalharness.llms.providers import parse_name, provider_named
from evalharness.llms.scripted import read_script
from evalharness.references import missing_function
from evalharness.settings import Settings
from evalharness.steps.check_commands import check_command
from evalharness.syntax.source import read_source


def with_checked_targets(file: LoadedFile, settings: Settings) -> LoadedFile:
    """The file, with a problem for each target whose file, function, program or provider does not exist."""
    if not file.path.is_file():
        return file
    problems: list[Problem] = []
    for place, spec in _written_targets(file) if file.suite is None else _targets(file.suite):
        problems += _checked(file, place, partial(_check_target, spec, file, settings))
    for judge in _judges(file.suite) if file.suite is not None else ():
        problems += _checked(file, (), partial(_check_script, judge, file))
    return replace(file, problems=_by_line([*file.problems, *dict.fromkeys(problems)])) if problems else file


def check_asked_target(spec: TargetSpec, settings: Settings) -> None:
    """One that was not named by a suite. Raises UsageError where its function, provider or script does not exist."""
    _check_target(spec, LoadedFile(Path.cwd() / "target", None), settings)


def _checked(file: LoadedFile, place: FieldPath, check: Callable[[], None]) -> Iterator[Problem]:
    try:
        check()
    except InvalidFile as error:
        yield from error.problems
    except UsageError as error:
        yield _problem(file, place, error)


def _targets(suite: Suite) -> Iterator[tuple[FieldPath, TargetSpec]]:
    if suite.target is not None:
        yield ("target",), suite.named_target(suite.target)
    for name, spec in suite.targets.items():
        yield ("targets", name), spec
    for number, variant in enumerate(suite.variants):
        if variant.target is not None:
            yield ("variants", number), suite.named_target(variant.target)
    for number, case in enumerate(suite.cases):
        if case.target is not None:
            yield ("test_cases", number), suite.named_target(case.target)


def _by_line(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """As a reader meets them; each file by itself, and last what is said of it as a whole."""
    files = list(dict.fromkeys(problem.file for problem in problems))
    return tuple(sorted(problems, key=lambda problem: (files.index(problem.file), problem.line or math.inf)))


def _written_targets(file: LoadedFile) -> Iterator[tuple[FieldPath, TargetSpec]]:
    """The targets of a suite that other problems keep from being read, so that all are reported at once."""
    if file.format not in ("native", "eval-harness"):
        return
    data: Any = None
    with suppress(InvalidFile):  # which has been reported, as what is below
        data = read_source(file.path).data
    if not isinstance(data, Mapping):
        return
    named, variants = data.get("targets"), data.get("variants")
    names = named if isinstance(named, Mapping) else {}
    listed = variants if isinstance(variants, list) else []
    of_variants = [each.get("target") if isinstance(each, Mapping) else None for each in listed]
    places: list[tuple[FieldPath, Any]] = [
        (("target",), data.get("target")),
        *((("targets", str(name)), written) for name, written in names.items()),
        *((("variants", number), written) for number, written in enumerate(of_variants)),
    ]
    for place, written in places:
        if isinstance(written, Mapping) or (isinstance(written, str) and written not in names):
            with suppress(ValidationError):
                yield place, TargetSpec.model_validate(written)


def _judges(suite: Suite) -> Iterator[str]:
    """Models that grade, as far as the suite names them."""
    yield suite.config.judge_model
    specs = [spec for case in suite.cases for spec in suite.graders_for(case)]
    while specs:
        spec = specs.pop()
        with suppress(UsageError, ValidationError):  # which have been reported
            options = registry.parse_options("grader", spec)
            yield from options.named_judges
            specs.extend(options.parts)


def _check_script(model: str, file: LoadedFile) -> None:
    provider, _, script = model.partition("/")
    if provider == "scripted" and "{{" not in model:
        read_script(script, file.path.parent)


def _check_target(spec: TargetSpec, file: LoadedFile, settings: Settings) -> None:
    if file.suite is not None:
        check_command(spec, file.suite, file.root, settings.environment)
    function = spec.options.get("function") if isinstance(spec.options, dict) else spec.options
    if spec.kind == "function" and isinstance(function, str) and "{{" not in function:
        if missing := missing_function(function, file.root / spec.root):
            raise missing
    elif spec.kind in MODEL_TARGETS and spec.model and "{{" not in spec.model:
        provider_named(parse_name(spec.model).provider, settings.environment, registry.names("llm"))
        _check_script(spec.model, file)


def _problem(file: LoadedFile, place: FieldPath, wrong: UsageError) -> Problem:
    try:
        line = read_source(file.path).line_of(place)
    except InvalidFile:
        line = 0
    if isinstance(wrong, UnknownName):
        allowed = ", ".join(wrong.choices)
        return Problem(str(file.path), line, field_text(place), wrong.what, allowed=allowed, suggestion=wrong.guess)
    return Problem(str(file.path), line, field_text(place), wrong.message)
