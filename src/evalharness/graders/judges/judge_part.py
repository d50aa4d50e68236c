"""What all judges share: which models they ask, what is outstanding without one, and how a panel votes.

A judge that cannot be asked or gives no verdict leaves the grade `unscored`: neither a pass nor a fail.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from pydantic import Field, field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.model import Temperature
from evalharness.contracts.services import Services
from evalharness.domain.grade import VERDICTS, Grade, GraderType, added_up
from evalharness.domain.options import Options, Whole
from evalharness.domain.specification import GraderSpec
from evalharness.errors import BadReply, HarnessError, ModelUnavailable, SpendCapReached, TrialFault
from evalharness.graders.judges.question import Asking, Sampling, together
from evalharness.values.digest import digest
from evalharness.values.json_value import Json
from evalharness.values.text import head

# What may be set for every judge: which models to ask, and how.

ModelName = Annotated[str, Field(min_length=1)]


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def not_empty(written: Any) -> Any:
    """Who writes an empty list meant something by it: what is not wanted is left out."""
    if isinstance(written, list | tuple | Mapping) and not written:
        raise ValueError("must not be empty")
    return written


class JudgeOptions(Options):
    """`panel` is several models that vote, in place of the one `model`."""

    model: ModelName | None = None
    panel: tuple[ModelName, ...] = ()
    temperature: Temperature = 0.0
    max_tokens: Annotated[Whole, Field(ge=1)] = 1000
    cache: bool = True

    @field_validator("panel", mode="before")
    @classmethod
    def _one_is_a_panel(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else not_empty(written)

    @model_validator(mode="after")
    def _one_or_the_other(self) -> JudgeOptions:
        if self.model and self.panel:
            raise ValueError("give one model or a panel, not both")
        return self

    @property
    def named_judges(self) -> tuple[str, ...]:
        return self.panel or ((self.model,) if self.model else ())


NO_JUDGE = "none"
LONGEST_REASON = 1500
NOT_DECIDING = {"model", "panel", "cache", "concurrency"}
"""Options that say whom to ask, which `judges()` tells, or how, but not what the verdict is."""


class Seat(NamedTuple):
    """In a panel, or the only one. `vote`: what has been said already."""

    judge: str
    vote: Grade | None = None


class JudgeGrader(Grader):
    type: GraderType = "model"
    options: JudgeOptions

    def __init__(self, options: Any, spec: GraderSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self.version = f"1+{digest(self.wording())[:8]}"
        self._under_way: dict[str, asyncio.Event] = {}

    @abstractmethod
    def wording(self) -> Json:
        """Everything we say to a judge in our own words: the grader's version changes with it."""

    @abstractmethod
    async def judged(self, asking: Asking, context: GradeContext) -> Grade:
        """The verdict of one judge; raises what `Asking.ask` raises."""

    def judges(self) -> tuple[str, ...]:
        """The models it asks; none where the grade stays outstanding."""
        if self.services.judge_model == NO_JUDGE:
            return ()
        if self.services.judge_model:
            return (self.services.judge_model,)
        return self.options.named_judges or ((self.services.usual_judge,) if self.services.usual_judge else ())

    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        """Remembered: a suite's own grader is locked with every case."""
        options = self.options.model_dump(mode="json", exclude=NOT_DECIDING)
        return digest([self.spec.kind, self.version, options, self.judges()])

    def handed(self, context: GradeContext) -> GradeContext:
        """No copy: what is asked of a judge is only read."""
        return context

    async def grade(self, context: GradeContext) -> Grade:
        """Of what it has said before, verdicts stay: its own, and in a panel that of each judge."""
        before = context.before if context.before and context.before.version == self.version else None
        if before is not None and before.state in VERDICTS:
            return before
        seats = self._seats(before)
        if not seats or self.services.models is None:
            return self.due()
        if len(seats) == 1:
            askings = [self.asking(seats[0].judge, context)]
            verdict = await self._opinion(askings[0], context)
        else:
            askings, verdict = await self._verdict_of(seats, context)
        paid = [*(before.judging if before else ()), *(asking.judging for asking in askings)]
        return verdict.unchecked({**vars(verdict), "judging": added_up(paid)})

    async def _verdict_of(self, panel: list[Seat], context: GradeContext) -> tuple[list[Asking], Grade]:
        names = [seat.judge for seat in panel]
        votes = [
            seat.vote or self.asking(seat.judge, context, names[:place].count(seat.judge))
            for place, seat in enumerate(panel)
        ]

        async def opinion(vote: Grade | Asking) -> Grade:
            return vote if isinstance(vote, Grade) else await self._opinion(vote, context)

        opinions = await together(opinion, votes, len(votes))
        return [vote for vote in votes if isinstance(vote, Asking)], self.voted(names, opinions)

    def _seats(self, before: Grade | None) -> list[Seat]:
        """Who judges. `--judge-model` takes the place of those judges of a panel that have not voted yet."""
        said: Any = before.evidence if before else None
        panel = said.get("panel", ()) if isinstance(said, dict) else ()
        if not any(vote["state"] in VERDICTS for vote in panel):
            return [Seat(name) for name in self.judges()]
        return [
            Seat(vote["judge"], _vote(vote))
            if vote["state"] in VERDICTS
            else Seat(self.services.judge_model or vote["judge"])
            for vote in panel
        ]

    def asking(self, name: str, context: GradeContext, seat: int = 0) -> Asking:
        options = self.options
        sampling = Sampling.of(context, options.temperature, options.max_tokens, seat)
        cache = self.services.judge_cache if options.cache else None
        return Asking(self.services.llm(name), cache, sampling, self.services.exchanges, self._under_way)

    async def _opinion(self, asking: Asking, context: GradeContext) -> Grade:
        try:
            return await self.judged(asking, context)
        except (BadReply, ModelUnavailable) as error:
            reported = short_reason(f"the judge gave no verdict: {error}")
            return Grade.unscored(reported, is_final=isinstance(error, BadReply))
        except SpendCapReached as error:
            return Grade.unpaid(error.message)
        except (HarnessError, TrialFault) as error:  # also after a store's fault, what was paid for must be reported
            return Grade.unscored(short_reason(str(error)))

    def due(self) -> Grade:
        return Grade(state="awaiting", reason="no judge is set")

    def voted(self, names: Sequence[str], opinions: Sequence[Grade]) -> Grade:
        """The majority's verdict, and the mean of the scores."""
        parts = [f"{name}: {_verdict_text(grade)}" for name, grade in zip(names, opinions, strict=True)]
        if (passed := majority(grade.state for grade in opinions)) is None:
            return undecided(names, opinions, parts)
        scores = [grade.score for grade in opinions if grade.score is not None]
        votes = f"{sum(grade.passed for grade in opinions)} of {len(opinions)} judges pass it"
        reason = short_reason("; ".join([votes, *parts]))
        return Grade.of(passed, score=sum(scores) / len(scores), reason=reason, evidence=_panel(names, opinions))


def majority(states: Iterable[str]) -> bool | None:
    """More than half must pass it, at least half must fail it; None where those without a verdict could decide."""
    counts = Counter(states)
    if counts["pass"] * 2 > counts.total():
        return True
    return False if counts["fail"] * 2 >= counts.total() else None


def undecided(names: Sequence[str], opinions: Sequence[Grade], reported: Sequence[str]) -> Grade:
    """A panel in which too many have no verdict. Those that are outstanding come first, so that no cut takes their
    reasons."""
    due_first = sorted(zip(opinions, reported, strict=True), key=lambda each: each[0].state != "awaiting")
    reason, evidence = short_reason("; ".join(words for _, words in due_first)), _panel(names, opinions)
    if due_first[0][0].state == "awaiting":
        cause = next((grade.cause for grade in opinions if grade.cause), "")
        return Grade(state="awaiting", reason=reason, evidence=evidence, cause=cause)
    is_final = all(grade.is_final for grade in opinions if grade.state == "unscored")
    return Grade(state="unscored", reason=reason, evidence=evidence, is_final=is_final)


def _panel(names: Sequence[str], opinions: Sequence[Grade]) -> Json:
    return {
        "panel": [
            {
                "judge": name,
                "state": grade.state,
                "score": grade.score,
                "reason": grade.reason,
                "verdict": grade.evidence,
            }
            for name, grade in zip(names, opinions, strict=True)
        ]
    }


def _vote(reported: Mapping[str, Any]) -> Grade:
    """As `_panel` wrote it down."""
    return Grade(
        state=reported["state"], score=reported["score"], reason=reported["reason"], evidence=reported["verdict"]
    )


def short_reason(text: str) -> str:
    return head(text, LONGEST_REASON)


def _verdict_text(grade: Grade) -> str:
    return f"{grade.state} ({head(grade.reason, 300)})" if grade.reason else grade.state
