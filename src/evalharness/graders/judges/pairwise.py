"""pairwise: a language model says whether the answer is better than another one. It is asked in both orders.

Judges tend to prefer what they read first, or last: where the two orders disagree, it is a tie.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

from pydantic import field_validator

from evalharness.contracts.grader import GradeContext
from evalharness.domain.case import as_text
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Share
from evalharness.errors import Unscored
from evalharness.graders.judges.judge_part import JudgeGrader, JudgeOptions, not_blank, short_reason
from evalharness.graders.judges.prompts import rubric_text, template
from evalharness.graders.judges.question import Asking, JudgeVerdict, Question, together
from evalharness.graders.judges.reply_form import Form, OneOf, Words
from evalharness.stats.thresholds import reaches
from evalharness.values.json_value import Json

BETTER = "better_answer"
FORM = Form(
    {
        "justification": Words("what sets the answers apart, in one or two sentences"),
        "winner": OneOf(("first", "second", "tie")),
    }
)
SCORES = MappingProxyType({"win": 1.0, "tie": 0.5, "loss": 0.0})


class PairwiseOptions(JudgeOptions):
    main: ClassVar[str] = "against"

    against: Json = None
    rubric: str = BETTER
    pass_score: Share = 0.5

    @property
    def needs_reference(self) -> bool:
        return self.against is None

    @field_validator("rubric")
    @classmethod
    def _is_known(cls, rubric: str) -> str:
        rubric_text(not_blank(rubric))
        return rubric


class Pairwise(JudgeGrader):
    Options: ClassVar[type[Options]] = PairwiseOptions
    options: PairwiseOptions

    def wording(self) -> Json:
        return [template("pairwise").digest, rubric_text(self.options.rubric), FORM.digest]

    async def judged(self, asking: Asking, context: GradeContext) -> Grade:
        answer, other = context.text, self._other(context)

        async def ask(pair: tuple[str, str]) -> JudgeVerdict:
            return await asking.ask(self._question(context, *pair))

        first, second = await together(ask, [(answer, other), (other, answer)], at_once=2)
        outcomes = [_outcome(first, own="first"), _outcome(second, own="second")]
        outcome = outcomes[0] if outcomes[0] == outcomes[1] else "tie"
        score, pass_score = SCORES[outcome], self.options.pass_score
        justifications = [verdict.said["justification"] for verdict in (first, second)]
        agreed = outcomes[0] == outcomes[1]
        why = justifications[0] if agreed else f"the two orders disagree: {outcomes[0]}, then {outcomes[1]}"
        evidence = {
            "outcome": outcome,
            "orders": [
                {"answer_stands": place, "outcome": each, "justification": why, "model": verdict.model}
                for place, each, why, verdict in zip(
                    ("first", "second"), outcomes, justifications, (first, second), strict=True
                )
            ],
        }
        return Grade.of(
            reaches(score, pass_score), score=score, reason=short_reason(f"{outcome}: {why}"), evidence=evidence
        )

    def _other(self, context: GradeContext) -> str:
        other = context.reference if self.options.against is None else self.options.against
        if other is None:
            raise Unscored("there is nothing to compare with: give `against`, or the case a reference")
        return as_text(other)

    def _question(self, context: GradeContext, first: str, second: str) -> Question:
        data: dict[str, tuple[str, str | None]] = {
            "input": ("question", as_text(context.input)),
            "first": ("first answer", first),
            "second": ("second answer", second),
        }
        return Question(template("pairwise"), FORM, data, {"rubric": rubric_text(self.options.rubric)})


def _outcome(verdict: JudgeVerdict, own: str) -> str:
    winner = verdict.said["winner"]
    return "tie" if winner == "tie" else "win" if winner == own else "loss"
