"""Cases that are built when they are asked for, and the lock of a case: which changes make it a different case."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.case import Case
from evalharness.domain.prompt import Prompt
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.engine.planning.planned_cases import (
    KEPT_CASES,
    PlannedCase,
    PlannedCases,
    Variables,
    lock_cases,
    public_plans,
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


def test_only_cases_with_a_secret_in_them_are_built_again_for_their_digests() -> None:
    suite = Suite(
        name="s",
        templated=True,
        graders=(GraderSpec.model_validate({"max_length": 20}),),
        cases=(
            Case(id="plain", input="q", expected="x"),
            Case(id="asked", input="who has {{key}}?", expected="x"),
            Case(id="graded", input="q", graders=({"contains": "{{key}}"}, {"contains": "Lima"})),
        ),
    )
    variables = Variables({"key": "sk-12345678"}, frozenset(["key"]))
    used = variables.used_by(suite, TargetSpec(kind="echo"), "suite.yaml")
    assert (used.has_secret_target, used.secret_cases) == (False, {"asked", "graded"})
    cases = PlannedCases(suite, variables.values, fake_services())
    planned = list(cases.in_turn())
    public = list(public_plans(planned, cases, variables, used))
    assert [plan.case.id for plan in public] == ["plain", "asked", "graded"]
    assert [plan is other for plan, other in zip(planned, public, strict=True)] == [True, False, False]
    without = list(PlannedCases(suite, variables.public(), fake_services()).in_turn())
    assert [plan.graders_digest() for plan in public] == [plan.graders_digest() for plan in without]
    assert [plan.case for plan in public] == [plan.case for plan in without]


def numbered(cases: int) -> PlannedCases:
    """Each case expects an answer of its own; all share a grader of the suite."""
    shared = GraderSpec.model_validate({"max_length": 20})
    each = tuple(Case(id=f"c{number}", input="?", expected=f"answer {number}") for number in range(cases))
    return PlannedCases(Suite(name="s", graders=(shared,), cases=each), {}, fake_services())


def test_a_case_is_built_once_for_all_its_trials_and_shares_the_suites_graders() -> None:
    cases = numbered(3)
    first, second = cases["c0"], cases["c1"]
    assert cases["c0"] is first
    assert [grader.spec.kind for _, grader in first.graders] == ["exact", "max_length"]
    assert first.graders[0][1] is not second.graders[0][1]
    assert first.graders[1][1] is second.graders[1][1]


def test_a_look_at_every_case_keeps_none() -> None:
    seen = [weakref.ref(plan.graders[0][1]) for plan in numbered(5).in_turn()]
    assert [reference() for reference in seen] == [None] * 5


def test_what_is_kept_does_not_grow_with_the_cases() -> None:
    cases = numbered(2 * KEPT_CASES)
    seen = [weakref.ref(cases[id_].graders[0][1]) for id_ in cases]
    assert [reference() is not None for reference in seen] == [False] * KEPT_CASES + [True] * KEPT_CASES


def test_variables_of_a_case_make_it_another_but_its_prompt_does_not(tmp_path: Path) -> None:
    def key_of(prompt: str, **variables: str) -> str:
        suite = Suite(name="s", cases=[Case(id="a", vars=variables)])
        target = TargetSpec(kind="echo", prompt=Prompt(text=prompt))
        planned = PlannedCases(suite, {}, fake_services(tmp_path), target=target)
        assert planned["a"].asked.content == prompt.replace("{{who}}", variables["who"])
        return lock_cases(planned.in_turn(), tmp_path)["a"].key

    assert key_of("Greet {{who}}", who="Ada") == key_of("Hello {{who}}", who="Ada")
    assert key_of("Greet {{who}}", who="Ada") != key_of("Greet {{who}}", who="Bob")


def test_graders_of_the_suite_are_shared_unless_they_use_variables_of_cases(tmp_path: Path) -> None:
    suite = Suite(
        name="s",
        templated=True,
        graders=[{"contains": "{{who}}"}, {"contains": "{{all}}"}],
        cases=[Case(id="a", vars={"who": "Ada"}), Case(id="b", vars={"who": "Bob"})],
    )
    first, second = PlannedCases(suite, {"all": "x", "who": "outside"}, fake_services(tmp_path)).in_turn()
    assert [spec.options for spec in (*first.specs, *second.specs)] == ["Ada", "x", "Bob", "x"]
    assert first.graders[1][1] is second.graders[1][1]
