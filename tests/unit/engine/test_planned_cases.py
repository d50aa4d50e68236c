"""The lock of a case: which changes make it a different case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.case import Case
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import (
    PlannedCase,
    Variables,
    lock_cases,
    plan_cases,
    plan_public_cases,
)
from evalharness.testing.services import fake_services


def key(folder: Path, **metadata: Any) -> str:
    plan = PlannedCase(Case(id="a", input="x", metadata=metadata), (), [], timeout_s=1, retries=0)
    return lock_cases([plan], folder)["a"].key


@pytest.mark.parametrize("history", [{"last_passed": "2026-01-19"}, {"failure_count": 3}])
def test_what_became_of_a_case_does_not_make_it_another(tmp_path: Path, history: dict[str, Any]) -> None:
    assert key(tmp_path, **history) == key(tmp_path)
    assert key(tmp_path, locale="de", **history) == key(tmp_path, locale="de")


def test_metadata_that_a_function_may_read_does(tmp_path: Path) -> None:
    assert key(tmp_path, locale="de") != key(tmp_path, locale="fr")


def test_only_parts_with_a_secret_in_them_are_built_again_for_their_digests() -> None:
    plain, shared = {"contains": "Lima"}, {"max_length": 20}
    suite = Suite(
        name="s",
        templated=True,
        graders=(GraderSpec.model_validate(shared),),
        cases=(
            Case(id="plain", input="q", expected="x"),
            Case(id="asked", input="who has {{key}}?", expected="x"),
            Case(id="graded", input="q", graders=({"contains": "{{key}}"}, plain)),
        ),
    )
    variables = Variables({"key": "sk-12345678"}, frozenset(["key"]))
    used = variables.used_by(suite, TargetSpec(kind="echo"), "suite.yaml")
    assert (used.has_secret_target, used.secret_cases) == (False, {"asked", "graded"})
    services = fake_services()
    planned = {plan.case.id: plan for plan in plan_cases(suite, variables.values, services)}
    public = {
        plan.case.id: plan for plan in plan_public_cases(planned, suite, variables, used, services, grader_type=None)
    }
    assert list(public) == list(planned)
    assert public["plain"] is planned["plain"]
    built_again = [
        (id_, spec.kind)
        for id_, plan in planned.items()
        for (spec, grader), (_, other) in zip(plan.graders, public[id_].graders, strict=True)
        if grader is not other
    ]
    assert built_again == [("graded", "contains")]
    anew = plan_cases(suite, variables.public(), services)
    assert [plan.graders_digest() for plan in public.values()] == [plan.graders_digest() for plan in anew]
    assert [plan.case for plan in public.values()] == [plan.case for plan in anew]
