"""What every grader promises, as a class of tests: inherit from it in a test file, and pytest runs them all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.transcript import Transcript
from evalharness.errors import Unscored
from evalharness.testing.services import fake_services


def _nested_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


ODD_ANSWERS: Mapping[str, Callable[[], Any]] = {
    "null": lambda: None,
    "empty text": lambda: "",
    "number": lambda: 5,
    "true": lambda: True,
    "empty list": lambda: [],
    "empty mapping": lambda: {},
    "the text NaN": lambda: "NaN",
    "the number NaN": lambda: float("nan"),
    "infinity in a list": lambda: [float("inf")],
    "a million letters": lambda: "x" * 10**6,
    "a million digits": lambda: "1" * 10**6,
    "a million numbers": lambda: "1 " * 500_000,
    "a million spaces": lambda: " " * 10**6,
    "half a surrogate pair": lambda: "\ud800",
    "half a surrogate pair as JSON": lambda: '"\\ud800"',
    "half a surrogate pair inside": lambda: {"\udfff": ["\ud800"]},
    "an endless beginning of JSON": lambda: "[" * 100_000,
    "JSON nested 300 deep": lambda: "[" * 300 + "]" * 300,
    "JSON nested 100,000 deep": lambda: "[" * 100_000 + "]" * 100_000,
    "a list nested 100,000 deep": lambda: _nested_list(100_000),
    "a number of 400 digits": lambda: 10**400,
    "a number of 5,000 digits": lambda: 10**5000,
    "a number of 5,000 digits as text": lambda: "9" * 5000,
    "a key twice": lambda: '{"a": 1, "a": 2}',
    "not JSON at all": lambda: {1: {2, 3}},
}


class GraderContract(ABC):
    """`passing` and `failing` are what a Transcript is made of: `{"output": "Ada"}`."""

    passing: Mapping[str, Any]
    failing: Mapping[str, Any]
    awaits: bool = False
    """Whether somebody else gives the grade, so that it is `awaiting` whatever the answer."""
    has_example: bool = False
    """Whether the grader can say what an answer must contain."""

    @abstractmethod
    def build(self, services: Services) -> Grader:
        """The grader under test, a new one each time."""

    @abstractmethod
    def build_other(self, services: Services) -> Grader:
        """One of the same kind with other options, which judges differently."""

    @asynccontextmanager
    async def services(self, root: Path) -> AsyncIterator[Services]:
        """Fakes, unless a grader needs a real sandbox or a real model."""
        yield fake_services(root)

    def graded(self, root: Path, transcript: Mapping[str, Any]) -> Grade:
        async def grade() -> Grade:
            async with self.services(root) as services:
                context = GradeContext(Case(id="a", input="?"), Transcript(**transcript), index=0, seed=0)
                return await self.build(services).grade(context)

        return asyncio.run(grade())

    def built(self, root: Path, build: Callable[[Services], Grader]) -> Grader:
        async def built() -> Grader:
            async with self.services(root) as services:
                return build(services)

        return asyncio.run(built())

    def test_it_passes_what_it_should(self, tmp_path: Path) -> None:
        grade = self.graded(tmp_path, self.passing)
        if self.awaits:
            assert (grade.state, grade.score) == ("awaiting", None)
            return
        assert grade.state == "pass"
        assert grade.score is not None
        assert 0 < grade.score <= 1

    def test_it_fails_what_it_should_and_says_why(self, tmp_path: Path) -> None:
        grade = self.graded(tmp_path, self.failing)
        assert grade.reason
        if self.awaits:
            assert (grade.state, grade.score) == ("awaiting", None)
            return
        assert grade.state == "fail"
        assert grade.score is not None
        assert 0 <= grade.score < 1

    def test_its_digest_is_stable_and_follows_its_options(self, tmp_path: Path) -> None:
        first, again = (self.built(tmp_path, self.build).digest() for _ in range(2))
        assert first == again
        assert first != self.built(tmp_path, self.build_other).digest()

    def test_its_example_passes(self, tmp_path: Path) -> None:
        example = self.built(tmp_path, self.build).example()
        assert (example is not None) == self.has_example
        if example is not None:
            beside = ("exit_code", "files", "tool_calls", "snapshot", "events")
            made = {name: getattr(example, name) for name in beside}
            assert self.graded(tmp_path, {**made, "output": "" if example.output is None else example.output}).passed

    def test_it_declares_what_it_needs(self, tmp_path: Path) -> None:
        grader = self.built(tmp_path, self.build)
        assert isinstance(grader, Grader)
        assert grader.type in ("code", "model", "human")
        assert isinstance(grader.version, str) and grader.version
        assert isinstance(grader.needs_sandbox, bool)
        assert (grader.people > 0) == (grader.type == "human"), "who rates is known before anything is rated"
        assert isinstance(grader.is_off, bool)
        assert all(isinstance(part, Grader) for part in grader.parts)
        assert all("/" in name for name in (*grader.judges(), *grader.embedders()))
        assert issubclass(grader.Options, Options)
        assert isinstance(grader.options, grader.Options)

    def test_where_it_raises_there_is_a_grade_all_the_same(self, tmp_path: Path) -> None:
        grade = self.built(tmp_path, self.build).grade_after_error("it broke")
        assert not grade.passed
        assert grade.reason == "it broke"

    def test_an_odd_answer_is_graded_or_unscored(self, tmp_path: Path) -> None:
        for name, odd in ODD_ANSWERS.items():
            try:
                grade = self.graded(tmp_path, {"output": odd()})
            except Unscored as unscored:
                assert str(unscored), name
                continue
            assert grade.passed or grade.reason, name
            assert (grade.score is None) == (grade.state in ("unscored", "awaiting")), name
            assert len(grade.reason) < 2000, name
