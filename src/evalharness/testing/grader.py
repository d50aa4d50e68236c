"""A fake of the grader: it knows the answers that pass, and records what it was shown."""

from __future__ import annotations

from typing import ClassVar

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec
from evalharness.testing.services import fake_services
from evalharness.values.json_value import Json


class FakeGraderOptions(Options):
    main: ClassVar[str] = "passing"

    passing: tuple[Json, ...]


class FakeGrader(Grader):
    """Passes the answers that it was made with and no others; `raises` is raised instead, whatever the answer."""

    Options: ClassVar[type[Options]] = FakeGraderOptions
    options: FakeGraderOptions

    def __init__(self, *passing: Json, raises: Exception | None = None, services: Services | None = None) -> None:
        options = FakeGraderOptions(passing=passing)
        super().__init__(options, GraderSpec(kind="fake", options={"passing": [*passing]}), services or fake_services())
        self.contexts: list[GradeContext] = []
        self._raises = raises

    def example(self) -> Example | None:
        return Example(whole=self.options.passing[0]) if self.options.passing else None

    async def grade(self, context: GradeContext) -> Grade:
        self.contexts.append(context)
        if self._raises is not None:
            raise self._raises
        passed = any(type(each) is type(context.output) and each == context.output for each in self.options.passing)
        return Grade.of(passed, reason="" if passed else "the answer is none of those that pass")
