"""Tasks of two runs by their scores: which are degraded, and which are reported although they are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import TaskChange, task_changes


def case(case_id: str, score: float | None, state: str = "passed", key: str = "") -> CaseResult:
    return CaseResult(case_id=case_id, trials=0 if score is None else 2, score=score, state=state, key=key)


def changes(old: list[CaseResult], new: list[CaseResult], threshold: float = 0.1) -> dict[str, TaskChange]:
    return {change.task_id: change for change in task_changes(old, new, threshold)}


def test_every_shared_task_is_reported_whatever_became_of_it() -> None:
    old = [case("a", 1.0), case("b", 0.5), case("c", 0.7), case("gone", 1.0)]
    new = [case("new", 1.0), case("c", 0.7), case("b", 0.9), case("a", 0.5)]
    found = changes(old, new)
    assert list(found) == ["c", "b", "a"], "not those that are missing from one run"
    assert [found[name].degraded for name in "abc"] == [True, False, False]
    assert [found[name].delta for name in "abc"] == pytest.approx([0.5, -0.4, 0.0])
    assert [found[name].improved(0.1) for name in "abc"] == [False, True, False]


def test_a_task_that_fails_now_at_the_same_score_is_not_hidden() -> None:
    change = changes([case("a", 0.8)], [case("a", 0.8, "failed")])["a"]
    assert (change.degraded, change.broken) == (False, True)


def test_a_task_of_which_a_trial_lacks_a_part_of_its_score_is_neither_degraded_nor_improved() -> None:
    whole, partly = case("a", 0.8), replace(case("a", 1.0), unscored=1, least_score=0.7)
    for old, new in ((partly, whole), (whole, partly)):
        found = changes([old], [new])["a"]
        assert (found.degraded, found.improved(0.1), found.delta) == (False, False, None)


def test_an_error_is_not_a_wrong_answer() -> None:
    change = changes([case("a", 1.0)], [case("a", None, "error")])["a"]
    assert (change.current_score, change.delta, change.degraded) == (None, None, False)


@pytest.mark.parametrize(("now", "comparable"), [("asked", True), ("asked otherwise", False), ("", True)])
def test_a_task_that_asks_something_else_now_did_not_get_worse(now: str, comparable: bool) -> None:
    change = changes([case("a", 1.0, key="asked")], [case("a", 0.0, "failed", key=now)])["a"]
    assert (change.comparable, change.degraded, change.broken) == (comparable, comparable, comparable)


def test_the_document_is_in_camel_case() -> None:
    [change] = changes([case("a", 1.0)], [case("a", 0.5)]).values()
    told = change.model_dump(by_alias=True)
    documented = {"taskId": "a", "previousScore": 1.0, "currentScore": 0.5, "degraded": True, "delta": 0.5}
    assert told.items() >= documented.items()
