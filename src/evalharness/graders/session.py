"""Graders of recorded sessions: size_class, tool_calls_f1 and session_assertions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import regex
from pydantic import Field, field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.session import SessionAssertion
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
from evalharness.values.pattern import compile_pattern
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


# session_assertions: the assertions of a recorded session, about the answer's text, its cost and the tools called.
#
# A pattern that makes no sense fails its own assertion and says so; the others are still looked at.

LONGEST_VALUE = 100


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
        results = [await self._checked(assertion, context) for assertion in self.options.assertions]
        failed = [f"{result.name or result.type}: {result.reason}" for result in results if not result.passed]
        return Grade.of(
            not failed,
            score=1 - len(failed) / len(results),
            reason=head("; ".join(failed), LONGEST_REASON),
            evidence=[result.model_dump(mode="json") for result in results],
        )

    async def _checked(self, assertion: SessionAssertion, context: GradeContext) -> AssertionResult:
        reason = await self._why_not(assertion, context)
        return AssertionResult(name=assertion.name, type=assertion.type, passed=not reason, reason=reason)

    async def _why_not(self, assertion: SessionAssertion, context: GradeContext) -> str:
        """Empty where the assertion holds."""
        text, value = context.text, as_text(assertion.value)
        shown = f'"{head(value, LONGEST_VALUE)}"'
        match assertion.type:
            case "contains":
                return "" if value in text else f"response does not contain {shown}"
            case "not_contains":
                return f"response contains {shown}" if value in text else ""
            case "equals":
                return "" if value.strip() == text.strip() else f"response is not {shown}"
            case "starts_with":
                return "" if text.strip().startswith(value) else f"response does not start with {shown}"
            case "ends_with":
                return "" if text.strip().endswith(value) else f"response does not end with {shown}"
            case "regex":
                return await self._why_no_match(value, text)
            case "cost_threshold":
                return _why_too_dear(threshold_of(assertion.value) or 0.0, context.transcript.cost_usd)
            case "tool_called":
                called = any(call.name == value for call in context.transcript.tool_calls)
                return "" if called else f"tool {shown} was not called"

    async def _why_no_match(self, pattern: str, text: str) -> str:
        compiled = _compiled(pattern)
        if isinstance(compiled, str):
            return compiled
        found = await search_within_limit(compiled, text, pattern, self.services.in_thread)
        return "" if found else f"response does not match /{head(pattern, LONGEST_VALUE)}/"

    def example(self) -> Example | None:
        return merge_examples(map(_example, self.options.assertions))


def _compiled(pattern: str) -> regex.Pattern[str] | str:
    """The pattern, or why it is none."""
    try:
        compiled: regex.Pattern[str] = compile_pattern(pattern, regex.ASCII)  # as in Go: \w and \d are ASCII
    except ValueError as error:
        return f"invalid regular expression /{head(pattern, LONGEST_VALUE)}/: {error}"
    return compiled


def _why_too_dear(threshold: float, cost_usd: float | None) -> str:
    cost = cost_usd or 0.0
    return "" if cost <= threshold else f"cost ${cost:.6f} is more than ${threshold:.6f}"


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
            compiled = _compiled(value)
            return None if isinstance(compiled, str) else example_of(compiled)
        case "tool_called":
            return None
    return Example()
