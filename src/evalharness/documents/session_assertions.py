"""Checks the assertions of recorded sessions: the answer's text, its cost and the tools called.

An invalid pattern fails its own assertion only, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalharness.documents.session import SessionAssertion
from evalharness.documents.session_checks import threshold_of
from evalharness.documents.session_results import AssertionResult
from evalharness.domain.case import as_text
from evalharness.values.pattern import compile_pattern
from evalharness.values.text import head

LONGEST_VALUE = 100
PATTERN_LIMIT_S = 1.0


class Answered(NamedTuple):
    text: str
    cost_usd: float
    tools: Sequence[str]


def check_assertion(assertion: SessionAssertion, answered: Answered) -> AssertionResult:
    return assertion_result(assertion, why_not(assertion, answered))


def assertion_result(assertion: SessionAssertion, reason: str) -> AssertionResult:
    """`reason` says why it does not hold; it is empty where it does."""
    return AssertionResult(name=assertion.name, type=assertion.type, passed=not reason, reason=reason)


def why_not(assertion: SessionAssertion, answered: Answered) -> str:
    """Empty where the assertion holds."""
    text, value = answered.text, as_text(assertion.value)
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
            return _why_no_match(value, text)
        case "cost_threshold":
            return _why_too_expensive(threshold_of(assertion.value) or 0.0, answered.cost_usd)
        case "tool_called":
            return "" if value in answered.tools else f"tool {shown} was not called"


def compiled_or_reason(pattern: str) -> Any:
    """The pattern, or why it is none."""
    import regex  # here: slow to load, and most runs have no patterns

    try:
        return compile_pattern(pattern, regex.ASCII)  # as in Go: \w and \d are ASCII
    except ValueError as error:
        return f"invalid regular expression {_between_slashes(pattern)}: {error}"


def unmatched(pattern: str) -> str:
    return f"response does not match {_between_slashes(pattern)}"


def _why_no_match(pattern: str, text: str) -> str:
    compiled = compiled_or_reason(pattern)
    if isinstance(compiled, str):
        return compiled
    try:
        return "" if compiled.search(text, timeout=PATTERN_LIMIT_S) else unmatched(pattern)
    except TimeoutError:
        return f"searching for {_between_slashes(pattern)} took too long"


def _between_slashes(pattern: str) -> str:
    return f"/{head(pattern, LONGEST_VALUE)}/"


def _why_too_expensive(threshold: float, cost_usd: float) -> str:
    return "" if cost_usd <= threshold else f"cost ${cost_usd:.6f} is more than ${threshold:.6f}"
