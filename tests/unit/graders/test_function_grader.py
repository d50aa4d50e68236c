from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored, UsageError
from evalharness.graders.function import as_grade

Grading = Callable[..., Grade]


@pytest.mark.parametrize(
    ("returned", "state", "score", "reason"),
    [
        (True, "pass", 1.0, ""),
        (False, "fail", 0.0, "the grader gave no reason"),
        (0.8, "pass", 0.8, ""),
        (0.1 + 0.7, "pass", 0.1 + 0.7, ""),
        (0.79, "fail", 0.79, "score 0.79 < 0.8"),
        (1, "pass", 1.0, ""),
        (0, "fail", 0.0, "score 0 < 0.8"),
        ((True, "fine"), "pass", 1.0, "fine"),
        ((False, "too short"), "fail", 0.0, "too short"),
        ((0.5, None), "fail", 0.5, "score 0.5 < 0.8"),
        ({"passed": True}, "pass", 1.0, ""),
        ({"passed": False, "score": 0.4, "reason": "half"}, "fail", 0.4, "half"),
        ({"score": 0.9}, "pass", 0.9, ""),
        ({"score": 0.1}, "fail", 0.1, "score 0.1 < 0.8"),
        (Grade.of(False), "fail", 0.0, "the grader gave no reason"),
        (Grade(state="pass"), "pass", 1.0, ""),
        (Grade.unscored("no idea"), "unscored", None, "no idea"),
    ],
    ids=repr,
)
def test_what_a_function_may_return(returned: Any, state: str, score: float | None, reason: str) -> None:
    grade = as_grade(returned, threshold=0.8)
    assert (grade.state, grade.score, grade.reason) == (state, score, reason)


@pytest.mark.parametrize(
    "returned",
    [
        *(None, "yes", [True], (True,), (True, "a", "b"), ("yes", "because"), int, {}),
        *(1.01, -0.1, 7, float("nan"), float("inf"), (2, "reason")),
        *({"score": "0.9"}, {"score": True}, {"score": 5}, {"score": float("nan"), "passed": True}),
        *({"passed": "yes"}, {"passed": 1}, {"verdict": True}, {"passed": True, 5: "x"}, {"reason": "only"}),
    ],
    ids=repr,
)
def test_what_is_unclear_is_unscored(returned: Any) -> None:
    with pytest.raises(Unscored, match="the grader returned"):
        as_grade(returned, threshold=0.8)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (Grade.model_construct(state="maybe", reason="x"), "state: "),
        (Grade(state="pass").model_copy(update={"score": 5}), "score: "),
    ],
)
def test_a_grade_that_is_none_is_unscored(returned: Grade, told: str) -> None:
    with pytest.raises(Unscored, match=f"the grader returned an invalid Grade: {told}"):
        as_grade(returned, threshold=0.8)


def test_a_grade_that_no_retry_betters_stays_that() -> None:
    assert as_grade(Grade.unscored("x", is_final=True), threshold=0.8).is_final


def test_no_verdict_has_no_score() -> None:
    assert as_grade(Grade(state="awaiting", score=0.0, reason="later"), threshold=0.8).score is None


def test_a_grade_without_words_is_taken() -> None:
    assert as_grade(Grade(state="awaiting").model_copy(update={"reason": None}), threshold=0.8).reason == ""


KEYS = st.sampled_from(["passed", "score", "reason", "evidence", "x"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner),
)


@given(ANYTHING)
def test_whatever_comes_back_is_a_sound_grade_or_unscored(returned: Any) -> None:
    try:
        grade = as_grade(returned, threshold=0.5)
    except Unscored as unscored:
        assert str(unscored)
        return
    assert grade.score is not None
    assert 0 <= grade.score <= 1
    assert grade.passed or grade.reason


@pytest.mark.parametrize(
    ("evidence", "kept"),
    [
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({"when": object()}, {"when": "<object>"}),
        ({"n": float("nan")}, {"n": None}),
        (Path("a/b"), "a/b"),
    ],
    ids=["tuple", "object", "NaN", "path"],
)
def test_evidence_is_kept_as_json(evidence: Any, kept: Any) -> None:
    assert as_grade({"passed": True, "evidence": evidence}, 1.0).evidence == kept
    assert as_grade(Grade.of(True, evidence=evidence), 1.0).evidence == kept
    assert as_grade({"passed": True, "details": evidence}, 1.0).evidence == kept


def test_evidence_that_contains_itself_is_named() -> None:
    evidence: list[Any] = []
    evidence.append(evidence)
    assert as_grade({"passed": True, "evidence": evidence}, 1.0).evidence.startswith("evidence that cannot be stored")


class AsyncJudge:
    async def __call__(self, context: GradeContext) -> bool:
        await asyncio.sleep(0)
        return context.text == "Ada"


async def async_judge(context: GradeContext) -> bool:
    await asyncio.sleep(0)
    return context.text == "Ada"


@pytest.mark.parametrize("function", [lambda context: context.text == "Ada", async_judge, AsyncJudge()])
def test_sync_async_and_callable_objects(function: Any, grade: Grading) -> None:
    assert grade(function, "Ada").passed
    assert not grade(function, "Eve").passed


def test_the_context_has_question_answer_and_more(grade: Grading) -> None:
    def judge(context: GradeContext) -> bool:
        return (context.input, context.output, context.text) == ("?", {"n": 1}, '{"n":1}')

    assert grade(judge, {"n": 1}).passed


def test_what_the_function_raises_is_passed_on(grade: Grading) -> None:
    with pytest.raises(ZeroDivisionError):
        grade(lambda context: 1 / 0)


def test_a_slow_grader_is_unscored(grade: Grading) -> None:
    async def slow(context: GradeContext) -> bool:
        await asyncio.sleep(60)
        return True

    spec = GraderSpec(kind="function", options={"live": "slow", "timeout_seconds": 0.01}, function=slow)
    with pytest.raises(Unscored, match=r"took more than 0\.01 s"):
        grade(spec)


def test_a_time_limit_of_the_functions_own_is_not_taken_for_ours(grade: Grading) -> None:
    def impatient(context: GradeContext) -> bool:
        raise TimeoutError("my own")

    with pytest.raises(TimeoutError, match="my own"):
        grade(impatient)


def test_a_file_reference_with_arguments(tmp_path: Path, grade: Grading) -> None:
    (tmp_path / "judges.py").write_text(
        "def close(context, to, within=0):\n    return abs(context.output - to) <= within"
    )
    written = {"function": "judges.py:close", "arguments": {"to": 10, "within": 2}}
    assert grade(written, 11).passed
    assert not grade(written, 13).passed


def test_a_module_beside_the_suite(tmp_path: Path, build: Callable[..., Grader], grade: Grading) -> None:
    file = tmp_path / "judges_beside_the_suite.py"
    file.write_text("LIMIT = 3\ndef short(context):\n    return len(context.text) <= LIMIT")
    written = "judges_beside_the_suite:short"
    assert grade(written, "abc").passed
    before = build(written).digest()
    file.write_text("LIMIT = 4\ndef short(context):\n    return len(context.text) <= LIMIT")
    assert build(written).digest() != before
    assert grade(written, "abcd").passed


def test_the_digest_follows_the_code(build: Callable[..., Grader]) -> None:
    assert build(async_judge).digest() == build(async_judge).digest()
    assert build(async_judge).digest() != build(AsyncJudge()).digest()


@pytest.mark.parametrize(
    ("reference", "code", "message"),
    [
        ("missing.py:judge", None, "no file"),
        ("judges.py:judje", "def judge(c): ...", "Did you mean 'judge'"),
        ("judges.py:judge", "judge = 5", "not callable"),
        ("judges.py:judge", "def judge(", "cannot be imported"),
        ("judges.py:judge", "import no_such_module_at_all", "cannot be imported"),
        ("no_such_module_at_all:judge", None, "cannot be imported"),
        ("no colon", None, "not a reference"),
    ],
)
def test_a_function_that_cannot_be_had_is_a_usage_error(
    reference: str, code: str | None, message: str, tmp_path: Path, build: Callable[..., Grader]
) -> None:
    if code is not None:
        (tmp_path / "judges.py").write_text(code)
    with pytest.raises(UsageError, match=message):
        build({"function": reference}).digest()


def test_a_function_of_another_program_cannot_be_had(build: Callable[..., Grader]) -> None:
    with pytest.raises(UsageError, match="only in the program that created it"):
        build({"type": "function", "live": "__main__:judge"}).digest()


@pytest.mark.parametrize(
    "options", [None, "", {}, {"threshold": 0.5}, {"function": "a:b", "timeout_seconds": 0}], ids=str
)
def test_options_without_a_function_are_refused(options: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="function", options=options))
