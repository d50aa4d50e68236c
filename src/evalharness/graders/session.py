"""Graders of recorded sessions: size_class, tool_calls_f1 and session_assertions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.session import SessionAssertion
from evalharness.documents.session_assertions import (
    Answered,
    assertion_result,
    compiled_or_reason,
    unmatched,
    why_not,
)
from evalharness.documents.session_checks import size_class, threshold_of, tool_calls_f1
from evalharness.documents.session_results import AssertionResult, SessionCheck
from evalharness.domain.case import as_text
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.transcript import ToolCall
from evalharness.graders.pattern_examples import example_of
from evalharness.graders.patterns import search_within_limit
from evalharness.values.json_value import Json
from evalharness.values.text import head
from evalharness.values.variables import has_braces

SHOWN_CALLS = 50
LONGEST_REASON = 1500


class SizeClassOptions(Options, SessionCheck):
    value: Literal["S", "M", "L", "XL"]

    def result_fields(self, evidence: Json, called: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        return {"size_expected": self.value}


class SizeClass(Grader):
    """The answer is as long as it should be: S below 500 bytes, M below 1500, L below 5000, XL from there on."""

    Options: ClassVar[type[Options]] = SizeClassOptions
    options: SizeClassOptions

    async def grade(self, context: GradeContext) -> Grade:
        actual, expected = size_class(context.text), self.options.value
        passed = actual == expected
        reason = "" if passed else f"size expected {expected}, got {actual}"
        return Grade.of(passed, reason=reason, evidence={"actual": actual, "expected": expected})

    def example(self) -> Example | None:
        return Example() if self.options.value == "S" else None


class ToolCallsF1Options(Options, SessionCheck):
    main: ClassVar[str] = "tools"

    tools: tuple[str, ...]

    def result_fields(self, evidence: Json, called: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        if not self.tools:
            return {}
        return {"tool_calls_score": tool_calls_f1(self.tools, called), "tool_calls_expected": 1.0}


class ToolCallsF1(Grader):
    """These tools were called, each as often, in whatever order; the score is the F1. An empty list checks nothing."""

    Options: ClassVar[type[Options]] = ToolCallsF1Options
    options: ToolCallsF1Options

    async def grade(self, context: GradeContext) -> Grade:
        expected, actual = self.options.tools, [call.name for call in context.transcript.tool_calls]
        score = tool_calls_f1(expected, actual)
        evidence = {"expected": list(expected[:SHOWN_CALLS]), "actual": actual[:SHOWN_CALLS], "f1": score}
        called = head(", ".join(actual) or "none", LONGEST_REASON)
        if not expected:  # told, but neither checked nor scored
            return Grade.of(True, reason=f"none were expected; called: {called}" if actual else "", evidence=evidence)
        passed = score >= 1
        reason = "" if passed else f"tool calls score {score:.2f}; called: {called}"
        return Grade.of(passed, score=score, reason=reason, evidence=evidence)

    def example(self) -> Example:
        return Example(tool_calls=tuple(ToolCall(name=name) for name in self.options.tools))


# session_assertions: the assertions of a recorded session.


class SessionAssertionsOptions(Options, SessionCheck):
    main: ClassVar[str] = "assertions"

    assertions: Annotated[tuple[SessionAssertion, ...], Field(min_length=1)]

    def result_fields(self, evidence: Json, called: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        rows = evidence if isinstance(evidence, list) else ()
        return {"assertion_results": tuple(map(AssertionResult.model_validate, rows))}

    @field_validator("assertions")
    @classmethod
    def _thresholds_are_numbers(cls, assertions: tuple[SessionAssertion, ...]) -> tuple[SessionAssertion, ...]:
        """Values still to be filled in are looked at once they are."""
        for assertion in assertions:
            is_known = assertion.type == "cost_threshold" and not has_braces(assertion.value)
            if is_known and threshold_of(assertion.value) is None:
                raise ValueError("the value of cost_threshold must be a number of dollars")
        return assertions


class SessionAssertions(Grader):
    """All of them hold; the score is the share that does."""

    Options: ClassVar[type[Options]] = SessionAssertionsOptions
    options: SessionAssertionsOptions

    async def grade(self, context: GradeContext) -> Grade:
        tools = [call.name for call in context.transcript.tool_calls]
        answered = Answered(context.text, context.transcript.cost_usd or 0.0, tools)
        results = [
            assertion_result(assertion, await self._why_not(assertion, answered))
            for assertion in self.options.assertions
        ]
        failed = [f"{result.name or result.type}: {result.reason}" for result in results if not result.passed]
        return Grade.of(
            not failed,
            score=1 - len(failed) / len(results),
            reason=head("; ".join(failed), LONGEST_REASON),
            evidence=[result.model_dump(mode="json") for result in results],
        )

    async def _why_not(self, assertion: SessionAssertion, answered: Answered) -> str:
        """A pattern may take long to find, and the event loop must not wait for it."""
        if assertion.type != "regex":
            return why_not(assertion, answered)
        pattern = as_text(assertion.value)
        compiled = compiled_or_reason(pattern)
        if isinstance(compiled, str):
            return compiled
        found = await search_within_limit(compiled, answered.text, pattern, self.services.in_thread)
        return "" if found else unmatched(pattern)

    def example(self) -> Example | None:
        return merge_examples(map(_example, self.options.assertions))


def _example(assertion: SessionAssertion) -> Example | None:
    """None for a tool: the calls that a session recorded are reported by another grader, and are not made twice."""
    value = "" if assertion.value is None else as_text(assertion.value)
    match assertion.type:
        case "contains":
            return Example(holds=(value,))
        case "equals":
            return Example(whole=value)
        case "starts_with":
            return Example(starts=(value,))
        case "ends_with":
            return Example(ends=(value,))
        case "regex":
            compiled = compiled_or_reason(value)
            return None if isinstance(compiled, str) else example_of(compiled)
        case "tool_called":
            return None
    return Example()
