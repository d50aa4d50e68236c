"""The grader `assertions`: how results become a grade, and what its oracle says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec

HELLO = {"type": "output.contains", "path": "outputs.main.text", "value": "hello"}
CHEAP = {"type": "metric.total_cost_usd.max", "value": 0.5}
CODED = {"type": "behavior.node_executed", "nodeId": "coder"}


def test_the_score_is_the_share_that_is_true_and_the_reason_names_the_rest(grade: Callable[..., Grade]) -> None:
    verdict = grade({"assertions": [HELLO, CHEAP, CODED]}, "goodbye", cost_usd=0.25)
    assert verdict.state == "fail"
    assert verdict.score == pytest.approx(1 / 3)
    assert verdict.reason == (
        'output.contains: "outputs.main.text" does not contain "hello"; '
        'behavior.node_executed: Node "coder" was not executed'
    )


def test_the_evidence_is_every_result(grade: Callable[..., Grade]) -> None:
    verdict = grade({"assertions": [HELLO, CODED]}, "hello")
    assert verdict.evidence == [
        {"assertion": HELLO, "passed": True, "actual": "hello"},
        {"assertion": CODED, "passed": False, "actual": False, "message": 'Node "coder" was not executed'},
    ]


def test_a_long_value_is_cut_in_the_evidence(grade: Callable[..., Grade]) -> None:
    [result] = grade({"assertions": [HELLO]}, "hello " * 10_000).evidence
    assert len(result["actual"]) < 1100


def test_no_assertions_pass(grade: Callable[..., Grade]) -> None:
    verdict = grade({"assertions": []}, "anything")
    assert (verdict.state, verdict.score) == ("pass", 1.0)


def test_a_workflow_is_looked_at_instead_of_its_output(grade: Callable[..., Grade]) -> None:
    snapshot = {"outputs": {"main": {"text": "hello"}}}
    assert grade({"assertions": [HELLO]}, "something else", snapshot=snapshot).passed


def test_all_problems_of_the_assertions_are_reported() -> None:
    spec = GraderSpec.model_validate({"assertions": [{"type": "output.contain"}, {"type": "behavior.node_executed"}]})
    with pytest.raises(ValidationError, match=r"(?s)output\.contains.*nodeId"):
        registry.parse_options("grader", spec)


@pytest.mark.parametrize(
    ("assertions", "whole", "nodes"),
    [
        ([HELLO, CHEAP], {"main": {"text": "hello"}}, []),
        ([CODED], None, ["coder"]),
        ([{"type": "behavior.no_errors"}], None, []),
    ],
)
def test_the_oracle(assertions: list[Any], whole: Any, nodes: list[str], build: Callable[..., Grader]) -> None:
    example = build({"assertions": assertions}).example()
    assert example is not None
    assert example.output == whole
    assert [event["nodeId"] for event in example.events if "nodeId" in event] == nodes
    assert example != Example(), "there is an answer, even if only nothing went wrong"


def test_the_oracle_knows_what_cannot_be_had(build: Callable[..., Grader]) -> None:
    other = {"type": "output.equals", "path": "outputs.main.text", "value": "goodbye"}
    assert build({"assertions": [HELLO, other]}).example() is None


def test_what_two_of_them_want_is_had_together_or_not_at_all(build: Callable[..., Grader]) -> None:
    hello, coded = (build({"assertions": [each]}).example() for each in (HELLO, CODED))
    both = merge_examples([hello, coded, coded])
    assert both is not None
    assert both.output == {"main": {"text": "hello"}}
    assert [event.get("nodeId") for event in both.events] == [None, "coder"], "the same event is included once"
    other = build({"assertions": [{**HELLO, "value": "goodbye"}]}).example()
    assert merge_examples([hello, other]) is None
