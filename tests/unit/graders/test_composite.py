from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judged import HonestLlm, SayingLlm, judge_once
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.errors import SpendCapReached, UnknownName, Unscored

Grading = Callable[..., Grade]
PASS, FAIL = {"contains": "a"}, {"contains": "z"}


def cannot_say(context: GradeContext) -> Grade:
    raise Unscored("no idea")


def says_it_cannot_say(context: GradeContext) -> Grade:
    return Grade.unscored("no idea")


def waits(context: GradeContext) -> Grade:
    return Grade(state="awaiting", reason="a person's turn")


def half(context: GradeContext) -> Grade:
    return Grade.of(False, score=0.5, reason="half of it")


class PoorLlm(HonestLlm):
    async def chat(self, request: ChatRequest) -> ChatReply:
        raise SpendCapReached("$1 of $1")


@pytest.mark.parametrize("kind", ["all_of", "any_of", "weighted", "not"])
def test_a_part_that_could_not_be_paid_for_is_why_the_whole_is_outstanding(kind: str) -> None:
    part = {"type": "relevance", "criteria": ["names Ada"], "model": "m"}
    grade = judge_once({kind: part if kind == "not" else [part, {"human": {}}]}, "Ada", PoorLlm())
    assert (grade.state, grade.cause) == ("awaiting", "spend_cap")


def test_a_part_that_awaits_a_person_has_no_such_cause(grade: Grading) -> None:
    assert grade({"all_of": [waits]}).cause == ""


@pytest.mark.parametrize(
    ("written", "state", "score"),
    [
        ({"all_of": [PASS, PASS]}, "pass", 1.0),
        ({"all_of": [PASS, FAIL]}, "fail", 0.5),
        ({"all_of": [{**PASS, "weight": 3}, FAIL]}, "fail", 0.75),
        ({"all_of": [PASS, {**FAIL, "required": False}]}, "pass", 0.5),
        ({"all_of": [PASS, half]}, "fail", 0.75),
        ({"all_of": [{**PASS, "weight": 0}]}, "pass", 1.0),
        ({"all_of": [{**FAIL, "weight": 0}]}, "fail", 0.0),
        ({"any_of": [FAIL, PASS]}, "pass", 1.0),
        ({"any_of": [FAIL, half]}, "fail", 0.5),
        ({"not": FAIL}, "pass", 1.0),
        ({"not": PASS}, "fail", 0.0),
        ({"not": {"grader": {"not": PASS}}}, "pass", 1.0),
        ({"not": half}, "pass", 0.5),
        ({"weighted": [{**PASS, "weight": 7}, {**FAIL, "weight": 3}]}, "pass", 0.7),
        ({"weighted": [{**PASS, "weight": 6}, {**FAIL, "weight": 4}]}, "fail", 0.6),
        ({"weighted": {"graders": [PASS, FAIL], "threshold": 0.5}}, "pass", 0.5),
        ({"weighted": [PASS, FAIL], "threshold": 0.5}, "pass", 0.5),
        ({"any_of": [{"all_of": [PASS, FAIL]}, {"not": FAIL}]}, "pass", 1.0),
    ],
)
def test_verdicts_and_scores(written: Any, state: str, score: float, grade: Grading) -> None:
    verdict = grade(written, "a")
    assert verdict.state == state
    assert verdict.score == pytest.approx(score)


def test_a_double_negation_in_the_short_form(grade: Grading) -> None:
    assert grade({"not": {"not": PASS}}, "a").passed


@pytest.mark.parametrize("unsure", [cannot_say, says_it_cannot_say])
@pytest.mark.parametrize(
    ("form", "state"),
    [
        (lambda unsure: {"all_of": [PASS, unsure]}, "unscored"),
        (lambda unsure: {"all_of": [FAIL, unsure]}, "unscored"),
        (lambda unsure: {"any_of": [FAIL, unsure]}, "unscored"),
        (lambda unsure: {"any_of": [unsure, PASS]}, "pass"),
        (lambda unsure: {"not": unsure}, "unscored"),
        (lambda unsure: {"not": {"any_of": [unsure, FAIL]}}, "unscored"),
        (lambda unsure: {"weighted": [PASS, unsure]}, "unscored"),
    ],
)
def test_a_part_that_cannot_say_is_never_a_failed_one(
    unsure: Any, form: Callable[[Any], Any], state: str, grade: Grading
) -> None:
    verdict = grade(form(unsure), "a")
    assert verdict.state == state
    assert (verdict.score is None) == (state == "unscored")
    assert ("no idea" in verdict.reason) == (state == "unscored")


def test_a_part_that_is_not_required_may_be_unsure(grade: Grading) -> None:
    optional = GraderSpec(kind="function", options={"live": "x"}, function=cannot_say, required=False)
    verdict = grade({"all_of": [PASS, optional]}, "a")
    assert (verdict.state, verdict.score) == ("pass", 1.0)
    alone = grade({"all_of": [optional]}, "a")
    assert (alone.state, alone.score) == ("unscored", None), "at least one needs a verdict"


@pytest.mark.parametrize("written", [{"all_of": [PASS, waits]}, {"any_of": [FAIL, waits]}, {"not": waits}])
def test_a_part_that_waits_makes_the_whole_wait(written: Any, grade: Grading) -> None:
    assert grade(written, "a").state == "awaiting"


def test_unsure_comes_before_waiting(grade: Grading) -> None:
    assert grade({"all_of": [waits, cannot_say]}, "a").state == "unscored"


def test_each_part_gets_only_its_own_earlier_verdict() -> None:
    """All have one version, including those that are not required."""
    kind = {"type": "model", "rubric": "Is it kind?"}
    optional = {**kind, "model": "j/a", "name": "a", "required": False}
    written = {"all_of": [optional, {**kind, "model": "j/b", "name": "b"}, {**kind, "model": "j/c", "name": "c"}]}
    a, c = HonestLlm(name="j/a"), HonestLlm(name="j/c")
    before = judge_once(written, "Ada", [a, SayingLlm(lambda _: "who knows", "j/b"), c])
    assert before.state == "unscored"
    b = HonestLlm("nobody", "j/b")
    asked = (len(a.requests), len(c.requests))
    after = judge_once(written, "Ada", [a, b, c], before=before)
    assert (after.state, [part["state"] for part in after.evidence]) == ("fail", ["pass", "fail", "pass"])
    assert (len(b.requests), len(a.requests), len(c.requests)) == (1, *asked)


def test_what_a_part_of_another_name_said_is_not_a_parts_own() -> None:
    def parts(*names: str) -> dict[str, Any]:
        return {"all_of": [{"relevance": {"criteria": [name], "model": "j/j"}, "name": name} for name in names]}

    before = judge_once(parts("one", "two"), "Ada", SayingLlm(lambda _: "who knows"))
    told = [{**part, "state": "pass", "score": 1.0} for part in before.evidence]
    judge = HonestLlm("nobody")
    after = judge_once(parts("two", "two"), "Ada", judge, before=before.model_copy(update={"evidence": told}))
    assert [part["state"] for part in after.evidence] == ["fail", "pass"]
    assert len(judge.requests) == 1


def test_reasons_and_evidence_name_the_parts(grade: Grading) -> None:
    verdict = grade({"all_of": [PASS, {**FAIL, "name": "zed"}, half]}, "a")
    assert verdict.reason == "zed: 'z' not in 'a'; function: half of it"
    assert [part["state"] for part in verdict.evidence] == ["pass", "fail", "fail"]
    assert grade({"not": {**PASS, "name": "leak"}}, "a").reason == "leak passed, but should not have"
    assert grade({"weighted": [FAIL]}, "a").reason == "score 0 < 0.7 (contains: 'z' not in 'a')"


def test_a_weighted_reason_needs_no_failed_part(grade: Grading) -> None:
    def barely(context: GradeContext) -> dict[str, Any]:
        return {"passed": True, "score": 0.5}

    assert grade({"weighted": [barely]}, "a").reason == "score 0.5 < 0.7"


def test_what_a_part_raises_is_passed_on(grade: Grading) -> None:
    with pytest.raises(ZeroDivisionError):
        grade({"any_of": [lambda context: 1 / 0, PASS]}, "a")


def test_the_digest_follows_the_parts_code(build: Callable[..., Grader]) -> None:
    assert build({"not": cannot_say}).digest() != build({"not": waits}).digest()
    assert build({"not": waits}).digest() == build({"not": waits}).digest()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"all_of": []}, "at least one grader"),
        ({"all_of": [{"regex": "("}]}, "graders.0"),
        ({"all_of": [{"contains": "a", "case": True}]}, r"contains\.case"),
        ({"any_of": [{"numeric": "many"}]}, r"numeric\.value"),
        ({"not": {"contains": []}}, r"contains\.value"),
        ({"not": []}, "grader"),
        ({"weighted": [{"contains": "a", "weight": 0}]}, "weight above 0"),
        ({"weighted": [PASS], "threshold": 1.5}, "threshold"),
    ],
    ids=str,
)
def test_broken_parts_are_refused(written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        registry.parse_options("grader", GraderSpec.model_validate(written))
    assert len(caught.value.errors()) == 1
    assert "http" not in caught.value.errors()[0]["msg"]


def test_an_unknown_part_is_named(build: Callable[..., Grader]) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'contains'"):
        build({"all_of": [{"contain": "a"}]})
