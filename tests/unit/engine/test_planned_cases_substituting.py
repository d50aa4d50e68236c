"""Who grades if a case has no grader of the requested type."""

from __future__ import annotations

import pytest

from evalharness.domain.case import Case
from evalharness.domain.specification import GraderSpec
from evalharness.engine.planning.planned_cases import usual_grader


@pytest.fixture
def graders(build):  # type: ignore[no-untyped-def]
    def made(*written: object) -> list[tuple[GraderSpec, object]]:
        specs = [GraderSpec.model_validate(each) for each in written]
        return [(spec, build(each)) for spec, each in zip(specs, written, strict=True)]

    return made


def test_a_person_can_rate_anything() -> None:
    spec = usual_grader("human", Case(id="a", input="x"), [])
    assert spec is not None
    assert spec.kind == "human"


def test_a_judge_compares_with_the_reference_first(graders) -> None:  # type: ignore[no-untyped-def]
    case = Case(id="a", input="x", reference="Paris")
    spec = usual_grader("model", case, graders({"exact": "paris"}))
    assert spec is not None
    assert (spec.kind, spec.options) == ("model", {"expected": "Paris"})


def test_else_with_what_the_other_graders_want(graders) -> None:  # type: ignore[no-untyped-def]
    case = Case(id="a", input="x")
    exact = usual_grader("model", case, graders({"exact": "Paris"}))
    holds = usual_grader("model", case, graders({"contains": "Par"}, {"ends_with": "is"}))
    assert exact is not None
    assert exact.options == {"expected": "Paris"}
    assert holds is not None
    assert holds.options == {"must_include": ["Par", "is"]}


@pytest.mark.parametrize("grader_type", ["model", "code"])
def test_nothing_is_made_up(grader_type: str) -> None:
    assert usual_grader(grader_type, Case(id="a", input="x"), []) is None
