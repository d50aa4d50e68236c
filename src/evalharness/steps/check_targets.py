"""Check targets: whether what a suite names as its targets is there, found without importing or calling anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evalharness import registry
from evalharness.domain.problem import FieldPath, Problem, field_text
from evalharness.domain.specification import MODEL_TARGETS, TargetSpec
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.errors import InvalidFile, UnknownName, UsageError
from evalharness.formats.syntax.source import read_source
from evalharness.llms.providers import parse_name, provider_named
from evalharness.references import missing_function
from evalharness.settings import Settings


def with_checked_targets(file: LoadedFile, settings: Settings) -> LoadedFile:
    """The file, with a problem for each target whose file, function or provider does not exist."""
    if file.suite is None or not file.path.is_file():
        return file
    found = [(place, wrong) for place, spec in _targets(file.suite) if (wrong := _wrong(spec, file, settings))]
    return replace(file, problems=(*file.problems, *(_problem(file, *each) for each in found))) if found else file


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


def _wrong(spec: TargetSpec, file: LoadedFile, settings: Settings) -> UsageError | None:
    function = spec.options.get("function") if isinstance(spec.options, dict) else spec.options
    if spec.kind == "function" and isinstance(function, str) and "{{" not in function:
        return missing_function(function, file.root / spec.root)
    if spec.kind in MODEL_TARGETS and spec.model and "{{" not in spec.model:
        try:
            provider_named(parse_name(spec.model).provider, settings.environment, registry.names("llm"))
        except UsageError as error:
            return error
    return None


def _problem(file: LoadedFile, place: FieldPath, wrong: UsageError) -> Problem:
    try:
        line = read_source(file.path).line_of(place)
    except InvalidFile:
        line = 0
    if isinstance(wrong, UnknownName):
        allowed = ", ".join(wrong.choices)
        return Problem(str(file.path), line, field_text(place), wrong.what, allowed=allowed, suggestion=wrong.guess)
    return Problem(str(file.path), line, field_text(place), wrong.message)
