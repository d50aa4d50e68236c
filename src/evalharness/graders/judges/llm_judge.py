"""llm-judge: a language model scores one output of a workflow. A scorer: it measures, unless `min` makes it decide.

Switched off, as it is by default, it has no score at all: a mean knows nothing of it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field, field_validator

from evalharness.contracts.grader import GradeContext
from evalharness.contracts.services import Services
from evalharness.documents.artifact import Artifact
from evalharness.documents.artifact_view import compact_text, output_at
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Share
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored
from evalharness.graders.assertions import artifact_in
from evalharness.graders.judges.criteria import parse_criteria
from evalharness.graders.judges.judge_part import JudgeGrader, JudgeOptions, not_blank
from evalharness.graders.judges.prompts import rubric_text, template
from evalharness.graders.judges.question import Asking, JudgeVerdict, Question
from evalharness.graders.judges.rubric import scored
from evalharness.graders.judges.score_sheet import ScoreSheet
from evalharness.graders.scorers import ANSWER_PATH
from evalharness.stats.thresholds import reaches
from evalharness.values.json_value import MISSING, Json

OFF = "switched off; set `enabled: true` to use it"


class LlmJudgeOptions(JudgeOptions):
    main: ClassVar[str] = "criteria"

    criteria: str
    output_path: Annotated[str, Field(min_length=1)] = Field(
        default=ANSWER_PATH, validation_alias=AliasChoices("output_path", "outputPath")
    )
    enabled: bool = False
    min: Share | None = None

    @field_validator("criteria", mode="before")
    @classmethod
    def _one_text(cls, written: Any) -> Any:
        return as_rubric(written)

    @field_validator("criteria")
    @classmethod
    def _weights_add_up(cls, criteria: str) -> str:
        check_rubric(not_blank(criteria))
        return criteria


class LlmJudge(JudgeGrader):
    Options: ClassVar[type[Options]] = LlmJudgeOptions
    options: LlmJudgeOptions

    def __init__(self, options: LlmJudgeOptions, spec: GraderSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self.is_off = not options.enabled

    def wording(self) -> Json:
        rubric = rubric_text(self.options.criteria)
        return [template("scores").digest, rubric, _sheet(rubric).form.digest]

    def judges(self) -> tuple[str, ...]:
        return () if self.is_off else super().judges()

    async def grade(self, context: GradeContext) -> Grade:
        if self.is_off:
            return Grade(state="pass", reason=OFF, evidence={"enabled": False})
        if _output(context, self.options.output_path) is None:
            passed = reaches(0.0, self.options.min or 0.0)
            reason = f'Path "{self.options.output_path}" not found'
            return Grade.of(passed, score=0.0, reason=reason, evidence={"enabled": True, "metadata": {"error": reason}})
        return await super().grade(context)

    async def judged(self, asking: Asking, context: GradeContext) -> Grade:
        output = _output(context, self.options.output_path)
        assert output is not None, "what is not there is not judged"
        verdict, score = await score_output(asking, output, self.options.criteria, as_text(context.input))
        return scored(verdict, score, self.options.min)

    def example(self) -> Example | None:
        return Example() if self.options.min is None or self.is_off else None


def as_rubric(criteria: Any) -> Any:
    """A list of criteria as one text; whatever else it is stays as it is."""
    is_list = isinstance(criteria, list | tuple) and all(isinstance(each, str) for each in criteria)
    return "\n".join(f"- {each}" for each in criteria) if is_list else criteria


def check_rubric(criteria: str) -> None:
    """Raises ValueError for one that nobody could score by."""
    _sheet(rubric_text(criteria))


async def score_output(asking: Asking, output: str, criteria: str, question: str | None) -> tuple[JudgeVerdict, float]:
    """The judge's words, and the score from 0 to 1 that they are worth."""
    rubric = rubric_text(criteria)
    sheet = _sheet(rubric)
    data = {"input": ("question", question), "expected": ("good answer", None), "output": ("answer", output)}
    verdict = await asking.ask(
        Question(template("scores"), sheet.form, data, {"rubric": rubric, "examples": ""}),
    )
    return verdict, sheet.score(verdict.said)


@lru_cache
def _sheet(rubric: str) -> ScoreSheet:
    return ScoreSheet.of(parse_criteria(rubric), None)


def output_text(artifact: Artifact, path: str) -> str | None:
    """What stands at a path of the outputs, as text; None where nothing does."""
    found = output_at(artifact, path)
    if found is MISSING:
        return None
    try:
        return compact_text(found)
    except (RecursionError, ValueError) as error:
        raise Unscored(f"the output cannot be read as text: {error}") from None


def _output(context: GradeContext, path: str) -> str | None:
    return output_text(artifact_in(context), path)
