"""Choose scorers: what `--scorer` asks for takes the place of the scorers that a suite brings along."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.record import Json
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName, UsageError

SCORERS = ("latency", "cost", "tokens", "similarity", "scorer")


def with_scorers(suite: Suite, asked: Iterable[str]) -> Suite:
    """Every case is scored by these and by no other scorer; what decides whether it passes stays as it is."""
    specs = tuple(parse_scorer(text) for text in asked)
    cases = tuple(
        case if case.graders is None else case.model_copy(update={"graders": (*_without(case.graders), *specs)})
        for case in suite.cases
    )
    return suite.model_copy(update={"graders": (*_without(suite.graders), *specs), "cases": cases})


def _without(graders: Iterable[GraderSpec]) -> list[GraderSpec]:
    return [spec for spec in graders if spec.kind not in SCORERS]


def parse_scorer(text: str) -> GraderSpec:
    """`latency`, `latency:max_ms=5000,ideal_ms=100` or `scorers.py:mine`."""
    name, _, rest = text.partition(":")
    if rest and "=" not in rest:
        return GraderSpec(kind="scorer", options=text, required=False, name=text)
    if name not in SCORERS[:-1]:
        raise UnknownName("scorer", name, SCORERS[:-1])
    spec = GraderSpec(kind=name, options=_options(text, rest), required=False)
    try:
        registry.parse_options("grader", spec)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"--scorer {text}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}",
            hint="write it as NAME:key=value,key=value",
        ) from None
    return spec


def _options(text: str, rest: str) -> dict[str, Json]:
    options: dict[str, Json] = {}
    for assignment in filter(None, rest.split(",")):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"--scorer {text}: '{assignment}' is not key=value")
        options[key.strip()] = _value(value)
    return options


def _value(text: str) -> Json:
    """A number, true, false or null as such; anything else is text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, str | list | dict) else value
