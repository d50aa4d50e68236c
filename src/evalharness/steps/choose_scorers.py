"""Choose scorers: those that `--scorer` or a Python caller asks for take the place of the ones a suite brings along."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from evalharness import registry
from evalharness.documents.scores import (
    CostScorer,
    LatencyScorer,
    Scorer,
    SimilarityScorer,
    TokensScorer,
)
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec, function_name
from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName, UsageError
from evalharness.formats.problems import problems_text
from evalharness.steps.judge_outputs import OutputJudge
from evalharness.values.json_value import Json

BUILT_IN = ("latency", "cost", "tokens", "similarity", "llm-judge")
SCORERS = (*BUILT_IN, "scorer")
SYNTAX = 'write NAME:key=value,key=value, NAME:{"key": value} or file.py:name'
WrittenScorer: TypeAlias = str | Scorer | OutputJudge | Callable[..., Any]
"""Whatever `--scorer` takes, and from Python also an object with a method `score`, or a function."""


def with_scorers(suite: Suite, asked: Iterable[WrittenScorer]) -> Suite:
    """Every case is scored by these and by no other scorer; what decides whether it passes stays as it is."""
    specs = tuple(parse_scorer(written) for written in asked)
    cases = tuple(
        case if case.graders is None else case.model_copy(update={"graders": (*_without(case.graders), *specs)})
        for case in suite.cases
    )
    return suite.model_copy(update={"graders": (*_without(suite.graders), *specs), "cases": cases})


def _without(graders: Iterable[GraderSpec]) -> list[GraderSpec]:
    return [spec for spec in graders if spec.kind not in SCORERS]


def parse_scorer(written: WrittenScorer) -> GraderSpec:
    """`latency`, `latency:max_ms=5000,ideal_ms=100`, `latency:{"max_ms": 5000}`, `scorers.py:mine`, or a scorer."""
    if not isinstance(written, str):
        return _from_python(written)
    name, _, rest = written.partition(":")
    if name in BUILT_IN:
        return _checked(GraderSpec(kind=name, options=_options(written, rest), required=False), written)
    if not rest or "=" in rest:
        raise UnknownName("scorer", name, BUILT_IN)
    return GraderSpec(kind="scorer", options=written, required=False, name=written)


def _from_python(scorer: Any) -> GraderSpec:
    if isinstance(scorer, LatencyScorer | CostScorer | TokensScorer | SimilarityScorer):
        options = scorer.model_dump(exclude={"name"})
        return _checked(GraderSpec(kind=scorer.name, options=options, required=False), repr(scorer))
    if isinstance(scorer, OutputJudge):
        return _checked(GraderSpec(kind=scorer.name, options=scorer.options(), required=False), scorer.name)
    is_class = inspect.isclass(scorer)
    function = scorer if is_class else getattr(scorer, "score", scorer)
    if not callable(function):
        kind = type(scorer).__name__
        raise UsageError(f"a scorer is a text, a function or an object with a method score, not {kind}", hint=SYNTAX)
    name = getattr(scorer, "name", None)
    label = name if isinstance(name, str) and name else function_name(function)
    return GraderSpec(kind="scorer", options={"live": label}, required=False, name=label, function=function)


def _checked(spec: GraderSpec, written: str) -> GraderSpec:
    options: type[Options] = registry.load("grader", spec.kind).Options
    for key in spec.options or ():
        if key not in options.known_keys():
            raise UnknownName(f"option of {spec.kind}", key, options.model_fields)
    try:
        registry.parse_options("grader", spec)
    except ValidationError as error:
        raise UsageError(f"scorer {written}: {problems_text(error, options)}", hint=SYNTAX) from None
    return spec


def _options(written: str, rest: str) -> dict[str, Json]:
    if rest.lstrip().startswith("{"):
        return _mapping(written, rest)
    options: dict[str, Json] = {}
    for assignment in filter(None, rest.split(",")):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"scorer {written}: '{assignment}' is not key=value", hint=SYNTAX)
        options[key.strip()] = _value(value)
    return options


def _mapping(written: str, text: str) -> dict[str, Json]:
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"scorer {written}: the options are not JSON: {error}", hint=SYNTAX) from None
    assert isinstance(options, Mapping), "it begins with a brace"
    return dict(options)


def _value(text: str) -> Json:
    """A number, true, false or null as such; anything else is text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, str | list | dict) else value
