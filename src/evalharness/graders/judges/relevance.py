"""relevance: a language model confirms statements about the answer, one call for each. All must hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from evalharness.contracts.grader import GradeContext
from evalharness.documents.session_results import RelevanceResult, SessionCheck
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Whole
from evalharness.errors import BadReply, ModelUnavailable
from evalharness.graders.judges.judge_part import (
    JudgeGrader,
    JudgeOptions,
    majority,
    not_blank,
    short_reason,
    undecided,
)
from evalharness.graders.judges.prompts import template
from evalharness.graders.judges.question import Asking, Question, together
from evalharness.graders.judges.reply_form import Form, OneOf, Words
from evalharness.graders.judges.run_for_judge import run_for_judge
from evalharness.values.json_value import Json
from evalharness.values.text import shown


class RelevanceForm(Form):
    """A reason without a result says what is missing: it is read as a fail, and never asked for again."""

    def read(self, value: Any) -> dict[str, Json]:
        if isinstance(value, Mapping) and value.get("result") in (None, ""):
            value = {**value, "result": "fail"}
        return super().read(value)


FORM = RelevanceForm({"reason": Words("why, in one sentence", needed=True), "result": OneOf(("pass", "fail"))})
RelevanceAnswer = RelevanceResult | BadReply | ModelUnavailable


class RelevanceOptions(JudgeOptions, SessionCheck):
    main: ClassVar[str] = "criteria"

    criteria: Annotated[tuple[str, ...], Field(min_length=1)]
    concurrency: Annotated[Whole, Field(ge=1)] = 4

    @field_validator("criteria")
    @classmethod
    def _say_something(cls, criteria: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(not_blank, criteria))

    def result_fields(self, evidence: Json, called: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        results = tuple(result for result in results_in(evidence) if result)
        return {
            "relevance_passed": sum(result.passed for result in results),
            "relevance_expected": len(self.criteria),
            "relevance_results": results,
        }


class Relevance(JudgeGrader):
    Options: ClassVar[type[Options]] = RelevanceOptions
    options: RelevanceOptions

    def wording(self) -> Json:
        return [template("relevance").digest, FORM.digest]

    async def judged(self, asking: Asking, context: GradeContext) -> Grade:
        response = run_for_judge(context.transcript, context.text)
        answers = await check_each(asking, response, self.options.criteria, self.options.concurrency)
        if failures := failures_in(self.options.criteria, answers):
            is_final = not any(isinstance(answer, ModelUnavailable) for answer in answers)
            reason = short_reason(f"the judge gave no verdict on {'; '.join(failures)}")
            rows = [_row(*pair) for pair in zip(self.options.criteria, answers, strict=True)]
            return Grade(state="unscored", reason=reason, evidence=rows, is_final=is_final)
        return _grade([answer for answer in answers if isinstance(answer, RelevanceResult)])

    def due(self) -> Grade:
        criteria = self.options.criteria
        reason = short_reason(f"no judge is set for: {'; '.join(criteria)}")
        return Grade(state="awaiting", reason=reason, evidence={"criteria": list(criteria)})

    def voted(self, names: Sequence[str], opinions: Sequence[Grade]) -> Grade:
        """Each statement has its own majority."""
        said_by = [found for grade in opinions if (found := results_in(grade.evidence))]
        by_statement = [[found[place] for found in said_by] for place in range(len(self.options.criteria))]
        results = [_voted([vote for vote in votes if vote], len(opinions)) for votes in by_statement]
        settled = [result for result in results if result is not None]
        if len(settled) < len(results):
            parts = [f"{name}: {grade.reason or grade.state}" for name, grade in zip(names, opinions, strict=True)]
            return undecided(names, opinions, parts)
        return _grade(settled)


async def check_each(asking: Asking, response: str, criteria: Sequence[str], at_once: int) -> list[RelevanceAnswer]:
    """What the judge says to each criterion, in their order, or why it says nothing."""

    async def check(criterion: str) -> RelevanceAnswer:
        try:
            return await ask_one(asking, response, criterion)
        except (BadReply, ModelUnavailable) as error:
            return error

    return await together(check, criteria, at_once)


async def ask_one(asking: Asking, response: str, criterion: str) -> RelevanceResult:
    question = Question(template("relevance"), FORM, {"output": ("response", response)}, {"criterion": criterion})
    said = (await asking.ask(question)).said
    return RelevanceResult(criterion=criterion, passed=said["result"] == "pass", reason=said["reason"])


def failures_in(criteria: Sequence[str], answers: Sequence[RelevanceAnswer]) -> list[str]:
    pairs = zip(criteria, answers, strict=True)
    return [f"{shown(criterion)}: {answer}" for criterion, answer in pairs if not isinstance(answer, RelevanceResult)]


def _voted(votes: Sequence[RelevanceResult], seats: int) -> RelevanceResult | None:
    """With the first reason that the majority gives; those who say nothing have a seat, too."""
    absent = [""] * (seats - len(votes))
    passed = majority([*("pass" if vote.passed else "fail" for vote in votes), *absent])
    if passed is None:
        return None
    agreeing = [vote for vote in votes if vote.passed == passed]
    return agreeing[0].model_copy(update={"reason": f"{len(agreeing)} of {seats} judges: {agreeing[0].reason}"})


def _grade(results: Sequence[RelevanceResult]) -> Grade:
    failed = [result for result in results if not result.passed]
    text = "; ".join(f"{shown(result.criterion)} does not hold: {result.reason}" for result in failed)
    rows = [_row(each.criterion, each) for each in results]
    score = 1 - len(failed) / len(results)
    return Grade.of(not failed, score=score, reason=short_reason(text), evidence=rows)


def _row(criterion: str, answer: RelevanceAnswer) -> dict[str, Json]:
    """One criterion as evidence; `error` in place of a verdict says why there is none."""
    if isinstance(answer, RelevanceResult):
        return {"criterion": criterion, "passed": answer.passed, "reason": answer.reason}
    return {"criterion": criterion, "error": short_reason(str(answer))}


def results_in(evidence: Json) -> list[RelevanceResult | None]:
    """What `_row` wrote down, criterion by criterion: None where there is no verdict."""
    rows = evidence if isinstance(evidence, list) else ()
    return [RelevanceResult.model_validate(row) if "passed" in row else None for row in rows]
