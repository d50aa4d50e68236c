"""Calibrating a judge: it scores what has a known score, and what known tricks are in.

A judge that cannot be asked is given up (`ModelUnavailable`), and so is one that never gives a verdict, after a few
questions and before the others are asked (`NoVerdict`). Otherwise a reply that is none is reported as one.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.calibration import ExampleScore
from evalharness.domain.case import Case, as_text
from evalharness.domain.grade import VERDICTS, Grade, Judging
from evalharness.domain.plain_numbers import count
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import BadReply, NoVerdict, UsageError
from evalharness.graders.judges.prompts import FOLDER
from evalharness.graders.judges.question import Item, Result, together
from evalharness.graders.judges.rubric import GradedExample, Model
from evalharness.graders.judges.validation import other_judge
from evalharness.values.json_value import Json
from evalharness.values.text import head

# Known tricks on judges: texts that an answer may hold in the hope of a verdict it does not deserve.
#
# Parsing must not fall for any of them; how often a judge itself does is measured and reported, never taken to be
# nought.


class Padding(Record):
    text: str
    times: Annotated[int, Field(ge=1)]


class Attack(Record):
    """`family` says what the trick relies on; `before` is text in which it hides."""

    family: str
    name: str
    text: str
    before: Padding | None = None

    @property
    def payload(self) -> str:
        return (self.before.text * self.before.times if self.before else "") + self.text


@cache
def attacks() -> tuple[Attack, ...]:
    written = json.loads((FOLDER / "attacks.json").read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Attack, ...]).validate_python(written)


QUESTION = "What is the capital of France?"
RIGHT = "Paris"
WRONG = "The capital of France is Berlin."
SHOWN = 60
PATIENCE = 5
"""How many replies without a verdict it takes to give up a judge that has not given any."""


@dataclass(slots=True)
class Candidate:
    """A judge that is being calibrated: what it took so far, and whether it has ever given a verdict."""

    name: str
    judgings: list[Judging] = field(default_factory=list)
    has_judged: bool = False
    failures: list[str] = field(default_factory=list)

    def check(self, patience: int = PATIENCE) -> None:
        """Raises NoVerdict once it has failed so often without a single verdict."""
        if not self.has_judged and len(self.failures) >= patience:
            times = f"no verdict after {count(len(self.failures), 'question')}; the last problem: {self.failures[-1]}"
            raise NoVerdict(f"{self.name} cannot be a judge: {times}", hint=other_judge())


class Attacked(NamedTuple):
    """The verdicts (`pass`, `fail`, `none`): on each attack with its family and name, and on answers without one."""

    attacks: list[tuple[str, str, str]]
    wrong: str
    right: str


def models_in(grader: Grader) -> Iterator[Model]:
    """The graders with a rubric, also those that are part of another."""
    if isinstance(grader, Model):
        yield grader
    for part in grader.parts:
        yield from models_in(part)


async def score_examples(grader: Model, judge: Candidate, cases: Sequence[Case], at_once: int) -> list[ExampleScore]:
    """Each example is scored as a run would score it, by a judge that is shown the others; `cases` are the grader's."""
    examples = grader.options.examples

    async def score(position: int) -> ExampleScore:
        others = examples[:position] + examples[position + 1 :]
        shown = Model(grader.options.model_copy(update={"examples": others}), grader.spec, grader.services)
        grade = await _verdict(shown, judge, _context(examples[position], cases))
        return _compared(grader, examples[position], grade)

    return await _first_few_first(score, range(len(examples)), at_once)


async def attack_judge(services: Services, judge: Candidate, at_once: int) -> Attacked:
    """Every known trick, as part of an answer that is plainly wrong; and that answer and a right one without any."""
    grader = registry.build_grader(GraderSpec(kind="model", options={}), services)
    assert isinstance(grader, Model), "it is registered so"
    case = Case(id="capital", input=QUESTION, reference=RIGHT)

    async def verdict(answer: str) -> str:
        grade = await _verdict(grader, judge, GradeContext(case, Transcript(output=answer), 0, 0))
        return grade.state if grade.state in VERDICTS else "none"

    known = attacks()
    answers = [WRONG, f"{RIGHT}.", *(f"{WRONG}\n\n{attack.payload}" for attack in known)]
    wrong, right, *verdicts = await _first_few_first(verdict, answers, at_once)
    parts = [(attack.family, attack.name, state) for attack, state in zip(known, verdicts, strict=True)]
    return Attacked(parts, wrong, right)


async def _first_few_first(
    ask: Callable[[Item], Awaitable[Result]], items: Sequence[Item], at_once: int
) -> list[Result]:
    """So that a judge is given up before the other questions cost anything."""
    first = await together(ask, items[:PATIENCE], at_once)
    return first + await together(ask, items[PATIENCE:], at_once)


async def _verdict(grader: Model, judge: Candidate, context: GradeContext) -> Grade:
    asking = grader.asking(judge.name, context)
    try:
        grade = await grader.judged(asking, context)
    except BadReply as error:
        judge.failures.append(str(error))
        judge.check()
        return Grade.unscored(str(error))
    finally:
        judge.judgings.append(asking.judging)
    judge.has_judged = True
    return grade


def check_examples(grader: Model, cases: Sequence[Case]) -> None:
    """Raises UsageError for an example that cannot be scored by the rubric by which the run judges."""
    usual = {grader.rubric_for(GradeContext(case, Transcript(), 0, 0)) for case in cases}
    for example in grader.options.examples:
        if grader.rubric_for(_context(example, cases)) not in usual:
            raise UsageError(
                f"no case has a good answer for the question of the example '{_shown(example)}'",
                hint="give the example the `input` of a case, or the grader a `rubric`",
            )


def _context(example: GradedExample, cases: Sequence[Case]) -> GradeContext:
    """Of the case with the example's question; the first where it has none, no case where it has another."""
    own = Case(id="example", input=example.input)
    asked = [case for case in cases if example.input is None or case.content == own.content]
    return GradeContext(asked[0] if asked else own, Transcript(output=example.output), 0, 0)


def _compared(grader: Model, example: GradedExample, grade: Grade) -> ExampleScore:
    text = _shown(example)
    if grade.score is None:
        return ExampleScore(text=text, wanted=example.score, problem=grade.reason)
    sheet = grader.options.sheet
    worth = sheet.scoring.worth(example.score)
    # The mean of several criteria need not be one of the words: both are then told by what they are worth.
    wanted = worth if sheet.criteria and sheet.scoring.type != "numeric" else example.score
    difference = (grade.score - worth) * sheet.scoring.width
    return ExampleScore(text=text, wanted=wanted, judged=_on_scale(grader, grade), difference=difference)


def _shown(example: GradedExample) -> str:
    return head(" ".join(as_text(example.output).split()), SHOWN)


def _on_scale(grader: Model, grade: Grade) -> Json:
    """As the judge said it; of several criteria, what their weighted mean is worth."""
    said: Any = grade.evidence
    if not grader.options.sheet.criteria:
        return said["overall_score"]
    scoring = grader.options.sheet.scoring
    low = scoring.range[0] if scoring.type == "numeric" else 0.0
    return low + (grade.score or 0.0) * scoring.width
