"""Repeated sessions: which evals are unreliable and why, and which costs are far from the others."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.session_repeats import diagnose_repeats
from evalharness.documents.session_results import NOT_RUN, RepeatedEval, Repeats, Result

BAD_SIZE = {"size": "M", "size_expected": "S"}


def repeats(path: str, *repeated: dict[str, Any]) -> list[Result]:
    return [
        Result.model_validate({"input_path": path, "title": f"{path} #{number}", **fields})
        for number, fields in enumerate(repeated, start=1)
    ]


def diagnosed(results: list[Result], k: int = 3) -> Repeats:
    found = diagnose_repeats(results, k)
    assert found is not None
    return found


def only(*repeated: dict[str, Any]) -> RepeatedEval:
    [found] = diagnosed(repeats("a", *repeated)).evals
    return found


def test_the_most_unreliable_evals_come_first_then_by_path() -> None:
    results = [
        *repeats("d", {}, {}, {}),
        *repeats("c", {}, {}),
        *repeats("b", BAD_SIZE, {"error": "broke"}, BAD_SIZE),
        *repeats("f", {}, BAD_SIZE, {}),
        *repeats("e", BAD_SIZE, {}, {}),
    ]
    found = diagnosed(results)
    assert [(each.input_path, each.status, each.passed, each.total) for each in found.evals] == [
        ("e", "flaky", 2, 3),
        ("f", "flaky", 2, 3),
        ("b", "failing", 0, 3),
        ("c", "incomplete", 2, 2),
        ("d", "stable", 3, 3),
    ]
    assert (found.k, found.pass_at_k, found.pass_hat_k) == (3, 0.8, 0.2)


def test_every_repeat_that_did_not_pass_is_named_with_its_reasons() -> None:
    found = only({}, {**BAD_SIZE, "tool_calls_score_expected": 1.0}, {"error": "out of quota"})
    assert (found.failed_runs, found.errors) == (("a #2", "a #3"), 1)
    assert found.reasons == {
        "a #2": ("size expected S, got M", "tool calls score 0.00"),
        "a #3": ("out of quota",),
    }


@pytest.mark.parametrize(
    ("costs", "outliers"),
    [
        ([1.0, 1.0, 2.0], []),
        ([1.0, 1.0, 2.01], [("a #3", 2.01, 2.01)]),
        ([1.0, 9.0], []),
        ([0.0, 0.0, 9.0], []),
        ([1.0, 5.0, 1.0, 4.0, 1.0], [("a #2", 5.0, 5.0), ("a #4", 4.0, 4.0)]),
    ],
)
def test_a_cost_of_more_than_two_medians_is_far_from_the_others(
    costs: list[float], outliers: list[tuple[str, float, float]]
) -> None:
    found = only(*({"cost": cost} for cost in costs)).cost
    assert found is not None
    assert [(each.title, each.cost, each.ratio) for each in found.outliers] == outliers
    assert (found.samples, found.min, found.max) == (len(costs), min(costs), max(costs))


def test_costs_of_errors_are_left_out() -> None:
    cost = only({"cost": 1.0}, {"cost": 8.0, "error": "broke"}, {"cost": 3.0}).cost
    assert cost is not None
    assert (cost.samples, cost.median, cost.max) == (2, 2.0, 3.0)
    assert only(*[{"error": "broke"}] * 3).cost is None


def test_what_was_not_run_or_not_judged_leaves_an_eval_incomplete() -> None:
    assert only({}, {}, {"state": "error", "error": NOT_RUN}).status == "incomplete"
    open_ = only({}, {}, {"state": "awaiting", "relevance_expected": 1})
    assert (open_.status, open_.passed, open_.total, open_.failed_runs) == ("incomplete", 2, 2, ())


def test_evals_asked_once_skipped_or_without_a_path_are_not_diagnosed() -> None:
    assert diagnose_repeats(repeats("a", {}), 1) is None
    assert diagnose_repeats([], 3) is None
    assert diagnose_repeats(repeats("", {}, {}, {}), 3) is None
    assert diagnose_repeats(repeats("a", *[{"state": "skipped", "error": "skipped: needs containers"}] * 3), 3) is None
