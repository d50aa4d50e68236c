"""Check a suite that came over the network: its sender may ask and grade, but reach nothing else of this machine.

What is not known to be harmless is refused, by the name of its field. Targets and judge models are those that the
owner of the server registered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.invalid_values import explain
from evalharness.domain.problem import Problem
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import filled_case, filled_grader
from evalharness.errors import UsageError
from evalharness.values.json_value import Json
from evalharness.values.variables import has_braces, needed

POSTED = "suite"
"""What problems call the document."""
KEYS = frozenset(
    ("name", "version", "description", "schema_version", "eval_type", "target", "trials", "vars", "case_threshold",
     "max_error_rate", "gate", "graders", "k", "config", "metadata", "test_cases", "cases", "tasks")
)  # fmt: skip
"""Of a suite. Others name files, places, programs, or what only the owner of the machine decides."""
NOWHERE = frozenset(("$ref", "execution", "notify", "reporting", "setup"))
"""Keys that are refused wherever they are."""
GRADERS = frozenset(
    ("exact", "contains", "not_contains", "starts_with", "ends_with", "max_length", "regex", "json_equals",
     "json_schema", "structural_match", "includes", "numeric", "numeric_deltas", "exit_code", "expected_patterns",
     "files", "tool_sequence", "max_rounds", "retrieval", "assertions", "latency", "cost", "tokens", "similarity",
     "semantic_similarity", "function_output", "code_tests", "size_class", "tool_calls_f1", "relevance",
     "session_assertions", "model", "pairwise", "llm-judge", "human", "all_of", "any_of", "not", "weighted")
)  # fmt: skip
"""None runs a function of this machine; generated code runs in the sandbox."""

NO_GRADER = "this grader may not be part of a suite that is posted"
NO_FILE = "must have its text: a path would be read from this machine"
_GRADED_BY = ("graders", "grader", "expected", "expected_output", "code_check")
_MADE_OF_OTHERS = ("all_of", "any_of", "not", "weighted", "graders")


def document_problems(written: Mapping[str, Any], targets: Collection[str]) -> list[Problem]:
    """What can be seen before it is read: reading must not follow a `$ref`."""
    found = [_problem(key, "may not be part of a suite that is posted") for key in written if key not in KEYS]
    found += [_problem(place, "may not be part of a suite that is posted") for place in _refused(written, "")]
    found += [_problem(place, NO_GRADER) for place in _refused_graders(written)]
    found += [_problem(place, NO_FILE) for place in _paths_of_files(written)]
    target = written.get("target")
    if "target" in written and (not isinstance(target, str) or target not in targets):
        known = ", ".join(sorted(targets)) or "none is registered; they are registered when the server is started"
        found.append(_problem("target", f"must be a target that this server registered: {known}"))
    return _each_field_once(found)


def suite_problems(suite: Suite, models: Collection[str]) -> list[Problem]:
    """What can be seen once it has been read, whatever its format."""
    found = [_problem(field, "may not be part of a suite that is posted") for field in _set_fields(suite)]
    judge = suite.config.judge_model
    if judge and judge not in models:
        found.append(_problem("config.judge_model", _unregistered(judge, models)))
    if suite.gate is not None and suite.gate.regression and _is_path(suite.gate.regression.baseline):
        found.append(_problem("gate.regression.baseline", "must be the name of a baseline, not a file"))
    values = {name.lower(): value for name, value in suite.vars.items()}
    found += _variable_problems("suite", suite.model_dump(mode="json", exclude={"cases", "target"}), set(values))
    found += _shared_grader_problems(suite, values, models)
    for place, case in enumerate(suite.cases):
        found += _case_problems(f"test_cases[{place}]", case, suite, values, models)
    return _each_field_once(found)


def _shared_grader_problems(suite: Suite, values: Mapping[str, str], models: Collection[str]) -> Iterator[Problem]:
    """Of the suite's own graders, also as they are for cases that fill in variables themselves."""
    owned = [case.own_values for case in suite.cases if case.own_values]
    for spec in suite.graders:
        is_filled = bool(owned) and has_braces(spec.model_dump(mode="json"))
        for own in [{}, *owned] if is_filled else [{}]:
            yield from _grader_problems("graders", filled_grader(spec, {**values, **own}), models)


def _set_fields(suite: Suite) -> Iterator[str]:
    kept = (suite.targets, suite.variants, suite.prompts, suite.secrets, suite.reporting, suite.notify)
    names = ("targets", "variants", "prompts", "secrets", "reporting", "notify")
    yield from (name for name, value in zip(names, kept, strict=True) if value)


def _case_problems(
    place: str, case: Case, suite: Suite, values: Mapping[str, str], models: Collection[str]
) -> Iterator[Problem]:
    """A variable may stand for anything that is refused, so it is filled in before graders are looked at."""
    yield from _variable_problems(place, case.model_dump(mode="json"), {*values, *case.own_values})
    try:
        case = filled_case(case, suite, values)
    except ValidationError as error:
        yield _problem(place, f"with its variables filled in: {explain(error)}")
        return
    if case.target is not None:
        yield _problem(f"{place}.target", "may not be part of a suite that is posted")
    if case.setup:
        yield _problem(f"{place}.setup", "may not be part of a suite that is posted")
    for name, file in case.files.items():
        if file.path is not None:
            yield _problem(f"{place}.files.{name}", NO_FILE)
    for spec in (*filter(None, (case.expected, case.code_check)), *(case.graders or ())):
        yield from _grader_problems(f"{place}.graders", spec, models)


def _grader_problems(place: str, spec: GraderSpec, models: Collection[str]) -> Iterator[Problem]:
    place = f"{place}.{spec.kind}"
    if spec.kind not in GRADERS or spec.function is not None:
        yield _problem(place, NO_GRADER)
        return
    try:
        options = registry.parse_options("grader", spec)
    except UsageError as error:
        yield _problem(place, error.message)
        return
    except ValidationError as error:
        yield _problem(place, explain(error))
        return
    for reference in options.own_functions:
        yield _problem(place, f"must not call {reference}, a function of this machine")
    for name in sorted({*options.named_judges, *_models(spec.options)}):
        if name not in models:
            yield _problem(f"{place}.model", _unregistered(name, models))
    for part in options.parts:
        yield from _grader_problems(place, part, models)


def _models(options: Json) -> Iterator[str]:
    """Whatever a grader's options say under a key that names a model."""
    if isinstance(options, Mapping):
        for key, value in options.items():
            if key in ("model", "models", "judge_model"):
                yield from (str(name) for name in (value if isinstance(value, list | tuple) else [value]) if name)


def _unregistered(model: str, models: Collection[str]) -> str:
    known = f" ({', '.join(sorted(models))})" if models else ""
    return (
        f"the model '{model}' is not one that this server registered{known}; leave it out to use the server's own judge"
    )


def _variable_problems(place: str, written: Json, known: Collection[str]) -> Iterator[Problem]:
    """A name without a value would be taken from the environment of the server."""
    for name in sorted(needed(written) - set(known)):
        if not name.startswith("any_"):
            yield _problem(place, f"{{{{{name}}}}} has no value: give it one under `vars`")


def _refused(value: Any, place: str) -> Iterator[str]:
    waiting: list[tuple[Any, str]] = [(value, place)]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, Mapping):
            for key, item in value.items():
                inner = f"{place}.{key}" if place else str(key)
                if key in NOWHERE:
                    yield inner
                waiting.append((item, inner))
        elif isinstance(value, list | tuple):
            waiting += [(item, f"{place}[{at}]") for at, item in enumerate(value)]


def _cases_of(written: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "", written
    for key in ("test_cases", "cases", "tasks"):
        cases = written.get(key)
        for place, case in enumerate(cases if isinstance(cases, list) else ()):
            if isinstance(case, Mapping):
                yield f"{key}[{place}].", case


def _refused_graders(written: Mapping[str, Any]) -> Iterator[str]:
    """Of functions and scorers, wherever a grader can be: they are looked up as soon as the suite is read."""
    for place, case in _cases_of(written):
        for key in _GRADED_BY:
            listed = case.get(key)
            specs = listed if isinstance(listed, list) else [listed] if isinstance(listed, Mapping) else []
            for kind in (kind for spec in specs for kind in _kinds(spec)):
                if kind in ("function", "scorer") or (":" in kind and kind not in GRADERS):
                    yield f"{place}{key}.{kind}"


def _kinds(spec: Any) -> Iterator[str]:
    """What a written grader may be: its text, its keys, its type, and those of its parts."""
    waiting = [spec]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            yield from (str(key) for key in each)
            yield from (str(each[key]) for key in ("type", "kind") if key in each)
            waiting += [each[key] for key in _MADE_OF_OTHERS if isinstance(each.get(key), Mapping | list)]
        elif isinstance(each, list):
            waiting += each


def _paths_of_files(written: Mapping[str, Any]) -> Iterator[str]:
    for place, case in _cases_of(written):
        files = case.get("files")
        if isinstance(files, list):
            yield from (f"{place}files.{name}" for name in files)
        elif isinstance(files, Mapping):
            yield from (
                f"{place}files.{name}" for name, file in files.items() if isinstance(file, Mapping) and "path" in file
            )


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.lower().endswith(".json") or Path(text).is_file()


def _problem(field: str, message: str) -> Problem:
    return Problem(POSTED, 0, field, message)


def _each_field_once(problems: Iterable[Problem]) -> list[Problem]:
    return list({(problem.field, problem.message): problem for problem in problems}.values())
