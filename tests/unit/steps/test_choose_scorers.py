"""How people select scorers: on the command line and in Python."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.scores import create_latency_scorer, create_similarity_scorer
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError
from evalharness.steps.choose_scorers import parse_scorer, with_scorers


def mine(artifact: Any) -> float:
    return 0.5


@pytest.mark.parametrize(
    ("written", "kind", "options"),
    [
        ("latency", "latency", {}),
        ("latency:max_ms=5000,idealMs=1.5", "latency", {"max_ms": 5000, "idealMs": 1.5}),
        ('similarity:{"expected_value": "a, b", "min": 1}', "similarity", {"expected_value": "a, b", "min": 1}),
        ("scorers.py:mine", "scorer", "scorers.py:mine"),
        ("my.module:Scorer", "scorer", "my.module:Scorer"),
        (create_latency_scorer(max_ms=9), "latency", {"max_ms": 9, "ideal_ms": 0}),
        (
            create_similarity_scorer("a", {"b": 1}, "contains"),
            "similarity",
            {"output_path": "a", "expected_value": {"b": 1}, "algorithm": "contains"},
        ),
    ],
    ids=str,
)
def test_what_is_meant(written: Any, kind: str, options: Any) -> None:
    spec = parse_scorer(written)
    assert (spec.kind, spec.options, spec.required) == (kind, options, False)


def test_a_function_is_handed_on() -> None:
    spec = parse_scorer(mine)
    assert (spec.kind, spec.function) == ("scorer", mine)
    assert spec.label.endswith(":mine")


@pytest.mark.parametrize(
    ("written", "problem", "hint"),
    [
        ("latenc", "Did you mean 'latency'", "known: latency"),
        ("latency:5000", "'5000' is not key=value", "NAME:key=value"),
        ("latency:foo=1", "unknown option 'foo' of latency", "max_ms"),
        ("latency:max_ms=many", "max_ms: must be a number", "NAME:key=value"),
        ("latency:{5", "not JSON", "NAME:key=value"),
        ("similarity", "expected_value: is missing", "NAME:key=value"),
        ("scores:min=1", "unknown scorer 'scores'", "known: latency"),
        (5, "not int", "file.py:name"),
    ],
)
def test_what_is_not_is_refused_with_advice(written: Any, problem: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_scorer(written)
    assert problem in raised.value.message
    assert hint in raised.value.hint


def test_they_take_the_place_of_the_suites_scorers_and_of_nothing_else() -> None:
    graders = (GraderSpec(kind="cost", required=False), GraderSpec(kind="contains", options="a"))
    suite = with_scorers(Suite(name="s", graders=graders), ["latency"])
    assert [spec.kind for spec in suite.graders] == ["contains", "latency"]
