"""size_class and tool_calls_f1: what code can tell of a good answer to the questions of a recorded session."""

from __future__ import annotations

from typing import ClassVar, Literal

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.session_checks import size_class, tool_calls_f1
from evalharness.domain.text import head
from evalharness.domain.transcript import ToolCall

SHOWN_CALLS = 50
LONGEST_REASON = 1500


class SizeClassOptions(Options):
    value: Literal["S", "M", "L", "XL"]


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


class ToolCallsF1Options(Options):
    main: ClassVar[str] = "tools"

    tools: tuple[str, ...]


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
