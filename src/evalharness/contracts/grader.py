"""The grader: judges one transcript in a context.

A grader inherits from `Grader` and adds its `Options` and `grade`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalharness.contracts.containers import EndState
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
    """Everything a grader may use. A grader takes this one argument and returns a value."""

    case: Case
    transcript: Transcript
    index: int
    seed: int
    duration_s: float = 0.0
    before: Grade | None = None
    """The grader's earlier grade, if only its outstanding parts are wanted; verdicts of judges are kept."""
    end_state: EndState | None = None
    """What is left of the container in which the target answered; None where it had none, or is graded later."""

    def own(self) -> GradeContext:
        """A copy whose case and transcript may be changed freely."""
        return replace(self, case=copied(self.case), transcript=copied(self.transcript))

    @property
    def output(self) -> Json:
        return self.transcript.output

    @property
    def text(self) -> str:
        """The answer as text. Raises Unscored if a Python target returned a value that JSON does not support."""
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
    """`model` or `human` if a model or a person takes part; with both it is `human`."""
    version: str = "1"
    """Changes if the same answer may get another grade."""
    needs_sandbox: bool = False
    """Whether it runs code that the target wrote. If so, the sandbox is opened before the target runs.

    Only a grader made of others sets this per instance.
    """
    needs_end_state: bool = False
    """Whether it looks at what is left of the trial's container, which nobody can do later."""
    people: int = 0
    """How many people must rate an answer before it has a grade.

    For a grader made of others, the largest number of its parts.
    """
    never_required: bool = False
    """Whether its grades are no verdicts, whatever the suite says: a ranking. Such a grader is no part of another."""
    only_reads: ClassVar[bool] = False
    """Whether it changes nothing in its context. Other graders get their own copy."""
    figures: ClassVar[tuple[str, ...]] = ()
    """The names of the figures that its grades have: a target that gives no answer scores 0 in each."""
    is_off: bool = False
    """Whether its options switch it off. A case with no other graders is skipped."""
    parts: tuple[Grader, ...] = ()
    """The graders that this one is made of; empty for a simple grader."""

    options: Any
    spec: GraderSpec
    services: Services

    def __init__(self, options: Any, spec: GraderSpec, services: Services) -> None:
        """`options` is an instance of the class's own `Options`. Nothing is started or sent before `grade`.

        A case is built when it is needed, perhaps several times in a run, so a grader keeps nothing between trials.
        """
        self.options = options
        self.spec = spec
        self.services = services

    def digest(self) -> str:
        """Changes if the grader may judge differently for a reason that the harness can see."""
        return digest([self.spec.kind, self.version, self.options.model_dump(mode="json")])

    def judges(self) -> tuple[str, ...]:
        """The language models it uses, as `provider/model`; each is checked before the first trial."""
        return ()

    def embedders(self) -> tuple[str, ...]:
        """The embedding models it uses, as `provider/model`."""
        return ()

    def images(self) -> tuple[str, ...]:
        """The container images it runs something in, beside the target's; each is looked up before the first trial."""
        return ()

    def example(self) -> Example | None:
        """What an answer must contain to pass; None if the grader cannot say."""
        return None

    def normalised(self, output: Json) -> Json:
        """An answer as this grader compares it: two that are equal then are one and the same answer to it."""
        return compared_as(output)

    @abstractmethod
    async def grade(self, context: GradeContext) -> Grade:
        """The grade. Raises Unscored if the answer cannot be judged; any other exception is the grader's fault."""

    @classmethod
    def combined(cls, options: Any, grades: Sequence[tuple[GraderSpec, Grade]]) -> Grade:  # noqa: ARG003
        """Of a grader made of others: its grade, from theirs alone. `options` are its own."""
        raise AssertionError(f"{cls.__name__} is not made of other graders")

    def handed(self, context: GradeContext) -> GradeContext:
        """The context for `grade`, copied if needed, so that the next grader and the stored trial are not affected."""
        return context if self.only_reads else context.own()

    def grade_after_error(self, reason: str) -> Grade:
        """The grade if `grade` raised an exception; `reason` describes it."""
        return Grade.unscored(reason)
