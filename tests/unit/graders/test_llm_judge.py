"""llm-judge: a scorer that is off by default, and while it is off it is left out of the mean, never 0."""

from __future__ import annotations

from typing import Any

import pytest
from judged import HonestLlm, data_in, judge_once
from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.specification import GraderSpec
from evalharness.engine.running.attempt import mean_score

WRITTEN = {"criteria": "Is it good code?", "outputPath": "coder.text", "model": "m"}
SNAPSHOT = {"outputs": {"coder": {"text": "Ada", "files": ["a.py"]}}}


def score(**options: Any) -> Any:
    written = GraderSpec(kind="llm-judge", options={**WRITTEN, **options}, required=False)
    return judge_once(written, None, HonestLlm(), snapshot=SNAPSHOT)


def test_switched_off_it_is_left_out_of_the_mean() -> None:
    grade = score()
    assert (grade.state, grade.score, grade.evidence) == ("pass", None, {"enabled": False})
    assert "enabled: true" in grade.reason
    half = grade.model_copy(update={"score": 0.5})
    for required in (True, False):
        assert mean_score([grade.model_copy(update={"required": required}), half]) == 0.5


def test_switched_on_it_scores_the_output_at_its_path() -> None:
    llm = HonestLlm()
    grade = judge_once({"llm-judge": {**WRITTEN, "enabled": True}}, None, llm, snapshot=SNAPSHOT)
    assert (grade.state, grade.score) == ("pass", 1.0)
    assert data_in(llm.requests[0])["answer"] == "Ada"
    assert grade.evidence["justification"] == "so it is"
    assert score(enabled=True, outputPath="outputs.coder.text").score == 1.0
    assert score(enabled=True, outputPath="coder.files").score == 0.0


def test_it_measures_and_decides_only_where_a_minimum_is_given() -> None:
    assert score(enabled=True, outputPath="coder.files").state == "pass"
    assert score(enabled=True, outputPath="coder.files", min=0.5).state == "fail"
    assert score(enabled=True, min=0.5).state == "pass"


def test_a_path_that_leads_nowhere_is_reported_and_scores_0_without_a_call() -> None:
    llm = HonestLlm()
    grade = judge_once({"llm-judge": {**WRITTEN, "enabled": True, "outputPath": "x.y"}}, None, llm, snapshot=SNAPSHOT)
    assert (grade.score, grade.reason, llm.requests) == (0.0, 'Path "x.y" not found', [])


@pytest.mark.parametrize(
    ("criteria", "told"),
    [(["kind", "short"], "- kind\n- short"), ("documentation", "**Completeness** (weight: 0.3)")],
)
def test_criteria_may_be_listed_or_named(criteria: Any, told: str) -> None:
    llm = HonestLlm()
    judge_once({"llm-judge": {**WRITTEN, "criteria": criteria, "enabled": True}}, None, llm, snapshot=SNAPSHOT)
    assert told in llm.requests[0].messages[0].content


@pytest.mark.parametrize(
    "options", [{}, {"criteria": ""}, {"criteria": "x", "min": 2}, {"criteria": "x", "outputPath": ""}]
)
def test_wrong_options_are_refused(options: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="llm-judge", options=options))


def test_it_asks_no_model_while_it_is_off() -> None:
    llm = HonestLlm()
    judge_once({"llm-judge": WRITTEN}, None, llm, snapshot=SNAPSHOT)
    assert llm.requests == []
