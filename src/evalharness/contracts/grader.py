"""The grader: judges one transcript, and what it is handed to do so.

A grader inherits from `Grader` and adds its `Options` and `grade`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade, GraderType
from evalharness.domain.options import Options
from evalharness.domain.record import copied
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import Unscored
from evalharness.values.digest import digest
from evalharness.values.json_value import Json, compared_as


@dataclass(frozen=True, slots=True)
class GradeContext:
    """All a grader may look at. A grader takes this one argument and returns a value."""

    case: Case
    transcript: Transcript
    index: int
    seed: int
    duration_s: float = 0.0
    before: Grade | None = None
    """What the grader has said before, where only what is still outstanding is wanted of it: verdicts of judges
    stay."""

    def own(self) -> GradeContext:
        """The same with a case and a transcript that may be changed: it concerns nobody else."""
        return replace(self, case=copied(self.case), transcript=copied(self.transcript))

    @property
    def output(self) -> Json:
        return self.transcript.output

    @property
    def text(self) -> str:
        """The answer as text. Raises Unscored for what has none: a Python target can give what JSON cannot hold."""
        try:
            return self.transcript.text
        except (RecursionError, TypeError, ValueError) as error:
            raise Unscored(f"the answer cannot be read as text: {error}") from None

    @property
    def input(self) -> Json:
        return self.case.content

    @property
    def reference(self) -> Json:
        return self.case.reference


class Grader(ABC):
    Options: ClassVar[type[Options]] = Options
    type: GraderType = "code"
    """Who judges: `model` or `human` where a model or a person has a part in it; with both it is `human`."""
    version: str = "1"
    """Changes when the same answer may get another grade."""
    needs_sandbox: bool = False
    """Whether it runs code that the target wrote: then the sandbox is opened before the target is asked.

    Only a grader made of others decides it when it is built.
    """
    people: int = 0
    """How many people must rate an answer before it has a grade; 0 where none have to.

    Of a grader made of others, the most that one of them asks for.
    """
    only_reads: ClassVar[bool] = False
    """Whether it changes nothing of what it is handed. Every other grader is handed a copy of its own."""
    is_off: bool = False
    """Whether it is switched off by its options. A case with no other graders is skipped."""
    parts: tuple[Grader, ...] = ()
    """The graders that this one is made of; empty for one that judges by itself."""

    options: Any
    spec: GraderSpec
    services: Services

    def __init__(self, options: Any, spec: GraderSpec, services: Services) -> None:
        """`options` is an instance of the class's own `Options`. Nothing is started or sent before `grade`."""
        self.options = options
        self.spec = spec
        self.services = services

    def digest(self) -> str:
        """Changes when the grader may judge differently for a reason the harness can see."""
        return digest([self.spec.kind, self.version, self.options.model_dump(mode="json")])

    def judges(self) -> tuple[str, ...]:
        """The language models that it asks, as `provider/model`: each is checked before the first trial."""
        return ()

    def embedders(self) -> tuple[str, ...]:
        """The embedding models that it asks, as `provider/model`."""
        return ()

    def example(self) -> Example | None:
        """What an answer must contain to pass; None when the grader cannot say."""
        return None

    def normalised(self, output: Json) -> Json:
        """An answer as this grader compares it: two that are equal then are one and the same answer to it."""
        return compared_as(output)

    @abstractmethod
    async def grade(self, context: GradeContext) -> Grade:
        """The verdict. Raises Unscored where the answer cannot be judged; whatever else it raises is its own fault."""

    def handed(self, context: GradeContext) -> GradeContext:
        """What its `grade` may be called with, so that the next grader and the record stay as they are."""
        return context if self.only_reads else context.own()

    def grade_after_error(self, reason: str) -> Grade:
        """The grade where `grade` raised; `reason` says what."""
        return Grade.unscored(reason)
